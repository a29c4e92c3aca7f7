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

"""Finding other nodes for what has been planned and cannot start there."""

from __future__ import annotations

from collections.abc import Collection
from collections.abc import Iterable
from collections.abc import Sequence
from collections.abc import Set

from ironic_reservations import errors
from ironic_reservations.db import lease_flags as db_lease_flags
from ironic_reservations.db import lease_work as db_lease_work
from ironic_reservations.db import leases as db_leases
from ironic_reservations.engine import announce
from ironic_reservations.engine import commit
from ironic_reservations.engine import difference as difference_module
from ironic_reservations.engine import Engine
from ironic_reservations.engine import retry
from ironic_reservations.engine import seen
from ironic_reservations.engine import snapshots
from ironic_reservations.engine.leases import asked_back as lease_asked_back
from ironic_reservations.engine.leases import dates as lease_dates
from ironic_reservations.engine.leases import demands as lease_demands
from ironic_reservations.engine.leases import guards as lease_guards
from ironic_reservations.model import instants
from ironic_reservations.model import leases
from ironic_reservations.planner import bookings
from ironic_reservations.planner import fleet
from ironic_reservations.planner import planning
from ironic_reservations.planner import plans
from ironic_reservations.planner import standing
from ironic_reservations.planner import timeline

#: How often what has found no host is tried again, when others have moved.
_ROUNDS = 2


def heal(engine: Engine) -> int:
    """Plan anew what is planned on hosts where it cannot start.

    A booking for which no other host is found stays where it is, and is tried
    again at the next call.

    :returns: how many bookings have found another host.
    :raises Contention: others changed the hosts each time.
    """
    def attempt() -> int:
        now = engine.clock()
        snapshot = engine.snapshots.snapshot(engine.database, now)
        homeless = snapshot.displaced()
        if not homeless:
            return 0
        return _rehouse(engine, snapshot, homeless, snapshot.usable,
                        flag=True)
    return retry.until_committed(attempt)


def makes_room(engine: Engine) -> bool:
    """Check whether a plan that was refused is worth another attempt.

    What has to be planned anew does not move for others, and keeps what it
    can of its place until it has found another one. So before anybody is
    refused, other places are looked for at once, and not at the next pass.

    :returns: whether others have been planned anew.
    """
    snapshot = engine.snapshots.snapshot(engine.database, engine.clock())
    # NOTE: a host that can serve nothing new is in nobody's way.
    if not any(snapshot.usable >> snapshot.fleet.number(row.node_uuid) & 1
               for row, _ in snapshot.displaced()):
        return False
    try:
        return heal(engine) > 0
    except errors.Contention:
        return True


def replace(engine: Engine, lease_id: str, booking_ids: Collection[int],
            avoiding: Collection[str] = ()) -> int:
    """Find hosts that are ready for bookings that are about to start.

    :param booking_ids: of bookings that are planned on hosts which are not
        ready.
    :param avoiding: nodes that will not do, although they look ready.
    :returns: how many have found another host.
    :raises Contention: others changed the hosts each time.
    """
    def attempt() -> int:
        now = engine.clock()
        snapshot = engine.snapshots.snapshot(engine.database, now)
        with engine.database.snapshot() as connection:
            found = db_leases.read(connection, (lease_id,))
        uuids = {booking.uuid for lease in found
                 for each in lease.reservations
                 for booking in _leaving(each, booking_ids)}
        moving = [each for here in snapshot.standings if here is not None
                  for each in here.promised if each[0].uuid in uuids]
        return _rehouse(engine, snapshot, moving,
                        snapshot.ready & ~snapshot.fleet.mask(avoiding),
                        flag=False)
    return retry.until_committed(attempt)


def _leaving(each: leases.LeaseReservation, booking_ids: Collection[int]
             ) -> list[leases.NodeBooking]:
    """Return which bookings of a reservation leave when some have to."""
    leaving = [booking for booking in each.bookings
               if booking.id in booking_ids and not booking.begun]
    if leaving and each.instances is not None and each.instances.affinity:
        # NOTE: what has to be together leaves together.
        return [booking for booking in each.bookings if not booking.begun]
    return leaving


