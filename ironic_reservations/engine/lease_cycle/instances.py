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

"""The providers and flavors of leases in Placement and Nova.

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
from ironic_reservations.engine.lease_cycle import context as lease_context
from ironic_reservations.features.placement import lease_provider_flavors
from ironic_reservations.features.placement import lease_provider_sync
from ironic_reservations.features.placement.decisions import (
    lease_providers as machine,
)
from ironic_reservations.model import leases

_ENDING = leases.BookingState.ENDING

#: What is waited for, by the reservation that waits.
Waits = dict[str, str]


def start(context: lease_context.Context, lease: leases.Lease,
          binding: Collection[leases.NodeBooking]) -> Waits:
    """Have offered what the reservations of a lease have, or are given now.

    :param binding: the bookings that are about to be bound; their hosts are
        held.
    :raises Lost: the lease is another worker's.
    """
    new = {booking.id for booking in binding}
    given: dict[str, list[leases.NodeBooking]] = {}
    for each in _of(context, lease):
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
                 lambda each: _give(context, lease, each, given[each.id]))


def end(context: lease_context.Context, lease: leases.Lease) -> Waits:
    """Take back what is offered on hosts that are being taken back.

    :returns: for the reservations whose hosts have to wait.
    :raises Lost: the lease is another worker's.
    """
    def take(each: leases.LeaseReservation) -> tuple[str, ...]:
        if lease.status.over:
            return withdraw(context, each.id, each.bookings)
        there = [booking for booking in each.bookings
                 if booking.state is not leases.BookingState.PLANNED]
        return (_give(context, lease, each, there)
                or _crowded(context, each.id, there))
    return _each([each for each in _of(context, lease)
                  if any(booking.state is _ENDING
                         for booking in each.bookings)],
                 'cannot be taken back', take)


def shared(context: lease_context.Context,
           bookings: Iterable[leases.NodeBooking]) -> frozenset[str]:
    """Read which hosts of bookings are compute hosts."""
    with context.engine.database.read() as connection:
        there = db_nodes.read_nodes(
            connection, {booking.node_uuid for booking in bookings},
            with_traits=False)
    return frozenset(uuid for uuid, node in there.items() if node.compute)


def finish(context: lease_context.Context, lease: leases.Lease) -> Waits:
    """Take back what is left of a lease that has no hosts any more.

    NOTE: what was offered before anything was bound, no booking tells of.

    :raises Lost: the lease is another worker's.
    """
    if lease.start > context.engine.clock():
        return {}
    return _each(_of(context, lease), 'cannot be taken back',
                 lambda each: withdraw(context, each.id, each.bookings))


def _of(context: lease_context.Context,
        lease: leases.Lease) -> list[leases.LeaseReservation]:
    if context.engine.placement is None:
        return []
    return [each for each in lease.reservations
            if each.instances is not None or context.engine.nova is not None]


def _give(context: lease_context.Context, lease: leases.Lease,
          each: leases.LeaseReservation,
          bookings: Collection[leases.NodeBooking]) -> tuple[str, ...]:
    flavor = None
    if context.engine.nova is not None:
        with context.engine.database.read() as connection:
            nodes = db_nodes.read_nodes(
                connection, {booking.node_uuid for booking in bookings},
                with_traits=False).values()
        flavor = (lease_provider_flavors.of_hosts(nodes)
                  if each.instances is None else
                  lease_provider_flavors.of_instances(
                      each.instances, any(node.compute for node in nodes)))
    return offer(context, each.id, lease.project_id, bookings, flavor)


def _crowded(context: lease_context.Context, reservation_id: str,
             bookings: Collection[leases.NodeBooking]) -> tuple[str, ...]:
    """Return where servers have what is given back of a compute host.

    NOTE: nobody but the owner knows which of the servers is to go; until one
    does, what it runs on stays held.
    """
    kept = collections.Counter(each.node_uuid for each in bookings
                               if each.state is not _ENDING)
    ending = [each for each in bookings if each.state is _ENDING]
    waits = []
    for host in sorted(shared(context, ending)):
        more = lease_provider_sync.used(
            context.engine, reservation_id, host) - kept[host]
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


def offer(context: lease_context.Context, reservation_id: str,
          project_id: str | None, bookings: Iterable[leases.NodeBooking],
          flavor: machine.DesiredFlavor | None) -> tuple[str, ...]:
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
    return _bring(context, machine.Desired(
        reservation_id, project_id, {**lost, **counts}, True, flavor))


def withdraw(context: lease_context.Context, reservation_id: str,
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
    servers = machine.Servers.DELETE
    if context.engine.conf.leases.end_action != 'undeploy':
        # NOTE: on a compute host nothing else says what a server has of it.
        servers = (machine.Servers.WAIT if shared(context, bookings)
                   else machine.Servers.LEAVE)
    return _bring(context, machine.Desired(
        reservation_id, None,
        dict.fromkeys((each.node_uuid for each in bookings), 0), False,
        servers=servers))


def _bring(context: lease_context.Context,
           wanted: machine.Desired) -> tuple[str, ...]:
    def before_each() -> None:
        if not context.holds():
            raise lease_context.Lost(context.lease_id)
    return lease_provider_sync.bring(context.engine, wanted,
                                       before_each).waits
