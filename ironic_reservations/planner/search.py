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

"""Exact search: every assignment of the bookings that may move, if need be.

The bookings that the new one can have to do with, directly or through
others, are placed anew in the order of their starts.  What was placed before
matters to those that come only through which nodes are still taken, until
when; of nodes that are alike to all that come, only how many.  A state found
hopeless is remembered and never entered again.
"""

from __future__ import annotations

from collections.abc import Iterator
import dataclasses
import enum

from ironic_reservations.planner import bookings
from ironic_reservations.planner import budget
from ironic_reservations.planner import fleet
from ironic_reservations.planner import timeline


class Outcome(enum.Enum):
    """How a search ended."""

    FOUND = 'found'
    #: Every assignment has been ruled out.
    NONE = 'none'
    #: The steps ran out first.
    UNKNOWN = 'unknown'


#: A node that is taken, and until when.
_Taken = tuple[int, int]


def search(draft: timeline.Draft, wanted: bookings.Booking,
           steps: budget.Budget) -> Outcome:
    """Place a booking, wherever those that can move have to go for it.

    The draft is changed only where a place is found.
    """
    try:
        involved = _involved(draft, wanted, steps)
        near = [booking for booking in involved
                if booking.start < wanted.until
                and wanted.start < booking.until]
        if len(near) < len(involved):
            # NOTE: most often it is enough to move those in the window, and
            # it is seen much sooner.  No proof comes of it.
            part = budget.Budget(steps.left // 3)
            steps.spend(part.left)
            try:
                if _assign(draft, wanted, near, part):
                    return Outcome.FOUND
            except budget.Exhausted:
                pass
        if _assign(draft, wanted, involved, steps):
            return Outcome.FOUND
    except budget.Exhausted:
        return Outcome.UNKNOWN
    return Outcome.NONE


def _involved(draft: timeline.Draft, wanted: bookings.Booking,
              steps: budget.Budget) -> list[bookings.Booking]:
    """Give all bookings whose place the new one could depend on."""
    movable: list[bookings.Booking] = []
    walk = fleet.Walk(wanted.eligible)
    for node in walk:
        row = draft.rows[node]
        steps.spend(1 + len(row) // 8)
        for booking in row:
            if booking.movable:
                movable.append(booking)
                walk.leads_to(booking.eligible)
    movable.sort(key=lambda booking: booking.start)
    # A run is broken off where no booking stands; what comes after does not
    # depend on what came before.  The new booking may join several.
    runs: list[tuple[int, int]] = []
    for booking in movable:
        if runs and booking.start < runs[-1][1]:
            runs[-1] = runs[-1][0], max(runs[-1][1], booking.until)
        else:
            runs.append((booking.start, booking.until))
    joined = [run for run in runs
              if run[0] < wanted.until and wanted.start < run[1]]
    start = min([wanted.start, *(run[0] for run in joined)])
    until = max([wanted.until, *(run[1] for run in joined)])
    return [booking for booking in movable
            if booking.start < until and start < booking.until]


def _assign(draft: timeline.Draft, wanted: bookings.Booking,
            involved: list[bookings.Booking], steps: budget.Budget) -> bool:
    problem = _Problem(draft, wanted, involved, steps)
    nodes = problem.solve(steps)
    if nodes is None:
        return False
    arriving, leaving = [], []
    for booking, node in zip(problem.bookings, nodes, strict=True):
        if booking.node == node:
            continue
        arriving.append(dataclasses.replace(booking, node=node))
        if booking is not wanted:
            leaving.append(booking)
    draft.put(arriving, leaving)
    return True


class _Problem:
    """Bookings to place, in the order of their starts, and where they can go.

    :ivar domains: for each booking, the nodes that nobody else holds.
    :ivar cells: sets of nodes that are alike to every booking, those that
        the fewest bookings can use first.
    """

    def __init__(self, draft: timeline.Draft, wanted: bookings.Booking,
                 involved: list[bookings.Booking],
                 steps: budget.Budget) -> None:
        self.bookings = sorted([*involved, wanted],
                               key=lambda booking: booking.start)
        ids = {booking.id for booking in involved}
        nodes = 0
        for booking in self.bookings:
            nodes |= booking.eligible
        rest = draft.copy()
        for node in {booking.node for booking in involved}:
            rest.write(node, [booking for booking in rest.rows[node]
                              if booking.id not in ids])
        known: dict[tuple[int, int, int], int] = {}
        self.domains: list[int] = []
        for booking in self.bookings:
            key = (booking.start, booking.until, booking.eligible)
            if key not in known:
                members = fleet.members(booking.eligible)
                steps.spend(1 + len(members) // 8)
                known[key] = fleet.mask(
                    node for node in members
                    if rest.free(node, booking.start, booking.until))
            self.domains.append(known[key])
        self.cells = self._split(nodes, steps)
        self.cell_of = {node: number
                        for number, cell in enumerate(self.cells)
                        for node in fleet.members(cell)}

    def _split(self, nodes: int, steps: budget.Budget) -> list[int]:
        cells = [nodes]
        for domain in set(self.domains):
            steps.spend(1 + len(cells) // 8)
            cells = [part for cell in cells
                     for part in (cell & domain, cell & ~domain) if part]
        uses = {cell: sum(1 for domain in self.domains if domain & cell)
                for cell in cells}
        return sorted(cells, key=lambda cell: (uses[cell], cell))

    def solve(self, steps: budget.Budget) -> list[int] | None:
        """Give a node for each booking, or ``None`` where there is no way.

        :raises budget.Exhausted: where the steps do not suffice to tell.
        """
        count = len(self.bookings)
        hopeless: set[tuple[int, tuple[_Taken, ...]]] = set()
        chosen: list[int] = []
        # What is taken when each booking starts, and where it can go still.
        taken: list[list[_Taken]] = [[]]
        choices = [self._choices(0, [])]
        while len(chosen) < count:
            level = len(chosen)
            node = next(choices[level], None)
            if node is None:
                hopeless.add(self._state(level, taken[level]))
                taken.pop()
                choices.pop()
                if not chosen:
                    return None
                chosen.pop()
                continue
            steps.spend(1 + len(taken[level]) // 8)
            if level + 1 == count:
                chosen.append(node)
                break
            start = self.bookings[level + 1].start
            then = [pair for pair in taken[level] if pair[1] > start]
            if self.bookings[level].until > start:
                then.append((node, self.bookings[level].until))
            if hopeless and self._state(level + 1, then) in hopeless:
                continue
            chosen.append(node)
            taken.append(then)
            choices.append(self._choices(level + 1, then))
        return chosen

    def _state(self, level: int, taken: list[_Taken]
               ) -> tuple[int, tuple[_Taken, ...]]:
        cell_of = self.cell_of
        return level, tuple(sorted([(cell_of[node], until)
                                    for node, until in taken]))

    def _choices(self, level: int, taken: list[_Taken]) -> Iterator[int]:
        """Give the nodes to try: where it is now, then one of each cell."""
        free = self.domains[level]
        for node, _ in taken:
            free &= ~(1 << node)
        current = self.bookings[level].node
        stays = current >= 0 and bool(free >> current & 1)
        if stays:
            yield current
        for number, cell in enumerate(self.cells):
            left = free & cell
            if left and not (stays and self.cell_of[current] == number):
                yield (left & -left).bit_length() - 1