def _rehouse(engine: Engine, snapshot: snapshots.Snapshot,
             homeless: Sequence[snapshots.Displaced], hosts: int,
             flag: bool) -> int:
    """Plan bookings one by one, the first to start first, and commit.

    :param hosts: the set of hosts that will do.
    :param flag: whether to flag on the lease reservations what has moved.
    """
    margin = engine.conf.leases.cleaning_time * instants.SECOND
    homes: dict[str, leases.NodeBooking] = {}
    free = snapshot.timeline
    gone: set[str] = set()
    guarded = 0
    waiting = _units(snapshot, homeless)
    for _ in range(_ROUNDS):
        left = []
        for together in waiting:
            booking, wanted = together[0]
            rows = [row for row, _ in together]
            # NOTE: each keeps its place until it has found another: nobody
            # else gets the place of one that finds none.
            there = _without(snapshot, free, rows)
            if there is None:
                continue
            leaving = gone | set(map(standing.name, rows))
            guards = _guards(snapshot, there, leaving,
                             guarded | _hosts(snapshot, rows))
            outcome = planning.plan(there.adding(guards), [
                snapshot.loans.limit(lease_demands.of_rows(
                    f'{standing.name(booking)}:home', rows,
                    instants.instant(booking.starts_at),
                    instants.instant(booking.ends_at),
                    snapshot.eligible(wanted) & hosts, margin,
                    snapshot.standing(
                        snapshot.fleet.number(booking.node_uuid))),
                    booking.project_id)])
            if isinstance(outcome, plans.Refusal):
                left.append(together)
                continue
            # NOTE: where they are is known when all are planned; until then
            # the next ones may still move them.
            free = outcome.timeline.without(guards)
            gone = leaving
            guarded = fleet.mask(each.node for each in guards)
            homes.update((placed.id, row) for row, placed
                         in zip(rows, outcome.granted[0], strict=True))
        if len(left) in (0, len(waiting)):
            break
        # NOTE: those that have found a place may have left one.
        waiting = left
    difference = difference_module.compare(snapshot, free, renamed=homes)
    moved = [row for row, _ in homeless if row in difference.homes]
    lacking = [row for together in left for row, _ in together
               if row not in difference.homes]
    if not difference.homes:
        return 0
    left_behind = seen.Seen(dict(
        snapshot.generation(snapshot.fleet.number(row.node_uuid))
        for row in moved))
    lessees = lease_asked_back.find_moved(engine, snapshot, difference.homes)
    with engine.database.write() as connection:
        commit.commit(connection, left_behind, snapshot.now, difference)
        lease_asked_back.write(engine, connection, lessees, snapshot.now)
        if flag:
            db_lease_flags.flag_replaced(
                connection, {each.reservation_id for each in moved},
                {each.reservation_id for each in lacking} | {
                    row.reservation_id for row, _ in snapshot.lacking()},
                snapshot.now)
        lease_dates.check_movable(difference.homes, snapshot.now,
                                  engine.clock())
    engine.snapshots.commit(left_behind.also(difference.seen).generations,
                            snapshot.now, homes=difference.homes)
    lease_asked_back.tell(engine, lessees)
    if moved:
        _tell(engine, {each.reservation_id for each in moved})
    return len(moved)


def _without(snapshot: snapshots.Snapshot, there: timeline.Timeline,
             rows: Sequence[leases.NodeBooking]) -> timeline.Timeline | None:
    """Take rows out of the pool, as far as they are drawn there.

    :returns: ``None`` where a plan for another one has moved them already.
    """
    names = {standing.name(row) for row in rows}
    drawn: list[bookings.Booking] = []
    for number in fleet.members(_hosts(snapshot, rows)):
        found = _parts(there, number, names)
        if not found and _parts(snapshot.timeline, number, names):
            return None
        drawn.extend(found)
    return there.without(drawn)


def _guards(snapshot: snapshots.Snapshot, there: timeline.Timeline,
            leaving: Set[str], hosts: int) -> list[bookings.Booking]:
    """Return what bookings that leave have hidden of others on hosts.

    NOTE: one that is about to start has its place before a maintenance
    window; nobody is to have it who comes later.

    :param there: without the bookings that leave.
    """
    guards: list[bookings.Booking] = []
    for number in fleet.members(hosts):
        guards.extend(lease_guards.of_host(snapshot, number, leaving, [
            *((each.start, each.end)
              for each in snapshot.timeline.rows[number]
              if standing.whole(each.id) not in leaving),
            *((each.start, each.end + each.margin)
              for each in there.rows[number])]))
    return guards


def _hosts(snapshot: snapshots.Snapshot,
           rows: Iterable[leases.NodeBooking]) -> int:
    """Return the set of hosts that rows are on."""
    return snapshot.fleet.mask(row.node_uuid for row in rows)


def _parts(there: timeline.Timeline, number: int,
           names: Set[str]) -> list[bookings.Booking]:
    return [each for each in there.rows[number]
            if standing.whole(each.id) in names]


def _units(snapshot: snapshots.Snapshot,
           homeless: Sequence[snapshots.Displaced]
           ) -> list[list[snapshots.Displaced]]:
    """Put together what has to be on one host, by when it starts."""
    found: dict[str, list[snapshots.Displaced]] = {}
    for row, wanted in homeless:
        here = snapshot.standing(snapshot.fleet.number(row.node_uuid))
        found.setdefault(lease_demands.unit_of(here, row), []).append(
            (row, wanted))
    return sorted(found.values(),
                  key=lambda each: (each[0][0].starts_at, each[0][0].id))


def _tell(engine: Engine, reservation_ids: Set[str]) -> None:
    """Notify which leases have other nodes than before."""
    with engine.database.snapshot() as connection:
        flags = db_lease_work.read_flags(connection, reservation_ids)
        changed = db_leases.read(connection, {
            flags[each].lease_id for each in reservation_ids & flags.keys()})
    for lease in changed:
        engine.announcer.tell_lease(announce.LEASE_UPDATE, lease,
                                    announce.REPLACED)
