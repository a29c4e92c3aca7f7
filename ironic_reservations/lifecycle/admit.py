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

"""Whether a request may take a node for use: rows in, a verdict out."""

from __future__ import annotations

import dataclasses
import datetime
import enum

from ironic_reservations.model import facts


class Act(enum.Enum):
    """What a guarded request does to a node."""

    #: Deploys it, or binds an instance to it.
    USE = 'use'
    #: Takes it out of what can be promised, in another way.
    TAKE = 'take'
    #: Changes what is in use already.
    STAY = 'stay'
    #: Takes the instance off.
    FREE = 'free'

    @property
    def lasts(self) -> bool:
        """Check whether nobody knows when the node can be promised again."""
        return self in (Act.USE, Act.TAKE)


class Verdict(enum.Enum):
    """What the guard does with a request."""

    #: Nobody holds the node, and nobody has to.
    FREE = 'free'
    #: The request has shown the node's live reservation.
    PROVEN = 'proven'
    #: The request has shown the lease reservation that has the node.
    LEASE_PROVEN = 'lease_proven'
    #: The node is reserved or leased, and no proof was shown.
    PROOF_REQUIRED = 'proof_required'
    #: A proof was shown that is not what holds the node.
    PROOF_INVALID = 'proof_invalid'
    #: The lease that had the node is over, and it is being taken back.
    LEASE_OVER = 'lease_over'
    #: A maintenance window has the node.
    IN_MAINTENANCE = 'in_maintenance'
    #: Nobody holds the node, but the operator wants a reservation always.
    RESERVATION_REQUIRED = 'reservation_required'

    @property
    def passes(self) -> bool:
        """Check whether the request goes on."""
        return self in (Verdict.FREE, Verdict.PROVEN, Verdict.LEASE_PROVEN)


@dataclasses.dataclass(frozen=True)
class Bearer:
    """Who shows a proof.

    :ivar project_id: the project that the caller is in.
    :ivar any_project: whether the proofs of other projects count, too.
    """

    project_id: str | None = None
    any_project: bool = True

    def may_show(self, project_id: str | None) -> bool:
        """Return whether a proof counts in these hands.

        :param project_id: whose promise it is; ``None``: of no project,
            hence of whoever has been handed its proof.
        """
        return (self.any_project or project_id is None
                or project_id == self.project_id)


ANYBODY = Bearer()


@dataclasses.dataclass(frozen=True)
class Claim:
    """What a request shows.

    :ivar proof: the uuid of a reservation, or the id of a lease reservation.
    :ivar vouched_instance: the instance for which a service that is trusted
        in this makes the request; it counts as a proof where the node's
        reservation was made for it.
    :ivar bearer: who shows it.
    """

    proof: str | None = None
    vouched_instance: str | None = None
    bearer: Bearer = ANYBODY

    def proves(self, uuid: str | None, project_id: str | None) -> bool:
        """Return whether a promise has been shown, by one who may.

        :param uuid: of the promise.
        :param project_id: whose promise it is.
        """
        return (self.proof is not None and self.proof == uuid
                and self.bearer.may_show(project_id))

    def vouches(self, held: facts.Reservation) -> bool:
        """Return whether a service names the instance of a reservation."""
        return (self.vouched_instance is not None
                and self.vouched_instance == held.instance_uuid)


def admit(claim: Claim, held: facts.Reservation | None,
          now: datetime.datetime, required: bool = False,
          leased: facts.Leased = facts.UNLEASED,
          act: Act = Act.USE) -> Verdict:
    """Return what becomes of a request for a node.

    :param held: the reservation on the node's timeline, live or not.
    :param required: whether a free node may be taken only with a
        reservation.
    :param leased: what leases and maintenance windows have of the node.
    """
    live = held is not None and held.live(now)
    if live:
        assert held is not None
        # NOTE: also where a lease has begun meanwhile: what is deployed
        # there is whose reservation it is, and nobody else touches it.
        if claim.proves(held.uuid, held.project_id) or (
                claim.proof is None and claim.vouches(held)):
            return Verdict.PROVEN
        return (Verdict.PROOF_REQUIRED if claim.proof is None
                else Verdict.PROOF_INVALID)
    if leased.held:
        return _admit_to_lease(claim, leased, act)
    if claim.proof is not None:
        # NOTE: a stale proof is refused even where the node is free now:
        # whoever shows it believes in a promise that does not hold.
        return Verdict.PROOF_INVALID
    if leased.maintained.held and act is Act.USE:
        # NOTE: what works on the node in its window is let through.
        return Verdict.IN_MAINTENANCE
    return Verdict.RESERVATION_REQUIRED if required else Verdict.FREE


def _admit_to_lease(claim: Claim, leased: facts.Leased, act: Act) -> Verdict:
    if leased.holder is None:
        # NOTE: whoever frees the node does what is being done anyway.
        return (Verdict.FREE if act is Act.FREE and claim.proof is None
                else Verdict.LEASE_OVER)
    if claim.proves(leased.holder, leased.project_id):
        return Verdict.LEASE_PROVEN
    return (Verdict.PROOF_REQUIRED if claim.proof is None
            else Verdict.PROOF_INVALID)
