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

"""Find other nodes for bookings that cannot start on their nodes."""

from __future__ import annotations

from collections.abc import Collection
from collections.abc import Iterable
from collections.abc import Sequence
from collections.abc import Set

from ironic_reservations import errors
from ironic_reservations.db import lease_flags as db_lease_flags
from ironic_reservations.db import leases as db_leases
from ironic_reservations.engine import change
from ironic_reservations.engine import difference as difference_module
from ironic_reservations.engine import Engine
from ironic_reservations.engine import seen
from ironic_reservations.engine import snapshots
from ironic_reservations.engine.leases import demands as lease_demands
from ironic_reservations.engine.leases import placeholders
from ironic_reservations.model import leases
from ironic_reservations.planner import bookings
from ironic_reservations.planner import host_sets
from ironic_reservations.planner import host_states
from ironic_reservations.planner import planning
from ironic_reservations.planner import plans
from ironic_reservations.planner import timeline

#: How many times bookings without a host are tried, as others move away.
_ROUNDS = 2


def heal(engine: Engine) -> int:
    """Move planned bookings off hosts on which they cannot start.

    A booking for which there is no other host stays where it is until the
    next call.

    :returns: the number of bookings that have moved.
    :raises Contention: other requests changed the hosts at each attempt.
    """
    def plan() -> change.Planned[int]:
        snapshot = engine.snapshot(engine.clock())
        homeless = snapshot.displaced()
        if not homeless:
            return change.Planned(0)
        return _rehouse(engine, snapshot, homeless, snapshot.usable,
                        flag=True)
    return change.carry_out(engine, plan)


def heal_blocked(engine: Engine) -> bool:
    """Heal all leases at once after a refusal, if that may make room.

    A booking that cannot start on its host keeps its place and does not move
    for others until it has been healed, so a request could be refused only
    because the reconciler has not healed it yet.

    :returns: whether bookings have moved, and the plan is worth another try.
    """
    snapshot = engine.snapshot(engine.clock())
    # On a host that takes no new bookings they are in no booking's way.
    if not any(snapshot.usable >> snapshot.number_of(row) & 1
               for row, _ in snapshot.displaced()):
        return False
    try:
        return heal(engine) > 0
    except errors.Contention:
        return True


def replace(engine: Engine, lease_id: str, booking_ids: Collection[int],
            avoiding: Collection[str] = ()) -> int:
    """Move bookings that are about to start to hosts that are ready.

    :param booking_ids: bookings on hosts that are not ready.
    :param avoiding: uuids of nodes that are not to be used although they are
        shown as ready.
    :returns: the number of bookings that have moved.
    :raises Contention: other requests changed the hosts at each attempt.
    """
    def plan() -> change.Planned[int]:
        snapshot = engine.snapshot(engine.clock())
        with engine.database.snapshot() as connection:
            lease = db_leases.read_one(connection, lease_id)
        uuids = {booking.uuid
                 for each in (() if lease is None else lease.reservations)
                 for booking in _leaving(each, booking_ids)}
        moving = [each for here in snapshot.states if here is not None
                  for each in here.promised if each[0].uuid in uuids]
        return _rehouse(engine, snapshot, moving,
                        snapshot.ready & ~snapshot.host_set.mask(avoiding),
                        flag=False)
    return change.carry_out(engine, plan)


def _leaving(each: leases.LeaseReservation, booking_ids: Collection[int]
             ) -> list[leases.NodeBooking]:
    """Return the bookings that move if the given bookings have to move."""
    leaving = [booking for booking in each.bookings
               if booking.id in booking_ids and not booking.begun]
    if leaving and each.instances is not None and each.instances.affinity:
        # Instances that must share a host move together.
        return [booking for booking in each.bookings if not booking.begun]
    return leaving


