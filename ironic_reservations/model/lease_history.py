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

"""What has become of a lease, and when: frozen values.

Nothing is written for it.  It is what the rows of the lease, of its bookings
and of its notices tell, each of which has the time of its last change; so of
changes of one kind the last is known.
"""

from __future__ import annotations

import dataclasses
import datetime
import enum

from ironic_reservations.model import leases
from ironic_reservations.model import notices


class What(enum.StrEnum):
    """What has happened; those at the same time are in this order."""

    CREATED = 'created'
    #: The lease was changed, by whoever and whatever, for the last time.
    CHANGED = 'changed'
    #: Nodes were promised to it, later than the lease was made.
    PROMISED = 'promised'
    #: Promises were given other nodes or times, for the last time.
    MOVED = 'moved'
    #: A reservation lacks nodes, since then at the latest.
    LACKS_NODES = 'lacks_nodes'
    #: It was given other nodes for those that it lacked, then at the latest.
    NODES_REPLACED = 'nodes_replaced'
    #: An event of the lease: see ``status``.
    START = 'start_lease'
    BEFORE_END = 'before_end_lease'
    END = 'end_lease'
    #: Nodes became the lease's own.
    BOUND = 'bound'
    #: It was told that they are released unless somebody deploys them.
    NO_SHOW_WARNING = 'no_show_warning'
    #: Somebody has deployed nodes, or has deployed them no more.
    DEPLOYED = 'deployed'
    UNDEPLOYED = 'undeployed'
    #: Nodes are released, since nobody has deployed them in time.
    NO_SHOW_RELEASE = 'no_show_release'
    #: Nodes that it had, or was promised, were taken back.
    RELEASED = 'released'
    #: Somebody was told: see ``notice``.
    NOTICE = 'notice'


@dataclasses.dataclass(frozen=True)
class Sent:
    """A notice on its way to one receiver.

    :ivar outcome: ``None``: none yet, or one that a later release knows.
    :ivar at: when it was delivered or given up; ``None``: neither.
    """

    channel: notices.Channel
    outcome: notices.Outcome | None
    at: datetime.datetime | None


@dataclasses.dataclass(frozen=True)
class Entry:
    """Something that has happened.

    :ivar nodes: to which, as far as they are known.
    :ivar hosts: to how many, if to any.
    :ivar resource_class: of nodes that are not known any more.
    :ivar since: from when on the lease had what has ended.
    :ivar status: of an event.
    :ivar notice: its kind,
    :ivar sent: and to whom it went.
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
