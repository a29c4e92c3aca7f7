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

"""Makes room for a demand by bookings that may start at other times.

It is the search by ejection (:mod:`~ironic_reservations.planner.ejection`), in
which some bookings have a window instead of a start: a booking that is ejected
gets another host at its present start, or else another start within its
window. It proves nothing, and is for nodes of Ironic only.
"""

from __future__ import annotations

from collections.abc import Iterator
from collections.abc import Mapping
from collections.abc import Sequence
import dataclasses
import functools
import math
import operator

from ironic_reservations.planner import bookings
from ironic_reservations.planner import budget
from ironic_reservations.planner import ejection
from ironic_reservations.planner import exclusive_row
from ironic_reservations.planner import placement_units
from ironic_reservations.planner import places
from ironic_reservations.planner import plans
from ironic_reservations.planner import served
from ironic_reservations.planner import timeline
from ironic_reservations.planner import work

#: The number of attempts, which differ by chance, and by how much the weight
#: of a booking grows in each when it ejects others.
_ATTEMPTS = (0.03, 0.03, 0.03, 0.3)

#: The earliest and the latest start of a booking.
Window = tuple[int, int]


@dataclasses.dataclass(frozen=True)
class Way:
    """A plan, and the new starts of bookings.

    :ivar plan: grants the demands; bookings with other starts are in its
        draft, by their ids.
    :ivar start: the start of the demands.
    :ivar starts: the new starts by the ids of bookings.
    """

    plan: plans.Plan
    start: int
    starts: Mapping[str, int]


def make_way(now: timeline.Timeline, demands: Sequence[bookings.Demand],
             latest: int | None, windows: Mapping[str, Window], most: int,
             grain: int, limits: budget.Limits) -> Way | None:
    """Place demands, and give other bookings other starts for them.

    :param demands: demands demands for whole hosts, with the same window.
    :param latest: their latest start; ``None``: their start is fixed.
    :param windows: the earliest and the latest start of other bookings, by
        their ids.
    :param most: the maximum number of other bookings that get another start.
    :param grain: new starts are a multiple of it.
    """
    demands = [demand.within_loans() for demand in demands]
    if any(demand.amounts is not None or demand.eligible & now.compute
           for demand in demands):
        return None
    if latest is not None and (len(demands) > 1 or demands[0].least != 1
                               or demands[0].lent):
        # All of them start together.
        return None
    meter = work.Meter(limits.request, None)
    chance = ejection.pseudorandom()
    for heavier in _ATTEMPTS:
        attempt = _Attempt(now, windows, grain)
        found = meter.run(
            budget.EJECT, budget.Budget(exclusive_row.Row.patience),
            functools.partial(attempt.run, demands, latest, heavier, chance),
            is_hard=True, parts=2)
        if found and len(attempt.starts()) <= most:
            return attempt.way(demands)
    return None


class _Piece(places.Piece):
    """A booking that may have another start.

    :ivar window: its earliest and latest start; ``None``: it keeps its start.
    :ivar present: its preferred start.
    """

    __slots__ = ('present', 'window')

    def __init__(self, unit: placement_units.Unit, eligible: int,
                 movable: bool, window: Window | None) -> None:
        super().__init__(unit, eligible, movable)
        self.window = window if movable else None
        self.present = unit.start

    def begin(self, start: int) -> None:
        """Change its start, and its end accordingly."""
        by = start - self.start
        self.start, self.end, self.until = (
            start, self.end + by, self.until + by)


