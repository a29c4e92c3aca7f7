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

"""Values of the calendar: requests and their results."""

from __future__ import annotations

from collections.abc import Mapping
from collections.abc import Sequence
import dataclasses
import datetime
import enum
from typing import NamedTuple

from ironic_reservations.model import leases
from ironic_reservations.model import mirrored_node
from ironic_reservations.model import node_condition
from ironic_reservations.model import node_window
from ironic_reservations.model import visibility

#: The condition of a host that the operator has closed.
CLOSED = 'closed'
#: The condition of a host that is being cleaned.
CLEANING = node_condition.CLEANING
#: The condition of a host in a maintenance window, unless it is broken, too.
MAINTENANCE = 'maintenance'
CONDITIONS = (*(each.value for each in node_condition.Condition), CLOSED,
              MAINTENANCE, CLEANING)


class Had(enum.IntEnum):
    """The kinds of bookings of a host."""

    #: A lease that has not started, and may be moved to another host.
    PLANNED = 0
    #: A lease that has started.
    BOUND = 1
    #: A reservation.
    RESERVED = 2


@dataclasses.dataclass(frozen=True)
class Viewer:
    """The caller that views the calendar.

    :ivar project_id: the viewer's project.
    :ivar projects: whether callers belong to projects.
    :ivar lists_own: whether the viewer may list the leases of its project.
    :ivar lists_all: whether the viewer may list the leases of all projects.
    :ivar lists_hosts: whether the viewer may see all nodes.
    :ivar lists_maintenances: whether the viewer may see the names and reasons
        of maintenance windows.
    :ivar user_id: the viewer, where users are distinguished, but not by
        projects.
    """

    project_id: str | None = None
    projects: bool = True
    lists_own: bool = False
    lists_all: bool = False
    lists_hosts: bool = False
    lists_maintenances: bool = False
    user_id: str | None = None

    def owns(self, lease: leases.NamedLease) -> bool:
        """Return whether a lease belongs to the viewer's project.

        Without projects, it belongs to the viewer if it has the same user;
        without users, it always does.

        A lease of an administrator has no project, which must not match a
        viewer without a project.
        """
        if not self.projects:
            return self.user_id in (None, lease.user_id)
        return bool(self.project_id) and lease.project_id == self.project_id

    def sees(self, lease: leases.NamedLease) -> bool:
        """Return whether the viewer may list a lease."""
        return self.lists_all or (self.lists_own and self.owns(lease))

    def sees_node(self, node: mirrored_node.Node) -> bool:
        """Return whether the viewer may see the node of a host."""
        return visibility.Visibility(self.lists_hosts,
                                     self.project_id).sees(node)


@dataclasses.dataclass(frozen=True)
class CalendarRequest:
    """A request for a window of the calendar.

    :ivar start: the start of the window; like the end, in whole seconds.
    :ivar classes: the resource classes; ``None``: all.
    :ivar rows: whether to return hosts with their bookings.
    :ivar marker: the id of the last host of the previous page.
    :ivar limit: the maximum number of hosts, unless nodes are named.
    :ivar nodes: only these nodes, as far as the viewer may see them; ``None``:
        all.
    :ivar racks: whether to return classes by rack, too.
    :ivar rack: the rack of the hosts to return; empty: hosts without a rack;
        ``None``: all hosts.
    :ivar loans: whether hosts of other owners count as free only while they
        are lent.
    """

    start: datetime.datetime
    end: datetime.datetime
    classes: frozenset[str | None] | None = None
    rows: bool = False
    marker: int | None = None
    limit: int = 1000
    nodes: tuple[str, ...] | None = None
    racks: bool = False
    rack: str | None = None
    loans: bool = False

    @property
    def seconds(self) -> int:
        """The length of the window in seconds."""
        return int((self.end - self.start).total_seconds())

    def takes(self, resource_class: str | None) -> bool:
        """Return whether a resource class is requested."""
        return self.classes is None or resource_class in self.classes


@dataclasses.dataclass(frozen=True)
class Steps:
    """The hosts of a class or rack, and the number of free ones over time.

    :ivar name: the name of the class, or of a rack with some of its hosts.
    :ivar conditions: the number of hosts by condition.
    :ivar steps: pairs of a second and the number of hosts that are free from
        then on.
    :ivar racks: the same by rack, if requested.
    """

    name: str | None
    hosts: int
    conditions: Mapping[str, int]
    steps: Sequence[tuple[int, int]]
    racks: Sequence[Steps] = ()


class Booking(NamedTuple):
    """A period, in seconds from the origin, for which a host is booked.

    :ivar lease: the index in the list of leases, -1 for none.
    :ivar amount: the number of its instances on the host, 0 if it has the
        whole host.
    """

    start: int
    end: int
    had: Had
    lease: int
    amount: int


class Maintenance(NamedTuple):
    """A period, in seconds from the origin, in which a window has a host.

    :ivar has_host: 1 if it has the host now, 0 if later.
    :ivar window: the index in the list of windows, -1 if the viewer may not
        list them.
    """

    start: int
    end: int
    has_host: int
    window: int


@dataclasses.dataclass(frozen=True)
class Row:
    """A host with its bookings.

    :ivar named: whether the viewer may see the node of the host.
    :ivar lent: whether another project owns it, and lends it to the viewer.
    """

    host: leases.Host
    condition: str
    named: bool
    lent: bool
    bookings: Sequence[Booking]
    maintenances: Sequence[Maintenance] = ()


@dataclasses.dataclass(frozen=True)
class Calendar:
    """The result of a request.

    :ivar classes: ``None`` on all pages but the first.
    :ivar rows: ``None`` if they were not requested.
    :ivar leases: the leases of the bookings, each once.
    :ivar more: whether there is another page of rows.
    :ivar windows: the maintenance windows in the rows, each once.
    :ivar lent_until: the second from which owners can lease the hosts that
        they lend to the viewer; ``None``: not within the window.
    """

    classes: Sequence[Steps] | None
    rows: Sequence[Row] | None
    leases: Sequence[leases.NamedLease]
    more: bool
    windows: Sequence[node_window.Purpose] = ()
    lent_until: int | None = None


def rack(host: leases.Host, name: str) -> str:
    """Return the rack of a host; empty: none.

    :param name: the name of the property with the rack; empty: none is
        configured.
    """
    if not name:
        return ''
    found = host.capabilities.get(name)
    return str(dict(host.node.properties).get(name) or ''
               if found is None else found)


def condition(host: leases.Host, maintained: bool = False) -> str:
    """Return the condition of a host, one of :data:`CONDITIONS`.

    :param maintained: whether a maintenance window may have put it in
        maintenance, which does not count as broken.
    """
    if not (host.reservable and host.node.reservable):
        return CLOSED
    found = node_condition.of(host.node)
    if maintained and found is node_condition.Condition.BROKEN and (
            node_condition.of(dataclasses.replace(
                host.node, maintenance=False)) is not found):
        return MAINTENANCE
    if (found is node_condition.Condition.TRANSITION
            and node_condition.cleans(host.node)):
        return CLEANING
    return found.value
