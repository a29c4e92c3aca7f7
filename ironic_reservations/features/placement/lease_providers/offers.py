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

They exist for leases of instances and, if Nova is configured, for leases of
hosts, too: each host then takes one server.
"""

from __future__ import annotations

import collections
from collections.abc import Callable
from collections.abc import Collection
from collections.abc import Iterable

from ironic_reservations import errors
from ironic_reservations.db import nodes as db_nodes
from ironic_reservations.engine.lease_cycle import context as lease_context
from ironic_reservations.features.placement.lease_providers import converge
from ironic_reservations.features.placement.lease_providers import machine
from ironic_reservations.features.placement.lease_providers import (
    private_flavors,
)
from ironic_reservations.model import leases

_ENDING = leases.BookingState.ENDING

#: The obstacles in words, by the lease reservation that waits.
Waits = dict[str, str]


def start(context: lease_context.Context, lease: leases.Lease,
          bookings: Collection[leases.NodeBooking]) -> Waits:
    """Offer the hosts of the reservations of a lease in Placement and Nova.

    :param bookings: the bookings that will be bound next, on hosts that are
        held.
    :raises Lost: another worker has the lease.
    """
    new = {booking.id for booking in bookings}
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
                 lambda each: _offer(context, lease, each, given[each.id]))


def end(context: lease_context.Context, lease: leases.Lease) -> Waits:
    """Withdraw the offers on hosts whose bookings end.

    An offer that was made before the first booking was bound has no booking;
    it is withdrawn last.

    :returns: the obstacles of the reservations whose hosts have to wait.
    :raises Lost: another worker has the lease.
    """
    def end_offer(each: leases.LeaseReservation) -> tuple[str, ...]:
        if lease.status.over:
            return withdraw(context, each.id, each.bookings)
        there = [booking for booking in each.bookings
                 if booking.state is not leases.BookingState.PLANNED]
        return (_offer(context, lease, each, there)
                or _crowded(context, each.id, there))
    if not lease.bookings and lease.start > context.engine.clock():
        return {}
    return _each([each for each in _of(context, lease)
                  if not lease.bookings or any(
                      booking.state is _ENDING for booking in each.bookings)],
                 'cannot be taken back', end_offer)


def shared(context: lease_context.Context,
           bookings: Iterable[leases.NodeBooking]) -> frozenset[str]:
    """Read the compute hosts among the hosts of bookings."""
    with context.engine.database.read() as connection:
        there = db_nodes.read_nodes(
            connection, {booking.node_uuid for booking in bookings},
            with_traits=False)
    return frozenset(uuid for uuid, node in there.items() if node.compute)


def _of(context: lease_context.Context,
        lease: leases.Lease) -> list[leases.LeaseReservation]:
    return [each for each in lease.reservations
            if each.instances is not None or context.engine.nova is not None]


def _offer(context: lease_context.Context, lease: leases.Lease,
           each: leases.LeaseReservation,
           bookings: Collection[leases.NodeBooking]) -> tuple[str, ...]:
    flavor = None
    if context.engine.nova is not None:
        with context.engine.database.read() as connection:
            flavor = private_flavors.desired(
                connection, each.instances,
                {booking.node_uuid for booking in bookings})
    return offer(context, each.id, lease.project_id, bookings, flavor)


def _crowded(context: lease_context.Context, reservation_id: str,
             bookings: Collection[leases.NodeBooking]) -> tuple[str, ...]:
    """Return the compute hosts with more servers than the lease keeps.

    Only the owner can choose the server to delete; until then its share of the
    host stays held.
    """
    kept = collections.Counter(each.node_uuid for each in bookings
                               if each.state is not _ENDING)
    ending = [each for each in bookings if each.state is _ENDING]
    waits = []
    for host in sorted(shared(context, ending)):
        more = converge.used(
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
            # The others would run into the same time-outs.
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
    """Offer a reservation on its hosts, with a flavor.

    This happens after the hosts are held, and before the bookings are bound:
    until then an audit does not expect the offer.

    :param bookings: all bound and new bookings of the reservation, one for
        each instance; the offers on hosts of ending bookings are closed.
    :param flavor: the flavor; ``None``: no flavor is made.
    :returns: the obstacles, in words.
    :raises Lost: another worker has the lease.
    :raises PlacementUnavailable: Placement does not answer.
    :raises NovaUnavailable: Nova does not answer.
    """
    counts = collections.Counter(each.node_uuid for each in bookings
                                 if each.state is not _ENDING)
    lost = {each.node_uuid: 0 for each in bookings
            if each.state is _ENDING}
    return _bring(context, machine.Desired(
        reservation_id, project_id, {**lost, **counts}, True, flavor))


def withdraw(context: lease_context.Context, reservation_id: str,
             bookings: Collection[leases.NodeBooking]) -> tuple[str, ...]:
    """Withdraw the offers of a reservation, after its servers are deleted.

    This happens before nodes are undeployed, so that Nova deletes its servers
    itself; the bookings stay until there is no obstacle.

    :param bookings: all remaining bookings of the reservation.
    :returns: the obstacles, in words.
    :raises Lost: another worker has the lease.
    :raises PlacementUnavailable: Placement does not answer.
    :raises NovaUnavailable: Nova does not answer.
    """
    servers = machine.Servers.DELETE
    if context.engine.conf.leases.end_action != 'undeploy':
        # Only the offer records the share of a server on a compute host.
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
    return converge.bring(context.engine, wanted, before_each,
                          keeps_class=not wanted.active)