def _rehouse(engine: Engine, snapshot: snapshots.Snapshot,
             homeless: Sequence[snapshots.Displaced], hosts: int,
             flag: bool) -> change.Planned[int]:
    """Plan bookings one by one, in the order of their starts.

    :returns: the number of bookings that move.
    """
    homes: dict[str, leases.NodeBooking] = {}
    free = snapshot.timeline
    gone: set[str] = set()
    vacated = 0
    wanted = dict(homeless)
    waiting = sorted(lease_demands.units(snapshot, wanted),
                     key=lambda rows: (rows[0].starts_at, rows[0].id))
    # No ladder, of which this is a rung: bookings of many leases are planned
    # together, and one without a host stays instead of being refused.
    for _ in range(_ROUNDS):
        left = []
        for rows in waiting:
            # Each keeps its place until another is found, so that one
            # without another place does not lose its own.
            there = _without(snapshot, free, rows)
            if there is None:
                continue
            leaving = gone | set(map(host_states.name, rows))
            hidden = _hidden(snapshot, there, leaving,
                             vacated | _hosts(snapshot, rows))
            outcome = planning.plan(there.adding(hidden), [
                lease_demands.home(snapshot, rows, wanted[rows[0]], hosts)])
            if isinstance(outcome, plans.Refusal):
                left.append(rows)
                continue
            # Their hosts are known only after all are planned, since
            # the next ones may move them.
            free = outcome.timeline.without(hidden)
            gone = leaving
            vacated = host_sets.mask(each.node for each in hidden)
            homes.update((placed.id, row) for row, placed
                         in zip(rows, outcome.granted[0], strict=True))
        if len(left) in (0, len(waiting)):
            break
        # A booking that has moved may have left a place for others.
        waiting = left
    difference = difference_module.compare(snapshot, free, renamed=homes)
    moved = [row for row in wanted if row in difference.homes]
    lacking = [row for rows in left for row in rows
               if row not in difference.homes]
    if not difference.homes:
        return change.Planned(0)
    nodes = seen.Seen(dict(
        snapshot.generation(snapshot.number_of(row))
        for row in moved)).also(difference.seen)
    rehousing = change.Change(snapshot.now, nodes, snapshot=snapshot,
                              homes=difference.homes)
    if moved:
        rehousing.events = [change.Rehoused(frozenset(
            row.reservation_id for row in moved))]
    if flag:
        rehousing.statements.append(lambda connection: (
            db_lease_flags.flag_replaced(
                connection, {each.reservation_id for each in moved},
                {each.reservation_id for each in lacking} | {
                    row.reservation_id for row, _ in snapshot.lacking()},
                snapshot.now)))
    return change.Planned(len(moved), rehousing)


def _without(snapshot: snapshots.Snapshot, there: timeline.Timeline,
             rows: Sequence[leases.NodeBooking]) -> timeline.Timeline | None:
    """Return a timeline without some rows, as far as it has them.

    :returns: ``None`` if a plan for another booking has moved them already.
    """
    names = {host_states.name(row) for row in rows}
    drawn: list[bookings.Booking] = []
    for number in host_sets.members(_hosts(snapshot, rows)):
        found = host_states.parts(there.rows, (number,), names)
        if not found and host_states.parts(snapshot.timeline.rows, (number,),
                                           names):
            return None
        drawn.extend(found)
    return there.without(drawn)


def _hidden(snapshot: snapshots.Snapshot, there: timeline.Timeline,
            leaving: Set[str], hosts: int) -> list[bookings.Booking]:
    """Return placeholders for promises that leaving bookings have hidden.

    For example, a booking that is about to start may hide a maintenance
    window; after it has moved, no other booking may have that time.
    """
    hidden: list[bookings.Booking] = []
    for number in host_sets.members(hosts):
        hidden.extend(placeholders.of_host(snapshot, number, leaving, [
            *((each.start, each.end)
              for each in snapshot.timeline.rows[number]
              if host_states.whole(each.id) not in leaving),
            *((each.start, each.end + each.margin)
              for each in there.rows[number])]))
    return hidden


def _hosts(snapshot: snapshots.Snapshot,
           rows: Iterable[leases.NodeBooking]) -> int:
    """Return the set of hosts that rows are on."""
    return snapshot.host_set.mask(row.node_uuid for row in rows)
