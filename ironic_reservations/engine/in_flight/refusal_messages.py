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

"""The errors for guarded requests that are refused."""

from __future__ import annotations

from collections.abc import Iterable
import datetime

from ironic_reservations import errors
from ironic_reservations.lifecycle import admit
from ironic_reservations.model import leases
from ironic_reservations.model import maintenance
from ironic_reservations.model import node_reservation
from ironic_reservations.model import time_text


def refusal(verdict: admit.Verdict, node_uuid: str, claim: admit.Claim,
            held: node_reservation.Reservation | None,
            promised: Iterable[leases.NodeBooking],
            now: datetime.datetime) -> errors.ReservationError:
    """Return the error for a request that is not let through.

    NOTE: it has neither the uuid of the reservation, which is a proof, nor its
    project, which is private.

    :param held: the reservation of the node, live or not.
    :param promised: the leases that the node is promised to.
    """
    match verdict:
        case admit.Verdict.PROOF_REQUIRED:
            return errors.ProofRequired(
                f'Node {node_uuid} is {_held(held, now)}, and the request '
                'shows no proof. The holder sends the uuid of the reservation '
                '(of a lease: the id of its reservation) in the header '
                'OpenStack-Baremetal-Reservation. To get a node of your own, '
                'make a reservation.', node_uuid=node_uuid)
        case admit.Verdict.PROOF_INVALID:
            return errors.ProofInvalid(
                f'The reservation {claim.proof} '
                + _why_invalid(node_uuid, claim, held, promised, now),
                node_uuid=node_uuid)
        case admit.Verdict.LEASE_OVER:
            kind = (errors.ProofRequired if claim.proof is None
                    else errors.ProofInvalid)
            return kind(
                f'The lease or reservation of node {node_uuid} is over, and '
                'the node is being taken back. Nobody can use it until it is '
                'available again.', node_uuid=node_uuid)
        case _:
            return errors.ReservationRequired(
                f'Node {node_uuid} is not reserved, and the operator allows '
                'nobody to use a node without a reservation. Make one first, '
                'and send its uuid in the header '
                'OpenStack-Baremetal-Reservation.', node_uuid=node_uuid)


def _held(held: node_reservation.Reservation | None,
          now: datetime.datetime) -> str:
    if held is None or not held.live(now):
        return 'leased'
    if held.state is not node_reservation.State.RESERVED:
        return 'reserved'
    return f'reserved until {time_text.moment(held.expires_at)}'


def _why_invalid(node_uuid: str, claim: admit.Claim,
                 held: node_reservation.Reservation | None,
                 promised: Iterable[leases.NodeBooking],
                 now: datetime.datetime) -> str:
    own = next((booking for booking in promised
                if booking.reservation_id == claim.proof
                and booking.starts_at > now), None)
    if own is not None:
        return ('belongs to a lease that starts at '
                f'{time_text.moment(own.starts_at)}. Use the node from that '
                'time on.')
    taken = held is not None and held.live(now) or any(
        booking.has_node(now) for booking in promised)
    return f'is not valid for node {node_uuid}, ' + (
        'which is reserved for somebody else. ' if taken else
        'which has no reservation: it has expired or was deleted. '
    ) + 'Make a new reservation.'


def promised(node_uuid: str,
             since: datetime.datetime) -> errors.NodePromised:
    """Return the error for a use that would keep a node from a lease."""
    return errors.NodePromised(
        f'Node {node_uuid} is promised to a lease from '
        f'{time_text.moment(since)} '
        'on, and no other node was found for that lease. Use another node, or '
        'make a lease that ends before that time.', node_uuid=node_uuid,
        since=since.isoformat())


def maintained(node_uuid: str, windows: maintenance.Maintained,
               now: datetime.datetime) -> errors.NodeInMaintenance:
    """Return the error for a use of a node during its maintenance."""
    assert windows.until is not None
    until = (f'until {time_text.moment(windows.until)}' if windows.until > now
             else 'that is over, and is being taken out of maintenance')
    return errors.NodeInMaintenance(
        f'Node {node_uuid} is in a maintenance window {until}. Use another '
        'node, or use this one after that. The operator can end the window '
        'with DELETE /v1/maintenances/<id>.', node_uuid=node_uuid,
        until=windows.until.isoformat())
