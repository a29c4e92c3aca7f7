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

"""The history of a lease.

It is not stored, but derived from the rows of the lease, its bookings and its
notices, each of which has the time of its last change. Of several changes of
one kind, only the last is known.
"""

from __future__ import annotations

import dataclasses
import datetime
import enum

from ironic_reservations.model import leases
from ironic_reservations.model import notices


class What(enum.StrEnum):
    """The kinds of entries; entries of the same time are in this order."""

    CREATED = 'created'
    #: The last change of the lease, for any reason.
    CHANGED = 'changed'
    #: Nodes were added later than the lease was made.
    PROMISED = 'promised'
    #: The last move of bookings to other nodes or times.
    MOVED = 'moved'
    #: A reservation has lacked nodes since then at the latest.
    LACKS_NODES = 'lacks_nodes'
    #: Missing nodes were replaced, then at the latest.
    NODES_REPLACED = 'nodes_replaced'
    #: An event of the lease: see ``status``.
    START = 'start_lease'
    BEFORE_END = 'before_end_lease'
    END = 'end_lease'
    #: The lease got its nodes.
    BOUND = 'bound'
    #: The owner was warned that unused nodes are released.
    NO_SHOW_WARNING = 'no_show_warning'
    #: Nodes were deployed, or were not deployed any more.
    DEPLOYED = 'deployed'
    UNDEPLOYED = 'undeployed'
    #: Unused nodes were released.
    NO_SHOW_RELEASE = 'no_show_release'
    #: Nodes of the lease were released, or bookings were cancelled.
    RELEASED = 'released'
    #: A notice was written: see ``notice``.
    NOTICE = 'notice'


@dataclasses.dataclass(frozen=True)
class Sent:
    """A notice to one receiver.

    :ivar outcome: ``None``: not yet known, or only known to a later release.
    :ivar at: the time at which it was delivered or given up; ``None``:
        neither.
    """

    channel: notices.Channel
    outcome: notices.Outcome | None
    at: datetime.datetime | None


@dataclasses.dataclass(frozen=True)
class Entry:
    """An entry of the history.

    :ivar nodes: the nodes concerned, as far as they are known.
    :ivar hosts: the number of nodes concerned, if any.
    :ivar resource_class: the class of the nodes, if their uuids are not known
        any more.
    :ivar since: the start of a period that has ended.
    :ivar status: the status of an event.
    :ivar notice: the kind of a notice.
    :ivar sent: the receivers of a notice.
    """

    at: datetime.datetime
    what: What
    nodes: tuple[str, ...] = ()
    hosts: int | None = None
    resource_class: str | None = None
    since: datetime.datetime | None = None
    status: leases.EventStatus | None = None
    notice: notices.Kind | None = None
    sent: tuple[Sent, ...] = ()
