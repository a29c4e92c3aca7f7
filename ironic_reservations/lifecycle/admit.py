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

"""Decides whether a request may use a node."""

from __future__ import annotations

import dataclasses
import enum

from ironic_reservations.model import host_view
from ironic_reservations.model import leases
from ironic_reservations.model import node_reservation


class Act(enum.Enum):
    """The effect of a guarded request on a node."""

    #: Deploys the node, or binds an instance to it.
    USE = 'use'
    #: Makes the node unavailable in another way.
    TAKE = 'take'
    #: Changes a node that is in use already.
    STAY = 'stay'
    #: Removes the instance from the node.
    FREE = 'free'

    @property
    def lasts(self) -> bool:
        """Return whether the node stays unavailable for an unknown time."""
        return self in (Act.USE, Act.TAKE)


class Verdict(enum.Enum):
    """The verdict of the guard on a request."""

    #: The node is free, and no reservation is required.
    FREE = 'free'
    #: The request may use the node's live reservation.
    PROVEN = 'proven'
    #: The request may use the lease reservation that has the node.
    LEASE_PROVEN = 'lease_proven'
    #: The node is reserved or leased, and the request has no proof.
    PROOF_REQUIRED = 'proof_required'
    #: The proof is not that of the node's reservation or lease.
    PROOF_INVALID = 'proof_invalid'
    #: The reservation or lease is over, and the node is being put back.
    LEASE_OVER = 'lease_over'
    #: A maintenance window has the node.
    IN_MAINTENANCE = 'in_maintenance'
    #: The node is free, but the operator requires a reservation for each node.
    RESERVATION_REQUIRED = 'reservation_required'

    @property
    def passes(self) -> bool:
        """Return whether the request may pass."""
        return self in (Verdict.FREE, Verdict.PROVEN, Verdict.LEASE_PROVEN)


@dataclasses.dataclass(frozen=True)
class Bearer:
    """The caller that shows a proof.

    :ivar project_id: the project that the caller is in.
    :ivar any_project: whether proofs of other projects are accepted, too.
    :ivar uses_leases: whether the caller uses the nodes of the leases of its
        project without a proof.
    :ivar uses_reservations: whether the caller uses reserved nodes of its
        project without a proof.
    """

    project_id: str | None = None
    any_project: bool = True
    uses_leases: bool = False
    uses_reservations: bool = False

    def may_show(self, project_id: str | None) -> bool:
        """Return whether a proof is accepted from this caller.

        :param project_id: the project of the reservation or lease; ``None`` if
            it has none, so that its proof is accepted from every caller.
        """
        return (self.any_project or project_id is None
                or project_id == self.project_id)

    def belongs(self, project_id: str | None) -> bool:
        """Return whether a project is the caller's."""
        return project_id is not None and project_id == self.project_id


ANYBODY = Bearer()


@dataclasses.dataclass(frozen=True)
class Claim:
    """The proof of a request.

    :ivar proof: the uuid of a reservation, or the id of a lease reservation.
    :ivar vouched_instance: the instance for which a trusted service makes the
        request; it is a proof of a reservation made for that instance.
    :ivar bearer: the caller.
    """

    proof: str | None = None
    vouched_instance: str | None = None
    bearer: Bearer = ANYBODY

    def proves(self, uuid: str | None, project_id: str | None) -> bool:
        """Return whether the proof is valid for a reservation or lease.

        :param uuid: the uuid of the reservation, or of the lease reservation.
        :param project_id: the project of the reservation or lease.
        """
        return (self.proof is not None and self.proof == uuid
                and self.bearer.may_show(project_id))

    def vouches(self, held: node_reservation.Reservation) -> bool:
        """Return whether a trusted service has named the reserved instance."""
        return (self.vouched_instance is not None
                and self.vouched_instance == held.instance_uuid)

    def uses_reservation_of(self, project_id: str | None) -> bool:
        """Return whether a reservation needs no proof from its project."""
        return (self.proof is None and self.bearer.uses_reservations
                and self.bearer.belongs(project_id))

    def uses_lease_of(self, project_id: str | None) -> bool:
        """Return whether a lease needs no proof from its project."""
        return (self.proof is None and self.bearer.uses_leases
                and self.bearer.belongs(project_id))


def admit(claim: Claim, view: host_view.HostView, required: bool = False,
          act: Act = Act.USE) -> Verdict:
    """Decide about a request for a node.

    :param view: the promises of the node.
    :param required: whether a free node may be used only with a reservation.
    """
    held = view.reservation
    if held is not None:
        if held.over(view.now):
            return _while_put_back(claim, act)
        # This holds even if a lease has begun meanwhile: the node belongs to
        # the reservation until it ends.
        if (claim.proves(held.uuid, held.project_id)
                or claim.uses_reservation_of(held.project_id)
                or claim.proof is None and claim.vouches(held)):
            return Verdict.PROVEN
        return (Verdict.PROOF_REQUIRED if claim.proof is None
                else Verdict.PROOF_INVALID)
    if view.present:
        return _admit_to_lease(claim, view.lease, act)
    if claim.proof is not None:
        # A stale proof is refused even if the node is free: the caller relies
        # on a reservation that does not exist any more.
        return Verdict.PROOF_INVALID
    if view.maintained_until is not None and act is Act.USE:
        # Requests that do not use the node, such as cleaning, are part of the
        # maintenance.
        return Verdict.IN_MAINTENANCE
    return Verdict.RESERVATION_REQUIRED if required else Verdict.FREE


def _while_put_back(claim: Claim, act: Act) -> Verdict:
    # The node is being freed anyway.
    return (Verdict.FREE if act is Act.FREE and claim.proof is None
            else Verdict.LEASE_OVER)


def _admit_to_lease(claim: Claim, lease: leases.NodeBooking | None,
                    act: Act) -> Verdict:
    if lease is None:
        return _while_put_back(claim, act)
    if claim.proves(lease.reservation_id, lease.project_id) or (
            claim.uses_lease_of(lease.project_id)):
        return Verdict.LEASE_PROVEN
    return (Verdict.PROOF_REQUIRED if claim.proof is None
            else Verdict.PROOF_INVALID)
