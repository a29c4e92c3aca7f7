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

"""Decides whether a request may act on a node that has a holder.

Acts such as power, boot device or interfaces affect the owner of the
reservation or lease. They are allowed for its project, with its proof, and for
administrators.
"""

from __future__ import annotations

import dataclasses
import datetime

from ironic_reservations.lifecycle import admit
from ironic_reservations.model import leases
from ironic_reservations.model import node_reservation


@dataclasses.dataclass(frozen=True)
class Actor:
    """The caller of a request, with its proof.

    :ivar project_id: ``None`` if the caller is in no project.
    :ivar administers: whether the caller may act on any node.
    """

    claim: admit.Claim
    project_id: str | None = None
    administers: bool = False

    def belongs(self, project_id: str | None) -> bool:
        """Return whether a project is the caller's."""
        return project_id is not None and project_id == self.project_id


def judge(actor: Actor, held: node_reservation.Reservation | None,
          leased: leases.Leased, now: datetime.datetime,
          frees: bool = False) -> admit.Verdict:
    """Decide about a request that acts on a node.

    :param held: the reservation of the node, live or not.
    :param leased: the leases that have the node.
    :param frees: whether the request removes the instance from the node.
    """
    if actor.administers:
        return admit.Verdict.FREE
    # A node that is being put back is freed anyway.
    put_back = admit.Verdict.FREE if frees else admit.Verdict.LEASE_OVER
    if held is not None and held.live(now):
        if held.over(now):
            return put_back
        passes = (actor.belongs(held.project_id)
                  or actor.claim.proves(held.uuid, held.project_id)
                  or actor.claim.vouches(held))
    elif leased.held:
        if leased.holder is None:
            return put_back
        passes = (actor.belongs(leased.project_id)
                  or actor.claim.proves(leased.holder, leased.project_id))
    else:
        return admit.Verdict.FREE
    if passes:
        return admit.Verdict.FREE
    return (admit.Verdict.PROOF_REQUIRED if actor.claim.proof is None
            else admit.Verdict.PROOF_INVALID)
