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
from collections.abc import Sequence
from collections.abc import Set

from ironic_reservations.db import lease_work as db_lease_work
from ironic_reservations.db import leases as db_leases
from ironic_reservations.engine import announce
from ironic_reservations.engine import carry_out
from ironic_reservations.engine import Engine
from ironic_reservations.engine import retry
from ironic_reservations.engine import timelines
from ironic_reservations.planner import bookings
from ironic_reservations.planner import instants
from ironic_reservations.planner import leases
from ironic_reservations.planner import planning
from ironic_reservations.planner import plans
from ironic_reservations.planner import requirements
from ironic_reservations.planner import standing
from ironic_reservations.planner import timeline

_Stranded = tuple[leases.NodeBooking, requirements.Requirement]


def heal(engine: Engine) -> int:
    """Plan anew what is planned on hosts that can serve nothing new.

    A reservation for which no other host is found is flagged, stays where it
    is, and is tried again at the next call.

    :returns: how many bookings have found another host.
    :raises Contention: others changed the hosts each time.
    """
    def attempt() -> int:
        now = engine.clock()
        horizon = engine.timelines.look(engine.database, now)
        homeless = [each for here in horizon.standings if here is not None
                    for each in standing.stranded(here, now)]
        if not homeless:
            return 0
        return _rehouse(engine, horizon, horizon.timeline, homeless,
                        horizon.usable, flag=True)
    return retry.until_committed(attempt)


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
        horizon = engine.timelines.look(engine.database, now)
        with engine.database.read() as connection:
            found = db_leases.read(connection, (lease_id,))
        ids = {booking.id for lease in found for booking in lease.bookings
               if booking.id in booking_ids
               and not booking.begun}
        moving = [each for here in horizon.standings if here is not None
                  for each in here.promised if each[0].id in ids]
        names = {standing.name(booking) for booking, _ in moving}
        without = horizon.timeline.without(
            [each for row in horizon.timeline.rows for each in row
             if each.id in names])
        return _rehouse(engine, horizon, without, moving,
                        horizon.ready & ~horizon.fleet.mask(avoiding),
                        flag=False)
    return retry.until_committed(attempt)


def _rehouse(engine: Engine, horizon: timelines.Horizon,
             free: timeline.Timeline, homeless: Sequence[_Stranded],
             hosts: int, flag: bool) -> int:
    """Plan bookings one by one, the first to start first, and commit.

    :param hosts: the set of hosts that will do.
    :param flag: whether to flag what happened on the lease reservations.
    """
    margin = engine.conf.leases.cleaning_time * instants.SECOND
    homes: dict[int, str] = {}
    left: list[leases.NodeBooking] = []
    moved: list[leases.NodeBooking] = []
    for booking, wanted in sorted(
            homeless, key=lambda each: (each[0].starts_at, each[0].id)):
        demand = bookings.Demand(
            f'{standing.name(booking)}:home',
            instants.instant(booking.starts_at),
            instants.instant(booking.ends_at), 1, 1,
            horizon.eligible(wanted) & hosts, margin)
        outcome = planning.plan(free, [demand])
        if isinstance(outcome, plans.Refusal):
            left.append(booking)
            continue
        free = outcome.timeline
        homes[booking.id] = horizon.fleet.uuids[outcome.granted[0][0].node]
        moved.append(booking)
    if not homes and not (flag and left):
        return 0
    difference = carry_out.compare(horizon, free)
    generations = dict(difference.generations)
    for booking in moved:
        number = horizon.fleet.number(booking.node_uuid)
        generations.update([horizon.generation(number)])
    with engine.database.write() as connection:
        carry_out.claim(connection, horizon, carry_out.Difference(
            generations, {**difference.homes, **homes}))
        if flag:
            db_leases.flag_resources(
                connection, changed={each.reservation_id for each in moved},
                missing={each.reservation_id for each in left},
                now=horizon.now)
    if moved:
        _tell(engine, {each.reservation_id for each in moved})
    return len(homes)


def _tell(engine: Engine, reservation_ids: Set[str]) -> None:
    """Tell which leases have other nodes than before."""
    with engine.database.read() as connection:
        flags = db_lease_work.read_flags(connection, reservation_ids)
        changed = db_leases.read(connection, {
            flags[each].lease_id for each in reservation_ids & flags.keys()})
    for lease in changed:
        engine.announcer.tell_lease(announce.LEASE_UPDATE, lease,
                                    announce.REPLACED)
