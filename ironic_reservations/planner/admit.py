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

from ironic_reservations.planner import facts


class Verdict(enum.Enum):
    """What the guard does with a request."""

    #: Nobody holds the node, and nobody has to.
    FREE = 'free'
    #: The request has shown the node's live reservation.
    PROVEN = 'proven'
    #: The node is reserved, and no proof was shown.
    PROOF_REQUIRED = 'proof_required'
    #: A proof was shown that is not the node's live reservation.
    PROOF_INVALID = 'proof_invalid'
    #: Nobody holds the node, but the operator wants a reservation always.
    RESERVATION_REQUIRED = 'reservation_required'


@dataclasses.dataclass(frozen=True)
class Claim:
    """What a request shows.

    :ivar proof: the uuid of a reservation.
    :ivar vouched_instance: the instance for which a service that is trusted
        in this makes the request; it counts as a proof where the node's
        reservation was made for it.
    """

    proof: str | None = None
    vouched_instance: str | None = None


def admit(claim: Claim, held: facts.Reservation | None,
          now: datetime.datetime, required: bool = False) -> Verdict:
    """Tell what becomes of a request for a node.

    :param held: the reservation on the node's timeline, live or not.
    :param required: whether a free node may be taken only with a
        reservation.
    """
    live = held is not None and held.live(now)
    if claim.proof is not None:
        # NOTE: a stale proof is refused even where the node is free now:
        # whoever shows it believes in a promise that does not hold.
        proven = live and held is not None and held.uuid == claim.proof
        return Verdict.PROVEN if proven else Verdict.PROOF_INVALID
    if live:
        assert held is not None
        vouched = (claim.vouched_instance is not None
                   and claim.vouched_instance == held.instance_uuid)
        return Verdict.PROVEN if vouched else Verdict.PROOF_REQUIRED
    return Verdict.RESERVATION_REQUIRED if required else Verdict.FREE
