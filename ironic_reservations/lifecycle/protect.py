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

"""Whether a request may act on a node that somebody has, short of taking it.

Power, boot device, interfaces and the like: what is done there is done to
whoever has the node.  So it is for the project that has it, for whoever shows
the proof, and for administrators.
"""

from __future__ import annotations

import dataclasses
import datetime

from ironic_reservations.lifecycle import admit
from ironic_reservations.model import facts


@dataclasses.dataclass(frozen=True)
class Actor:
    """Who asks for something to be done to a node, and what is shown for it.

    :ivar project_id: ``None`` where the caller is in no project.
    :ivar administers: whether the caller may act on any node.
    """

    claim: admit.Claim
    project_id: str | None = None
    administers: bool = False

    def belongs(self, project_id: str | None) -> bool:
        """Return whether a promise is that of the caller's project."""
        return project_id is not None and project_id == self.project_id


def judge(actor: Actor, held: facts.Reservation | None,
          leased: facts.Leased, now: datetime.datetime,
          frees: bool = False) -> admit.Verdict:
    """Return what becomes of a request that acts on a node.

    :param held: the reservation on the node's timeline, live or not.
    :param leased: what leases have of the node.
    :param frees: whether it takes the instance off the node.
    """
    if actor.administers:
        return admit.Verdict.FREE
    if held is not None and held.live(now):
        passes = (actor.belongs(held.project_id)
                  or actor.claim.proves(held.uuid, held.project_id)
                  or actor.claim.vouches(held))
    elif leased.held:
        if leased.holder is None:
            # NOTE: whoever frees the node does what is being done anyway.
            return (admit.Verdict.FREE if frees
                    else admit.Verdict.LEASE_OVER)
        passes = (actor.belongs(leased.project_id)
                  or actor.claim.proves(leased.holder, leased.project_id))
    else:
        return admit.Verdict.FREE
    if passes:
        return admit.Verdict.FREE
    return (admit.Verdict.PROOF_REQUIRED if actor.claim.proof is None
            else admit.Verdict.PROOF_INVALID)
