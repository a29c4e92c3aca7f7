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

"""The rows of a calendar: hosts, each with its bookings."""

from __future__ import annotations

from collections.abc import Iterator
from collections.abc import Mapping
from collections.abc import Sequence
import dataclasses
import datetime
from typing import TypeVar

from ironic_reservations.features.calendar import values as calendar
from ironic_reservations.model import instants
from ironic_reservations.model import leases
from ironic_reservations.model import node_window
from ironic_reservations.planner import host_states

_T = TypeVar('_T', leases.NamedLease, node_window.Purpose)
#: The longest time until a late node may be promised again.
_LATE = 120 * instants.SECOND


@dataclasses.dataclass(frozen=True)
class Promise:
    """A time for which a host is promised.

    :ivar reservation_id: the lease reservation; ``None``: not of a lease.
    """

    start: int
    end: int
    had: calendar.Had
    reservation_id: str | None


@dataclasses.dataclass(frozen=True)
class Maintained:
    """A time for which a host is in a maintenance window."""

    start: int
    end: int
    has_host: bool
    window_id: str


@dataclasses.dataclass(frozen=True)
class Promised:
    """A host, and its promises within a window.

    :ivar maintained: its maintenance windows.
    :ivar condition: one of :data:`calendar.CONDITIONS`.
    :ivar lent: whether another project than the viewer's owns it.
    """

    host: leases.Host
    promises: Sequence[Promise]
    maintained: Sequence[Maintained]
    condition: str
    lent: bool

    @property
    def reservation_ids(self) -> frozenset[str]:
        """Return the ids of the lease reservations that have the host."""
        return frozenset(each.reservation_id for each in self.promises
                         if each.reservation_id is not None)


def second(instant: int, origin: int) -> int:
    """Return the first whole second from an instant on.

    :param origin: the instant of the second 0.
    """
    return -((origin - instant) // instants.SECOND)


def promised(here: host_states.HostState, wanted: calendar.CalendarRequest,
             now: datetime.datetime, margin: int, lent: bool) -> Promised:
    """Return the promises of a host within a window.

    :param margin: the time for cleaning, in microseconds.
    :param lent: whether another project than the viewer's owns it.
    """
    return Promised(
        here.host, list(_promises(here, wanted, now, margin)),
        list(_maintained(here, wanted, now)), condition(here), lent)


def condition(here: host_states.HostState) -> str:
    """Return one of :data:`calendar.CONDITIONS`."""
    return calendar.condition(here.host, here.maintained())


def _maintained(here: host_states.HostState, wanted: calendar.CalendarRequest,
                now: datetime.datetime) -> Iterator[Maintained]:
    origin = instants.instant(wanted.start)
    for each in here.windows:
        if not each.stands(now) or each.starts_at >= wanted.end:
            continue
        ends = instants.instant(each.ends_at)
        if each.late(now):
            # As on the timeline.
            ends = max(ends, host_states.late(now))
        end = second(ends, origin)
        if end > 0:
            yield Maintained(
                second(instants.instant(each.starts_at), origin), end,
                each.has_node(now), each.window_id)


def _promises(here: host_states.HostState, wanted: calendar.CalendarRequest,
              now: datetime.datetime, margin: int) -> Iterator[Promise]:
    origin, seconds = instants.instant(wanted.start), wanted.seconds
    for row, _ in here.promised:
        if row.starts_at >= wanted.end:
            continue
        ends = instants.instant(row.ends_at)
        if row.begun and row.ends_at <= now:
            # The node is late. The earliest time at which it may be back
            # includes its cleaning.
            ends = max(ends, host_states.late(now) - min(
                _LATE, 0 if here.host.node.compute else margin))
        end = second(ends, origin)
        if end > 0:
            yield Promise(
                second(instants.instant(row.starts_at), origin), end,
                calendar.Had.BOUND if row.begun else calendar.Had.PLANNED,
                row.reservation_id)
    held = here.reservation
    if held is not None and held.live(now):
        start = second(instants.instant(held.created_at), origin)
        end = second(instants.instant(held.expires_at), origin)
        if start < seconds and end > 0:
            yield Promise(start, end, calendar.Had.RESERVED, None)


def known(here: Promised, viewer: calendar.Viewer,
          named: Mapping[str, leases.NamedLease]) -> bool:
    """Return whether a viewer may know the node of a host.

    :param named: leases by the ids of their reservations.
    """
    return viewer.sees_node(here.host.node) or any(
        viewer.sees(named[each]) for each in here.reservation_ids)


class Rows:
    """Builds rows for one viewer, and collects the leases in them.

    :param named: leases by the ids of their reservations.
    :param purposes: the purposes of maintenance windows, by id; empty if the
        viewer may not list them.
    """

    def __init__(self, viewer: calendar.Viewer,
                 named: Mapping[str, leases.NamedLease],
                 purposes: Mapping[str, node_window.Purpose]) -> None:
        self.leases: list[leases.NamedLease] = []
        self.windows: list[node_window.Purpose] = []
        self._viewer = viewer
        self._named = named
        self._purposes = purposes
        self._places: dict[str, int] = {}
        self._places_of_windows: dict[str, int] = {}

    def row(self, here: Promised) -> calendar.Row:
        """Return the row of a host.

        Instances of one lease that share the host are one booking.
        """
        share = int(here.host.node.compute)
        amounts: dict[tuple[int, int, calendar.Had, int], int] = {}
        for each in sorted(here.promises, key=self._order):
            place = -1
            if each.reservation_id is not None:
                place = _place(self._named[each.reservation_id],
                               self.leases, self._places)
            key = (each.start, each.end, each.had, place)
            amounts[key] = amounts.get(key, 0) + share
        return calendar.Row(
            here.host, here.condition,
            known(here, self._viewer, self._named), here.lent,
            [calendar.Booking(*key, amount)
             for key, amount in amounts.items()],
            [calendar.Maintenance(each.start, each.end, int(each.has_host),
                                  self._place_of_window(each.window_id))
             for each in sorted(here.maintained, key=lambda each: (
                 each.start, each.end, each.window_id))])

    def _order(self, each: Promise) -> tuple[int, int, int, str]:
        # The order is the same in all processes.
        return (each.start, each.end, each.had,
                '' if each.reservation_id is None
                else self._named[each.reservation_id].id)

    def _place_of_window(self, window_id: str) -> int:
        purpose = self._purposes.get(window_id)
        return -1 if purpose is None else _place(
            purpose, self.windows, self._places_of_windows)


def _place(one: _T, listed: list[_T], places: dict[str, int]) -> int:
    """Return the index in a list, to which the first call adds the value."""
    place = places.setdefault(one.id, len(listed))
    if place == len(listed):
        listed.append(one)
    return place
