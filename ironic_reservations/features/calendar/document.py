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

"""The document behind the calendar page (``GET /v1/calendar``).

It is computed from one snapshot, and from the names of the leases that are
shown.  A client that has the present document already is recognized before
anything is counted.
"""

from __future__ import annotations

import bisect
from collections.abc import Iterable
from collections.abc import Iterator
from collections.abc import Mapping
from collections.abc import Sequence
import dataclasses
import datetime
import functools
import hashlib
import itertools
import threading
from typing import TypeAlias
from typing import TypeVar

from ironic_reservations import errors
from ironic_reservations.db import connection as db_connection
from ironic_reservations.db import lease_names
from ironic_reservations.engine import Engine
from ironic_reservations.engine import retry
from ironic_reservations.engine import snapshots
from ironic_reservations.features.calendar import rows as calendar_rows
from ironic_reservations.features.calendar import values as calendar
from ironic_reservations.model import instants
from ironic_reservations.model import leases
from ironic_reservations.model import node_window
from ironic_reservations.planner import availability
from ironic_reservations.planner import bookings
from ironic_reservations.planner import host_sets
from ironic_reservations.planner import host_states
from ironic_reservations.planner import timeline

#: The longest window.
LONGEST = datetime.timedelta(days=366)
#: The maximum number of cached counts, and of their steps in total.
_KEPT = 500
_KEPT_STEPS = 200_000

_T = TypeVar('_T')
#: Hosts, a window, and which of the hosts are lent.
_Key: TypeAlias = tuple[int, datetime.datetime, datetime.datetime, '_Loan']


@dataclasses.dataclass(frozen=True)
class Found:
    """The contents of a calendar at one moment.

    :ivar now: the time of that moment.
    :ivar margin: the time for cleaning, in seconds.
    :ivar sequence: a text that differs if the contents differ.
    """

    now: datetime.datetime
    margin: int
    sequence: str
    _wanted: calendar.CalendarRequest
    _viewer: calendar.Viewer
    _hosts: _Hosts
    _free: _Free
    _loan: _Loan
    _page: Sequence[calendar_rows.Promised]
    _more: bool
    _named: Mapping[str, leases.NamedLease]
    _purposes: Mapping[str, node_window.Purpose]

    def calendar(self) -> calendar.Calendar:
        """Return the calendar."""
        wanted = self._wanted
        rows = calendar_rows.Rows(self._viewer, self._named,
                                  self._purposes)
        shown = [rows.row(each) for each in self._page]
        return calendar.Calendar(
            None if wanted.marker is not None else [
                _steps(each, self._free, wanted, self._loan)
                for each in self._hosts.classes
                if wanted.takes(each.name)],
            shown if wanted.rows else None, rows.leases, self._more,
            rows.windows, self._lent_until())

    def _lent_until(self) -> int | None:
        if not self._loan.hosts:
            return None
        return max(0, calendar_rows.second(
            self._loan.until, instants.instant(self._wanted.start)))


