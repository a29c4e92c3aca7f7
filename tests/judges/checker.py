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

"""Certifies a plan by definition; shares no code with what made it.

Slow and plain on purpose: it counts with sets and compares every pair.
"""

from __future__ import annotations

from collections.abc import Iterable
from collections.abc import Sequence

from ironic_reservations.planner import bookings


def faults(before: Iterable[bookings.Booking],
           demands: Sequence[bookings.Demand],
           after: Iterable[bookings.Booking],
           nodes: int) -> list[str]:
    """Tell everything that is wrong with a plan; nothing, if it is sound.

    :param before: all bookings that were there.
    :param demands: what was to be served besides.
    :param after: all bookings of the plan.
    :param nodes: how many nodes there are.
    """
    before, plan = list(before), list(after)
    # NOTE: a node may have become unfit for what it has already; that is no
    # fault of the plan.
    stayed = {(booking.id, booking.node) for booking in before}
    wrong = _misplaced([booking for booking in plan
                        if (booking.id, booking.node) not in stayed], nodes)
    wrong.extend(_overlaps(plan))
    known = {booking.id: booking for booking in plan}
    if len(known) != len(plan):
        wrong.append('A booking is there more than once.')
    for old in before:
        new = known.pop(old.id, None)
        if new is None:
            wrong.append(f'The booking {old.id} is gone.')
            continue
        if not old.movable and new.node != old.node:
            wrong.append(f'The booking {old.id} must not move, and is on '
                         f'{new.node} instead of {old.node}.')
        if _terms(old) != _terms(new):
            wrong.append(f'The booking {old.id} is not what it was.')
    for demand in demands:
        serving = [key for key in known
                   if key.rpartition('/')[0] == demand.id]
        if not demand.least <= len(serving) <= demand.most:
            wrong.append(f'The demand {demand.id} gets {len(serving)} nodes, '
                         f'not {demand.least} to {demand.most}.')
        for key in serving:
            new = known.pop(key)
            if (new.start, new.end, new.margin, new.eligible) != (
                    demand.start, demand.end, demand.margin,
                    demand.eligible):
                wrong.append(f'The booking {key} is not what was demanded.')
    wrong.extend(f'Nobody asked for the booking {key}.' for key in known)
    return wrong


def _terms(booking: bookings.Booking) -> tuple[object, ...]:
    return (booking.start, booking.end, booking.margin, booking.eligible,
            booking.movable)


def _misplaced(plan: list[bookings.Booking], nodes: int) -> list[str]:
    return [f'The booking {booking.id} is on {booking.node}, which it may '
            'not be on.' for booking in plan
            if not 0 <= booking.node < nodes
            or not (booking.eligible // 2 ** booking.node) % 2]


def _overlaps(plan: list[bookings.Booking]) -> list[str]:
    wrong = []
    by_node: dict[int, list[bookings.Booking]] = {}
    for booking in plan:
        by_node.setdefault(booking.node, []).append(booking)
    for node, there in by_node.items():
        for place, one in enumerate(there):
            for other in there[place + 1:]:
                if (one.start < other.end + other.margin
                        and other.start < one.end + one.margin):
                    wrong.append(f'The bookings {one.id} and {other.id} '
                                 f'overlap on {node}.')
    return wrong
