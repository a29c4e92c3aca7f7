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

"""Reasons why a node cannot be used: codes for programs, texts for people.

Codes are stable; texts may change.
"""

from __future__ import annotations

import dataclasses
import datetime
from typing import Any

NODE_NOT_FOUND = 'node_not_found'
WRONG_STATE = 'wrong_state'
INSTANCE_BOUND = 'instance_bound'
MAINTENANCE = 'maintenance'
RETIRED = 'retired'
PART_OF_NODE = 'part_of_node'
RESERVED = 'reserved'
LEASED = 'leased'
PROMISED = 'promised'
RESERVATION_REQUIRED = 'reservation_required'
BUSY = 'busy'
NOT_RESERVABLE = 'not_reservable'
POWER_UNKNOWN = 'power_unknown'
RESOURCE_CLASS_MISMATCH = 'resource_class_mismatch'
TRAIT_MISSING = 'trait_missing'
TRAIT_FORBIDDEN = 'trait_forbidden'
HELD_ELSEWHERE = 'held_elsewhere'
CLOSED_IN_PLACEMENT = 'closed_in_placement'
NOT_IN_PLACEMENT = 'not_in_placement'

#: The reasons that come from Placement.
OF_PLACEMENT = (HELD_ELSEWHERE, CLOSED_IN_PLACEMENT, NOT_IN_PLACEMENT)


@dataclasses.dataclass(frozen=True)
class Reason:
    """The reason why one node was skipped.

    :ivar code: one of the codes above.
    :ivar text: the rest of a sentence that begins with the node's uuid.
    :ivar until: the time at which the reason ceases to apply, if known.
    :ivar since: the time at which the reason begins to apply, if it is later.
    """

    node_uuid: str
    code: str
    text: str
    until: datetime.datetime | None = None
    since: datetime.datetime | None = None

    def as_dict(self) -> dict[str, Any]:
        """Return the reason for an answer."""
        out: dict[str, Any] = {'node_uuid': self.node_uuid, 'code': self.code,
                               'detail': self.text}
        if self.until is not None:
            out['until'] = self.until.isoformat()
        if self.since is not None:
            out['since'] = self.since.isoformat()
        return out


@dataclasses.dataclass(frozen=True)
class Count:
    """The number of nodes that were skipped for one reason.

    It is used in the refusal of a request by class, which may concern all
    nodes.
    """

    code: str
    nodes: int

    def as_dict(self) -> dict[str, Any]:
        """Return the count for an answer."""
        return {'code': self.code, 'nodes': self.nodes}