class Calendars:
    """Builds calendars, and keeps the parts that all viewers share."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._rack = engine.conf.api.calendar_rack_property
        self._hosts = _Hosts((), self._rack)
        self._free = _Free(timeline.Timeline.of(()))

    def sequence(self, wanted: calendar.CalendarRequest,
                 viewer: calendar.Viewer) -> str:
        """Return the sequence that :meth:`read` would return.

        :raises InvalidValue: the window is not valid.
        """
        if wanted.nodes is not None:
            # The nodes that are shown depend on the projects of their leases.
            return self.read(wanted, viewer).sequence
        _check(wanted)
        return retry.until_committed(functools.partial(
            self._sequence, wanted, viewer))

    def read(self, wanted: calendar.CalendarRequest,
             viewer: calendar.Viewer) -> Found:
        """Return the contents for one viewer.

        :raises InvalidValue: the window is not valid.
        """
        _check(wanted)
        return retry.until_committed(functools.partial(self._read, wanted,
                                                       viewer))

    def _sequence(self, wanted: calendar.CalendarRequest,
                  viewer: calendar.Viewer) -> str:
        snapshot = self._snapshot()
        page, _ = self._page(snapshot, wanted, viewer)
        on_nodes = _on_nodes(page)
        generations: Mapping[str, int] = {}
        if on_nodes:
            with self._engine.database.read() as connection:
                generations = lease_names.read_generations(connection,
                                                           on_nodes)
        return _sequence(snapshot, _only(generations, on_nodes),
                         _loan(snapshot, wanted, viewer))

    def _read(self, wanted: calendar.CalendarRequest,
              viewer: calendar.Viewer) -> Found:
        snapshot = self._snapshot()
        page, more = self._page(snapshot, wanted, viewer)
        on_nodes = _on_nodes(page)
        named: Mapping[str, leases.NamedLease] = {}
        if on_nodes:
            with self._engine.database.read() as connection:
                named = lease_names.read(connection, on_nodes)
        named = _only(named, on_nodes)
        if wanted.nodes is not None:
            # Filter before any field of the leases is used.
            page = [each for each in page
                    if calendar_rows.known(each, viewer, named)]
            named = _only(named, _on_nodes(page))
        purposes = self._read_purposes(page, viewer)
        loan = _loan(snapshot, wanted, viewer)
        # Another thread with an older snapshot may replace the attribute.
        free = self._free
        if free.drawn is not snapshot.timeline:
            free = self._free = _Free(snapshot.timeline)
        return Found(
            snapshot.now, snapshot.state.margin // instants.SECOND,
            _sequence(snapshot, {ident: lease.generation
                                 for ident, lease in named.items()}, loan),
            wanted, viewer, self._known(snapshot), free, loan, page, more,
            named, purposes)

    def _read_purposes(self, page: Iterable[calendar_rows.Promised],
                       viewer: calendar.Viewer
                       ) -> Mapping[str, node_window.Purpose]:
        ids = {each.window_id for here in page for each in here.maintained}
        if not ids or not viewer.lists_maintenances:
            return {}
        found: dict[str, node_window.Purpose] = {}
        for each in self._engine.features:
            found.update(each.purposes(self._engine, ids))
        if not ids <= found.keys():
            raise db_connection.Conflict(
                'a maintenance window has just been forgotten')
        return found

    def _snapshot(self) -> snapshots.Snapshot:
        # No request is refused by it, so it may be a second old.
        return self._engine.snapshot(self._engine.clock(), compared=False)

    def _known(self, snapshot: snapshots.Snapshot) -> _Hosts:
        found = self._hosts
        if found.states is not snapshot.states:
            found = self._hosts = _Hosts(snapshot.states, self._rack)
        return found

    def _page(
            self, snapshot: snapshots.Snapshot,
            wanted: calendar.CalendarRequest, viewer: calendar.Viewer
    ) -> tuple[list[calendar_rows.Promised], bool]:
        """Return a page of hosts, and whether another page follows.

        Hosts that the request names are all on one page.
        """
        if not wanted.rows:
            return [], False
        after = self._known(snapshot).after(wanted)
        if wanted.nodes is None:
            there = list(itertools.islice(after, wanted.limit + 1))
            more = len(there) > wanted.limit
            there = there[:wanted.limit]
        else:
            chosen, more = frozenset(wanted.nodes), False
            there = [each for each in after
                     if each[1].host.node.uuid in chosen]
        lent = (snapshot.loans.to(viewer.project_id) if wanted.loans
                else 0)
        return [calendar_rows.promised(here, wanted, snapshot.now,
                                       snapshot.state.margin,
                                       bool(lent >> number & 1))
                for number, here in there], more


@dataclasses.dataclass(frozen=True)
class _Loan:
    """The hosts that are only lent to the viewer's project.

    :ivar hosts: the set of these hosts.
    :ivar until: the instant from which only the owners can lease them.
    """

    hosts: int = 0
    until: int = bookings.FOREVER


@dataclasses.dataclass(frozen=True)
class _Group:
    """The hosts of one resource class, or of one rack within it.

    :ivar numbers: their numbers in the snapshot.
    :ivar conditions: the number of hosts in each condition.
    :ivar racks: the racks by name, if any host has one.
    """

    name: str | None
    numbers: list[int] = dataclasses.field(default_factory=list)
    conditions: dict[str, int] = dataclasses.field(
        default_factory=lambda: dict.fromkeys(calendar.CONDITIONS, 0))
    racks: dict[str, _Group] = dataclasses.field(default_factory=dict)

    def add(self, number: int, condition: str) -> None:
        """Add a host."""
        self.numbers.append(number)
        self.conditions[condition] += 1

    @functools.cached_property
    def in_racks(self) -> list[_Group]:
        """Return the racks in order; hosts without one are the last."""
        if not any(self.racks):
            return []
        return [self.racks[name] for name in sorted(
            self.racks, key=lambda name: (not name, name))]

    @functools.cached_property
    def members(self) -> int:
        """Return the set of these hosts."""
        return host_sets.mask(self.numbers)


class _Hosts:
    """The hosts of a snapshot, in the order in which they are shown."""

    def __init__(self, states: Sequence[host_states.HostState | None],
                 rack: str) -> None:
        self.states = states
        self._rack = rack

    @functools.cached_property
    def classes(self) -> list[_Group]:
        """Return the resource classes of the hosts."""
        found: dict[str | None, _Group] = {}
        for number, here in enumerate(self.states):
            if here is None:
                continue
            name = here.host.node.resource_class
            there = found.setdefault(name, _Group(name))
            rack = calendar.rack(here.host, self._rack)
            in_rack = there.racks.setdefault(rack, _Group(rack or None))
            condition = calendar_rows.condition(here)
            there.add(number, condition)
            in_rack.add(number, condition)
        return [found[name] for name in sorted(
            found, key=lambda name: name or '')]

    def after(self, wanted: calendar.CalendarRequest
              ) -> Iterator[tuple[int, host_states.HostState]]:
        """Yield the hosts that a page may have, with their numbers."""
        ids, there = self._ordered
        for place in range(bisect.bisect_right(ids, wanted.marker or 0),
                           len(there)):
            host = there[place][1].host
            if (wanted.takes(host.node.resource_class)
                    and wanted.rack in (None,
                                        calendar.rack(host, self._rack))):
                yield there[place]

    @functools.cached_property
    def _ordered(self) -> tuple[list[int],
                                list[tuple[int, host_states.HostState]]]:
        there = sorted(((number, here) for number, here
                        in enumerate(self.states) if here is not None),
                       key=lambda each: each[1].host.id)
        return [here.host.id for _, here in there], there


class _Free:
    """The numbers of free hosts over time, on one snapshot."""

    def __init__(self, drawn: timeline.Timeline) -> None:
        self.drawn = drawn
        self._kept: dict[_Key, list[tuple[int, int]]] = {}
        self._steps = 0
        self._lock = threading.Lock()

    def steps(self, there: _Group, wanted: calendar.CalendarRequest,
              loan: _Loan) -> list[tuple[int, int]]:
        """Return pairs of a second and the number of free hosts from then."""
        lent = there.members & loan.hosts
        loan = _Loan(lent, loan.until) if lent else _Loan()
        key = (there.members, wanted.start, wanted.end, loan)
        found = self._kept.get(key)
        if found is None:
            found = self._count(there, wanted, loan)
            self._keep(key, found)
        return found

    def _keep(self, key: _Key, found: list[tuple[int, int]]) -> None:
        with self._lock:
            if key in self._kept:
                return
            if (len(self._kept) >= _KEPT
                    or self._steps + len(found) > _KEPT_STEPS):
                self._kept, self._steps = {}, 0
            if len(found) <= _KEPT_STEPS:
                self._kept[key] = found
                self._steps += len(found)

    def _count(self, there: _Group, wanted: calendar.CalendarRequest,
               loan: _Loan) -> list[tuple[int, int]]:
        origin = instants.instant(wanted.start)
        # The last count of a second is valid at the start of the next one.
        latest = {calendar_rows.second(span.start, origin): span.free
                  for span in availability.free_beside_loans(
                      self.drawn, there.members, loan.hosts, loan.until,
                      origin, instants.instant(wanted.end))}
        steps: list[tuple[int, int]] = []
        for second, free in latest.items():
            if second < wanted.seconds and (not steps
                                            or steps[-1][1] != free):
                steps.append((second, free))
        return steps


def _loan(snapshot: snapshots.Snapshot, wanted: calendar.CalendarRequest,
          viewer: calendar.Viewer) -> _Loan:
    """Return the hosts that are only lent to the viewer."""
    if not wanted.loans:
        return _Loan()
    until = snapshot.loans.until - snapshot.state.margin
    hosts = (snapshot.loans.to(viewer.project_id)
             if until < instants.instant(wanted.end) else 0)
    return _Loan(hosts, until) if hosts else _Loan()


def _steps(there: _Group, free: _Free, wanted: calendar.CalendarRequest,
           loan: _Loan) -> calendar.Steps:
    return calendar.Steps(
        there.name, len(there.numbers), there.conditions,
        free.steps(there, wanted, loan),
        [_steps(each, free, wanted, loan) for each in there.in_racks]
        if wanted.racks else ())


def _check(wanted: calendar.CalendarRequest) -> None:
    if wanted.end <= wanted.start:
        raise errors.InvalidValue(
            f'"to" ({wanted.end.isoformat()}) is not after "from" '
            f'({wanted.start.isoformat()}). Send a later "to".')
    if wanted.end - wanted.start > LONGEST:
        raise errors.InvalidValue(
            f'From {wanted.start.isoformat()} to {wanted.end.isoformat()} is '
            f'more than {LONGEST.days} days. Send an earlier "to".')


def _on_nodes(page: Iterable[calendar_rows.Promised]
              ) -> dict[str, frozenset[str]]:
    """Return the lease reservations in the rows, by the nodes."""
    return {each.host.node.uuid: each.reservation_ids for each in page
            if each.reservation_ids}


def _only(read: Mapping[str, _T],
          on_nodes: Mapping[str, frozenset[str]]) -> dict[str, _T]:
    """Return the entries of the leases that are shown."""
    shown = frozenset[str]().union(*on_nodes.values())
    if not shown <= read.keys():
        raise db_connection.Conflict('a lease has just been forgotten')
    return {ident: read[ident] for ident in shown}


def _sequence(snapshot: snapshots.Snapshot,
              generations: Mapping[str, int], loan: _Loan) -> str:
    # The state determines the hosts that are lent, and the time the end.
    return hashlib.sha256(repr((
        snapshot.state.digest(), sorted(generations.items()),
        *((loan.until,) if loan.hosts else ()))).encode()).hexdigest()[:32]
