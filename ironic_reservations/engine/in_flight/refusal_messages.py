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

import dataclasses
import datetime

from ironic_reservations import errors
from ironic_reservations.lifecycle import admit
from ironic_reservations.model import host_view
from ironic_reservations.model import node_reservation
from ironic_reservations.model import time_text

_HEADER = 'OpenStack-Baremetal-Reservation'


def refusal(verdict: admit.Verdict, claim: admit.Claim,
            view: host_view.HostView) -> errors.ReservationError:
    """Return the error for a request that is not let through.

    The error contains neither the uuid of the reservation, which is a proof,
    nor its project, which is private.
    """
    node_uuid, owner = view.node_uuid, _Owner.of(claim, view)
    match verdict:
        case admit.Verdict.PROOF_REQUIRED:
            return errors.ProofRequired(
                f'Node {node_uuid} is {owner.state}'
                + _proof_wanted(claim.bearer, owner), node_uuid=node_uuid)
        case admit.Verdict.PROOF_INVALID:
            return errors.ProofInvalid(
                f'The reservation {claim.proof} '
                + _why_invalid(claim, owner, view),
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
                'nobody to use a node without a reservation or a lease. Make '
                'a reservation first, and send its uuid in the header '
                f'{_HEADER}'
                + (', or make a lease of the node.'
                   if claim.bearer.uses_leases else '.'), node_uuid=node_uuid)


@dataclasses.dataclass(frozen=True)
class _Owner:
    """The reservation or lease that has a node, for the text of a refusal.

    :ivar state: the state of the node in a sentence.
    :ivar leased: whether a lease has the node.
    :ivar own: whether the caller's project has it.
    :ivar open: whether callers of the same project need no proof.
    :ivar taken: whether the node has a holder.
    """

    state: str
    leased: bool = False
    own: bool = False
    open: bool = False
    taken: bool = True

    @classmethod
    def of(cls, claim: admit.Claim, view: host_view.HostView) -> _Owner:
        bearer, held = claim.bearer, view.reservation
        if held is not None:
            until = ('' if held.state is not node_reservation.State.RESERVED
                     else f' until {time_text.moment(held.expires_at)}')
            return cls(f'reserved{until}', own=bearer.belongs(held.project_id),
                       open=bearer.uses_reservations)
        there = next(iter(view.present), None)
        return cls('leased', leased=True, open=bearer.uses_leases,
                   own=(there is not None
                        and bearer.belongs(there.project_id)),
                   taken=there is not None)

    @property
    def proof(self) -> str:
        return ('the id of the reservation of the lease' if self.leased
                else 'the uuid of the reservation')


def _proof_wanted(bearer: admit.Bearer, owner: _Owner) -> str:
    """Return the holder of a node, and the proof that a request lacks."""
    show = f'{owner.proof} in the header {_HEADER}'
    kind = 'lease' if owner.leased else 'reservation'
    if owner.own:
        return (f' by your project, and the request shows no proof. The '
                f'policy has you show it: send {show}.')
    other = f' To get a node of your own, make a {kind}.'
    if owner.open and bearer.project_id is not None:
        return (', but not by your project, whose members would need no '
                'proof.'
                + (f' Callers of other projects send {show}.'
                   if bearer.any_project else '') + other)
    return (f', and the request shows no proof. The holder sends {show}.'
            f'{other}')


def _why_invalid(claim: admit.Claim, owner: _Owner,
                 view: host_view.HostView) -> str:
    own = next((booking for booking in view.bookings
                if booking.reservation_id == claim.proof
                and booking.starts_at > view.now), None)
    if own is not None:
        return ('belongs to a lease that starts at '
                f'{time_text.moment(own.starts_at)}. Use the node from that '
                'time on.')
    text = f'is not valid for node {view.node_uuid}, '
    if not owner.taken:
        return text + ('which has no reservation: it has expired or was '
                       'deleted. Make a new reservation.')
    if not owner.own:
        return text + ('which is reserved for somebody else. Make a new '
                       'reservation.')
    return text + f'which is {owner.state} by your project. ' + (
        f'Send no proof, or {owner.proof}.' if owner.open
        else f'Send {owner.proof}.')


def promised(node_uuid: str,
             since: datetime.datetime) -> errors.NodePromised:
    """Return the error for a use that would keep a node from a lease."""
    return errors.NodePromised(
        f'Node {node_uuid} is promised to a lease from '
        f'{time_text.moment(since)} '
        'on, and no other node was found for that lease. Use another node, or '
        'make a lease that ends before that time.', node_uuid=node_uuid,
        since=since.isoformat())


def maintained(view: host_view.HostView) -> errors.NodeInMaintenance:
    """Return the error for a use of a node during its maintenance."""
    end = view.maintained_until
    assert end is not None
    until = (f'until {time_text.moment(end)}' if end > view.now
             else 'that is over, and is being taken out of maintenance')
    return errors.NodeInMaintenance(
        f'Node {view.node_uuid} is in a maintenance window {until}. Use '
        'another node, or use this one after that. The operator can end the '
        'window with DELETE /v1/maintenances/<id>.', node_uuid=view.node_uuid,
        until=end.isoformat())