class _Attempt:
    """One attempt of the search."""

    def __init__(self, now: timeline.Timeline, windows: Mapping[str, Window],
                 grain: int) -> None:
        self._draft = timeline.Draft.of(now)
        self._now = now
        self._windows = windows
        self._grain = grain
        self._rows: ejection.Rows | None = None
        self._wanted: list[_Piece] = []

    def run(self, demands: Sequence[bookings.Demand], latest: int | None,
            heavier: float, chance: Iterator[int],
            steps: budget.Budget) -> bool:
        """Search for places for the demands; return whether all were found."""
        self._rows = ejection.Rows(self._row, steps, steps)
        try:
            for demand in demands:
                window = None if latest is None else (demand.start, latest)
                for count in range(demand.least):
                    unit = placement_units.unit(
                        (demand.booking(count, -1),), self._draft)
                    piece = self._piece(unit, True, window)
                    self._wanted.append(piece)
                    if not piece.hosts or not ejection.settle(
                            self._rows, piece, heavier, chance, steps,
                            self._cheapest):
                        return False
            self._advance(self._rows, steps)
        except budget.Exhausted:
            return False
        return True

    def _row(self, node: int) -> places.Row:
        draft, windows = self._draft, self._windows
        return exclusive_row.Row([
            self._piece(placement_units.unit((each,), draft), each.movable,
                        windows.get(each.id))
            for each in draft.rows[node]])

    def _piece(self, unit: placement_units.Unit, movable: bool,
               window: Window | None) -> _Piece:
        # Compute hosts, where an instance may be, too, are left out.
        return _Piece(unit, unit.eligible & ~self._draft.compute, movable,
                      window)

    def _cheapest(self, rows: ejection.Rows, piece: places.Piece,
                  steps: budget.Budget) -> int | None:
        """Return the best host for a piece, which gets the best start."""
        assert isinstance(piece, _Piece)
        if piece.window is not None:
            piece.begin(piece.present)
        chosen, least = ejection.cheapest(rows, piece, steps)
        if piece.window is None or least <= 0:
            return chosen
        free = self._earliest(rows, piece, steps)
        if free is not None:
            return free
        best, effort = piece.present, 0
        for node in piece.hosts:
            row = rows[node]
            for start in self._starts(row, piece):
                piece.begin(start)
                cost = row.cost(piece, least)
                effort += 1
                if cost < least:
                    chosen, least, best = node, cost, start
        piece.begin(best)
        steps.spend(effort)
        return None if least == math.inf else chosen

    def _earliest(self, rows: ejection.Rows, piece: _Piece,
                  steps: budget.Budget) -> int | None:
        """Place a piece at its earliest start on a free host, if there is one.

        :returns: the host; ``None`` if none is free, and then the piece is
            unchanged.
        """
        before, effort = piece.start, 0
        best: tuple[int, float, int] | None = None
        for node in piece.hosts:
            row = rows[node]
            for start in self._starts(row, piece):
                if best is not None and start > best[0]:
                    break
                piece.begin(start)
                cost = row.cost(piece)
                effort += 1
                if cost <= 0 and (best is None or (start, cost) < best[:2]):
                    best = start, cost, node
        piece.begin(before if best is None else best[0])
        steps.spend(effort)
        return None if best is None else best[2]

    def _advance(self, rows: ejection.Rows, steps: budget.Budget) -> None:
        """Give pieces with another start the earliest possible start.

        Bookings that were in their way may have moved since.
        """
        moved = [piece for piece in self._there() if piece.window is not None
                 and (piece.home < 0 or piece.start != piece.present)]
        for piece in sorted(moved, key=operator.attrgetter('start')):
            rows[piece.node].take(piece)
            node = self._earliest(rows, piece, steps)
            if node is not None:
                piece.node = node
            rows[piece.node].put(piece)

    def _starts(self, row: places.Row, piece: _Piece) -> list[int]:
        """Return the starts at which a piece touches another one, in order.
        """
        assert piece.window is not None
        first, last = piece.window
        length, grain = piece.until - piece.start, self._grain
        found = {first, last}
        for each in row.pieces():
            found.add(-(-each.until // grain) * grain)
            found.add((each.start - length) // grain * grain)
        return sorted(at for at in found if first <= at <= last)

    def starts(self) -> dict[str, int]:
        """Return the new starts of bookings."""
        return {piece.unit.parts[0].id: piece.start
                for piece in self._there()
                if piece.home >= 0 and piece.start != piece.present}

    def _there(self) -> Iterator[_Piece]:
        for row in (self._rows or {}).values():
            for piece in row.pieces():
                assert isinstance(piece, _Piece)
                yield piece

    def way(self, demands: Sequence[bookings.Demand]) -> Way:
        """Return the result as a plan."""
        starts = self.starts()
        for node, row in (self._rows or {}).items():
            self._draft.write(node, [dataclasses.replace(
                piece.unit.parts[0], node=node, start=piece.start,
                end=piece.end) for piece in row.pieces()])
        granted = [served.of(self._draft, dataclasses.replace(
            demand, start=piece.start, end=piece.end), ())
            for demand, piece in zip(demands, self._firsts(demands),
                                     strict=True)]
        for each in granted:
            each.count = each.demand.least
        return Way(plans.compared(self._now, self._draft, granted, False,
                                  False), self._wanted[0].start, starts)

    def _firsts(self, demands: Sequence[bookings.Demand]) -> Iterator[_Piece]:
        """Yield the first piece of each demand."""
        place = 0
        for demand in demands:
            yield self._wanted[place]
            place += demand.least

