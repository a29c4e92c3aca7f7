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

"""What is asked of a calendar, and what is drawn from it: frozen values."""

from __future__ import annotations

from collections.abc import Mapping
from collections.abc import Sequence
import dataclasses
import datetime
import enum
from typing import NamedTuple

from ironic_reservations.model import facts
from ironic_reservations.model import leases
from ironic_reservations.model import maintenance
from ironic_reservations.model import node_condition

#: What a host is that the operator has closed.
CLOSED = 'closed'
#: What a host in transition is that is being cleaned.
CLEANING = node_condition.CLEANING
#: What a host is that a maintenance window has, and that is not broken
#: besides.
MAINTENANCE = 'maintenance'
CONDITIONS = (*(each.value for each in node_condition.Condition), CLOSED,
              MAINTENANCE, CLEANING)


class Had(enum.IntEnum):
    """How somebody has a host."""

    #: By a lease that has not started, so that it may get another host.
    PLANNED = 0
    #: By a lease that has started.
    BOUND = 1
    #: By a reservation, which binds from the moment it is made.
    RESERVED = 2


@dataclasses.dataclass(frozen=True)
class Viewer:
    """Who looks.

    :ivar project_id: whose leases are the viewer's own.
    :ivar projects: whether callers belong to projects at all.
    :ivar lists_own: whether the viewer may list them,
    :ivar lists_all: and those of all projects.
    :ivar lists_hosts: whether the viewer may know of all nodes,
    :ivar lists_maintenances: and what maintenance windows are for.
    """

    project_id: str | None = None
    projects: bool = True
    lists_own: bool = False
    lists_all: bool = False
    lists_hosts: bool = False
    lists_maintenances: bool = False

    def owns(self, lease: leases.NamedLease) -> bool:
        """Return whether a lease is the viewer's own.

        NOTE: one that an administrator made belongs to no project, which
        must not be the same as a viewer who has none.
        """
        if not self.projects:
            return True
        return bool(self.project_id) and lease.project_id == self.project_id

    def sees(self, lease: leases.NamedLease) -> bool:
        """Return whether the viewer may list a lease."""
        return self.lists_all or (self.lists_own and self.owns(lease))

    def sees_node(self, node: facts.Node) -> bool:
        """Return whether the viewer may know which node a host is."""
        return facts.Visibility(self.lists_hosts, self.project_id).sees(node)


@dataclasses.dataclass(frozen=True)
class Wanted:
    """The window that is asked for, and what of it.

    :ivar start: the origin; as the end, in whole seconds.
    :ivar classes: the resource classes; ``None``: all.
    :ivar rows: whether hosts are wanted, with what they are promised to.
    :ivar marker: the id of the last host of the page before.
    :ivar limit: at most so many hosts, unless nodes are named.
    :ivar nodes: only those that are one of these nodes, as far as the viewer
        may know; ``None``: all.
    :ivar racks: whether classes are told rack by rack.
    :ivar rack: only hosts in this rack, empty: in none; ``None``: all.
    :ivar loans: whether hosts of other owners are free only for as long as
        they are lent.
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
        """Return how long the window is."""
        return int((self.end - self.start).total_seconds())

    def takes(self, resource_class: str | None) -> bool:
        """Return whether it is asked of a resource class."""
        return self.classes is None or resource_class in self.classes


@dataclasses.dataclass(frozen=True)
class Steps:
    """Hosts of one resource class, and when how many of them are free.

    :ivar name: of the class, or of a rack that has some of its hosts.
    :ivar conditions: how many of them are in which condition.
    :ivar steps: from which second on how many are free.
    :ivar racks: the same, rack by rack, if that was asked for.
    """

    name: str | None
    hosts: int
    conditions: Mapping[str, int]
    steps: Sequence[tuple[int, int]]
    racks: Sequence[Steps] = ()


class Booking(NamedTuple):
    """A time, in seconds from the origin, at which somebody has a host.

    :ivar lease: its place in the list of leases, -1 for none.
    :ivar amount: how many instances of it share the host then, 0 where it
        has all of it.
    """

    start: int
    end: int
    had: Had
    lease: int
    amount: int


class Maintenance(NamedTuple):
    """A time, in seconds from the origin, at which a window has a host.

    :ivar has_host: 1 if it has the host now, 0 if it will have it.
    :ivar window: its place in the list of windows, -1 where the viewer may
        not list them.
    """

    start: int
    end: int
    has_host: int
    window: int


@dataclasses.dataclass(frozen=True)
class Row:
    """A host.

    :ivar named: whether the viewer may know which node it is.
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
    """A calendar, to be drawn.

    :ivar classes: ``None`` on all pages but the first one.
    :ivar rows: ``None`` where none were asked for.
    :ivar leases: those of the bookings, each once.
    :ivar more: whether there is another page of rows.
    :ivar windows: the maintenance windows in the rows, each once.
    :ivar lent_until: the second from which on owners can have back what they
        lend to the viewer; ``None``: nobody can within the window.
    """

    classes: Sequence[Steps] | None
    rows: Sequence[Row] | None
    leases: Sequence[leases.NamedLease]
    more: bool
    windows: Sequence[maintenance.Purpose] = ()
    lent_until: int | None = None


def rack(host: leases.Host, name: str) -> str:
    """Return the rack of a host; empty: it has none.

    :param name: of the property that names it; empty: there is none.
    """
    if not name:
        return ''
    found = host.capabilities.get(name)
    return str(dict(host.node.properties).get(name) or ''
               if found is None else found)


def condition(host: leases.Host, maintained: bool = False) -> str:
    """Return one of :data:`CONDITIONS`.

    :param maintained: whether a maintenance window may stand on its node in
        Ironic; that does not break it.
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
