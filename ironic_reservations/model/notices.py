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

"""Notices: what the owner of a lease is told."""

from __future__ import annotations

import dataclasses
import datetime
import enum
from typing import Any


class Kind(enum.StrEnum):
    """What a notice tells.

    Each has a template of its name in ``notice_templates``, and a row in the
    operator's guide.
    """

    #: The lease starts soon.
    BEFORE_START = 'before_start'
    #: Its nodes are the lease's.
    STARTED = 'started'
    #: It ends soon.
    BEFORE_END = 'before_end'
    #: It is over, or has been deleted.
    ENDED = 'ended'
    #: Its start, which could move, does not move any more.
    FIXED = 'fixed'
    #: It starts earlier than promised.
    MOVED_EARLIER = 'moved_earlier'
    #: It has fewer nodes than promised.
    BROKEN = 'broken'
    #: It has started, nodes of it are not used, and they are released.
    NO_SHOW = 'no_show'
    #: A node of it goes into maintenance.
    MAINTENANCE = 'maintenance'
    #: The owner of nodes of it has leased them from its end on.
    ASKED_BACK = 'asked_back'

    @property
    def urgent(self) -> bool:
        """Whether somebody has to act at once."""
        return self in (Kind.BROKEN, Kind.NO_SHOW)


class CommitKind(enum.StrEnum):
    """What the operator's enforcement service is told.

    The entries go through the outbox as notices do, with an order.
    """

    #: A lease has been promised.
    GRANTED = 'commit_granted'
    #: Its dates, or how much it has, have changed.
    CHANGED = 'commit_changed'
    #: It is over.
    ENDED = 'commit_ended'

    @property
    def urgent(self) -> bool:
        """Whether somebody has to act at once."""
        return False


class Channel(enum.StrEnum):
    """How notices are sent."""

    WEBHOOK = 'webhook'
    MAIL = 'mail'
    ENFORCEMENT = 'enforcement'


def kind_of(value: str) -> Kind | CommitKind:
    """Return the kind of a row of the outbox."""
    return (CommitKind(value) if value in CommitKind.__members__.values()
            else Kind(value))


class Outcome(enum.StrEnum):
    """What has become of a notice that is not sent any more."""

    DELIVERED = 'delivered'
    #: Nobody has taken it for as long as the operator wants it tried.
    GIVEN_UP = 'given_up'
    #: Nobody knows the address of the person that it is for.
    NO_ADDRESS = 'no_address'


@dataclasses.dataclass(frozen=True)
class Notice:
    """One notice on its way to one receiver.

    :ivar id: of its row, which is of this notice and this receiver.
    :ivar notice_id: of the notice, the same for all receivers, and whenever
        it is sent again.
    :ivar target: tells the receivers of one channel apart.
    :ivar user_id: whom it is for.
    :ivar payload: what is told.
    :ivar attempts: how often it has been sent in vain.
    :ivar sequence: its number among those about the lease over the channel,
        where each has to wait for those before it; ``None``: there is no
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
