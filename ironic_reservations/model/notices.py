#    Licensed under the Apache License, Version 2.0 (the "License"); you may
#    not use this file except in compliance with the License. You may obtain
#    a copy of the License at
#
#         http://www.apache.org/licenses/LICENSE-2.0
#
#    Unless required by applicable law or agreed to in writing, software
#    distributed under the License is distributed on an "AS IS" BASIS, WITHOUT
#    WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the
#    License for the specific language governing permissions and limitations
#    under the License.

"""Notices to the owners of leases."""

from __future__ import annotations

import dataclasses
import datetime
import enum
from typing import Any


class Kind(enum.StrEnum):
    """The kinds of notices.

    Each kind has a template with its name, and a row in the operator's guide.
    """

    #: The lease starts soon.
    BEFORE_START = 'before_start'
    #: The lease has got its nodes.
    STARTED = 'started'
    #: The lease ends soon.
    BEFORE_END = 'before_end'
    #: The lease is over, or has been deleted.
    ENDED = 'ended'
    #: The open dates of the lease have been fixed.
    FIXED = 'fixed'
    #: The lease starts earlier than promised.
    MOVED_EARLIER = 'moved_earlier'
    #: The lease has fewer nodes than promised.
    BROKEN = 'broken'
    #: Unused nodes of the lease will be released.
    NO_SHOW = 'no_show'
    #: A node of the lease goes into maintenance.
    MAINTENANCE = 'maintenance'
    #: An owner of nodes of the lease has leased them for the time after it.
    ASKED_BACK = 'asked_back'

    @property
    def urgent(self) -> bool:
        """Whether the receiver must act at once."""
        return self in (Kind.BROKEN, Kind.NO_SHOW)


class CommitKind(enum.StrEnum):
    """Kinds of messages to the operator's enforcement service.

    They are sent through the outbox like notices, in order.
    """

    #: A lease has been granted.
    GRANTED = 'commit_granted'
    #: The dates or amounts of the lease have changed.
    CHANGED = 'commit_changed'
    #: The lease is over.
    ENDED = 'commit_ended'

    @property
    def urgent(self) -> bool:
        """Whether the receiver must act at once."""
        return False


class Channel(enum.StrEnum):
    """The channels over which notices are sent."""

    WEBHOOK = 'webhook'
    MAIL = 'mail'
    ENFORCEMENT = 'enforcement'


def kind_of(value: str) -> Kind | CommitKind:
    """Return the kind of a row of the outbox."""
    return (CommitKind(value) if value in CommitKind.__members__.values()
            else Kind(value))


class Outcome(enum.StrEnum):
    """The outcome of a notice."""

    DELIVERED = 'delivered'
    #: All attempts to deliver the notice have failed.
    GIVEN_UP = 'given_up'
    #: The address of the user is not known.
    NO_ADDRESS = 'no_address'


@dataclasses.dataclass(frozen=True)
class Notice:
    """A notice to one receiver.

    :ivar id: the id of its row, derived from the notice and the receiver.
    :ivar notice_id: the id of the notice, the same for all receivers and
        repetitions.
    :ivar target: identifies the receiver within the channel.
    :ivar user_id: the user that it is for.
    :ivar payload: the content.
    :ivar attempts: the number of failed attempts to send it.
    :ivar sequence: the number among the notices about the lease over the
        channel, each of which waits for all before it; ``None``: there is no
        order.
    """

    id: str
    notice_id: str
    channel: Channel
    target: str
    kind: Kind | CommitKind
    lease_id: str
    project_id: str | None
    user_id: str | None
    payload: dict[str, Any]
    created_at: datetime.datetime
    attempts: int = 0
    sequence: int | None = None
