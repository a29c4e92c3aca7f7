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

"""Proof by an allocation in Placement.

A server with the class of a lease on the child provider of a node was created
with the private flavor of the lease, which only its project may use.
"""

from __future__ import annotations

import uuid as uuid_module

from ironic_reservations import errors
from ironic_reservations.engine import Engine
from ironic_reservations.features.placement.holds import calls as hold_calls
from ironic_reservations.features.placement.lease_providers import names


def shown(engine: Engine, node_uuid: str, reservation_id: str,
          instance_uuid: str) -> bool:
    """Return whether a server has a node through a lease reservation.

    :param reservation_id: the lease reservation that has the node now.
    :raises ProofUnknown: Placement does not answer.
    """
    try:
        consumer = str(uuid_module.UUID(instance_uuid))
    except ValueError:
        return False
    try:
        there = hold_calls.client(engine).consumer(consumer).allocations
    except errors.PlacementUnavailable as exc:
        raise errors.ProofUnknown(
            f'Node {node_uuid} is leased, the request shows no proof, and '
            'Placement could not tell whether the instance got the node '
            f'through that lease: {exc}', node_uuid=node_uuid) from exc
    return there.get(names.child_of(node_uuid), {}).get(
        names.class_of(reservation_id), 0) > 0
