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

"""What leases have in Placement and Nova for servers, in a turn.

Leases of instances, and where Nova is told of leases, those of hosts, too:
each host is one server's then.  Where holds in Placement are switched off,
nothing here does anything.
"""

from __future__ import annotations

import collections
from collections.abc import Callable
from collections.abc import Collection
from collections.abc import Iterable

from ironic_reservations import errors
from ironic_reservations.db import nodes as db_nodes
from ironic_reservations.engine.placement import reservation_flavors
from ironic_reservations.engine.placement import reservation_providers
from ironic_reservations.planner import leases
from ironic_reservations.planner.placement import (
    reservation_providers as planner,
)
from ironic_reservations.reconciler import lease_turn

_ENDING = leases.BookingState.ENDING

#: What is waited for, by the reservation that waits.
Waits = dict[str, str]


def start(turn: lease_turn.Turn, lease: leases.Lease,
          binding: Collection[leases.NodeBooking]) -> Waits:
    """Have offered what the reservations of a lease have, or are given now.

    :param binding: the bookings that are about to be bound; their hosts are
        held.
    :raises Lost: the lease is another worker's.
    """
    new = {booking.id for booking in binding}
    given: dict[str, list[leases.NodeBooking]] = {}
    for each in _of(turn, lease):
        has = [booking for booking in each.bookings
               if booking.id in new
               or booking.state is not leases.BookingState.PLANNED]
        if any(booking.id in new for booking in has) or (
                each.status is leases.ReservationStatus.PENDING
                and any(booking.state is leases.BookingState.BOUND
                        for booking in has)):
            given[each.id] = has
    return _each([each for each in lease.reservations if each.id in given],
                 'cannot be offered',
                 lambda each: _give(turn, lease, each, given[each.id]))


def end(turn: lease_turn.Turn, lease: leases.Lease) -> Waits:
    """Take back what is offered on hosts that are being taken back.

    :returns: for the reservations whose hosts have to wait.
    :raises Lost: the lease is another worker's.
    """
    def take(each: leases.LeaseReservation) -> tuple[str, ...]:
        if lease.status.over:
            return take_back(turn, each.id, each.bookings)
        there = [booking for booking in each.bookings
                 if booking.state is not leases.BookingState.PLANNED]
        return (_give(turn, lease, each, there)
                or _crowded(turn, each.id, there))
    return _each([each for each in _of(turn, lease)
                  if any(booking.state is _ENDING
                         for booking in each.bookings)],
                 'cannot be taken back', take)


def shared(turn: lease_turn.Turn,
           bookings: Iterable[leases.NodeBooking]) -> frozenset[str]:
    """Read which hosts of bookings are compute hosts."""
    with turn.engine.database.read() as connection:
        there = db_nodes.read_nodes(
            connection, {booking.node_uuid for booking in bookings},
            with_traits=False)
    return frozenset(uuid for uuid, node in there.items() if node.compute)


def finish(turn: lease_turn.Turn, lease: leases.Lease) -> Waits:
    """Take back what is left of a lease that has no hosts any more.

    NOTE: what was offered before anything was bound, no booking tells of.

    :raises Lost: the lease is another worker's.
    """
    if lease.start > turn.engine.clock():
        return {}
    return _each(_of(turn, lease), 'cannot be taken back',
                 lambda each: take_back(turn, each.id, each.bookings))


def _of(turn: lease_turn.Turn,
        lease: leases.Lease) -> list[leases.LeaseReservation]:
    if turn.engine.placement is None:
        return []
    return [each for each in lease.reservations
            if each.instances is not None or turn.engine.nova is not None]


def _give(turn: lease_turn.Turn, lease: leases.Lease,
          each: leases.LeaseReservation,
          bookings: Collection[leases.NodeBooking]) -> tuple[str, ...]:
    flavor = None
    if turn.engine.nova is not None:
        with turn.engine.database.read() as connection:
            nodes = db_nodes.read_nodes(
                connection, {booking.node_uuid for booking in bookings},
                with_traits=False).values()
        flavor = (reservation_flavors.of_hosts(nodes)
                  if each.instances is None else
                  reservation_flavors.of_instances(
                      each.instances, any(node.compute for node in nodes)))
    return give(turn, each.id, lease.project_id, bookings, flavor)


