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

from ironic_reservations.lifecycle import admit
from ironic_reservations.model import host_view


@dataclasses.dataclass(frozen=True)
class Actor:
    """The caller of a request, with its proof.

    :ivar project_id: ``None`` if the caller is in no project.
    :ivar administers: whether the caller may act on any node.
    :ivar elsewhere: whether the proof is that of another node that the request
        changes as well.
    """

    claim: admit.Claim
    project_id: str | None = None
    administers: bool = False
    elsewhere: bool = False

    def belongs(self, project_id: str | None) -> bool:
        """Return whether a project is the caller's."""
        return project_id is not None and project_id == self.project_id


def judge(actor: Actor, view: host_view.HostView,
          frees: bool = False) -> admit.Verdict:
    """Decide about a request that acts on a node.

    :param view: the promises of the node.
    :param frees: whether the request removes the instance from the node.
    """
    if actor.administers:
        return admit.Verdict.FREE
    held, lease = view.reservation, view.lease
    if view.being_put_back:
        # A node that is being put back is freed anyway.
        return admit.Verdict.FREE if frees else admit.Verdict.LEASE_OVER
    if held is not None:
        passes = (actor.belongs(held.project_id)
                  or actor.claim.proves(held.uuid, held.project_id)
                  or actor.claim.vouches(held))
    elif lease is not None:
        passes = (actor.belongs(lease.project_id)
                  or actor.claim.proves(lease.reservation_id,
                                        lease.project_id))
    else:
        # As for a deploy, a stale proof is refused even if the node is free:
        # nobody would put back what its sender changes.
        passes = frees or actor.elsewhere or actor.claim.proof is None
    if passes:
        return admit.Verdict.FREE
    return (admit.Verdict.PROOF_REQUIRED if actor.claim.proof is None
            else admit.Verdict.PROOF_INVALID)