def _crowded(turn: lease_turn.Turn, reservation_id: str,
             bookings: Collection[leases.NodeBooking]) -> tuple[str, ...]:
    """Tell where servers have what is given back of a compute host.

    NOTE: nobody but the owner knows which of the servers is to go; until one
    does, what it runs on stays held.
    """
    kept = collections.Counter(each.node_uuid for each in bookings
                               if each.state is not _ENDING)
    ending = [each for each in bookings if each.state is _ENDING]
    waits = []
    for host in sorted(shared(turn, ending)):
        more = reservation_providers.used(
            turn.engine, reservation_id, host) - kept[host]
        if more > 0:
            waits.append(f'{more} server{"s" * (more > 1)} more than it '
                         f'keeps on the host {host} '
                         f'{"is" if more == 1 else "are"} still there')
    return tuple(waits)


def _each(reservations: Collection[leases.LeaseReservation], what: str,
          act: Callable[[leases.LeaseReservation], tuple[str, ...]]
          ) -> Waits:
    found: Waits = {}
    silent = ''
    for each in reservations:
        try:
            # NOTE: with each of the others one would have to wait for the
            # same time-outs.
            waits = (silent,) if silent else act(each)
        except (errors.PlacementUnavailable, errors.NovaUnavailable) as exc:
            silent = str(exc)
            waits = (silent,)
        if waits:
            whose = 'servers' if each.instances is None else 'instances'
            found[each.id] = (f'the {whose} of the reservation {each.id} '
                              f'{what}: ' + '; '.join(waits).rstrip('.'))
    return found


def give(turn: lease_turn.Turn, reservation_id: str, project_id: str | None,
         bookings: Iterable[leases.NodeBooking],
         flavor: planner.FlavorWanted | None) -> tuple[str, ...]:
    """Have a reservation offered on its hosts, and a flavor for it.

    Comes after the hosts are held, and before the bookings are written down
    as bound: until then no audit misses anything.

    :param bookings: all that the reservation has or is being given now, one
        for each instance; hosts that it has had and lost are closed.
    :param flavor: ``None``: none is made.
    :returns: what is waited for, in words.
    :raises Lost: the lease is another worker's.
    :raises PlacementUnavailable: it cannot be known what there is.
    :raises NovaUnavailable: it cannot be known what there is.
    """
    counts = collections.Counter(each.node_uuid for each in bookings
                                 if each.state is not _ENDING)
    lost = {each.node_uuid: 0 for each in bookings
            if each.state is _ENDING}
    return _bring(turn, planner.Wanted(
        reservation_id, project_id, {**lost, **counts}, True, flavor))


def take_back(turn: lease_turn.Turn, reservation_id: str,
              bookings: Collection[leases.NodeBooking]) -> tuple[str, ...]:
    """Take back what a reservation had, after its servers.

    Comes before nodes are undeployed, so that Nova takes its servers down
    itself; the bookings stay until nothing is waited for any more.

    :param bookings: all that the reservation has still.
    :returns: what is waited for, in words.
    :raises Lost: the lease is another worker's.
    :raises PlacementUnavailable: it cannot be known what there is.
    :raises NovaUnavailable: it cannot be known what there is.
    """
    servers = planner.Servers.DELETE
    if turn.engine.conf.leases.end_action != 'undeploy':
        # NOTE: on a compute host nothing else says what a server has of it.
        servers = (planner.Servers.WAIT if shared(turn, bookings)
                   else planner.Servers.LEAVE)
    return _bring(turn, planner.Wanted(
        reservation_id, None,
        dict.fromkeys((each.node_uuid for each in bookings), 0), False,
        servers=servers))


def _bring(turn: lease_turn.Turn,
           wanted: planner.Wanted) -> tuple[str, ...]:
    def before_each() -> None:
        if not turn.holds():
            raise lease_turn.Lost(turn.lease_id)
    return reservation_providers.bring(turn.engine, wanted,
                                       before_each).waits
