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

"""The mirrored facts of Ironic's nodes and Nova's compute hosts."""

from __future__ import annotations

import dataclasses

from ironic_reservations.model import inventories
from ironic_reservations.model import node_condition


@dataclasses.dataclass(frozen=True)
class Node:
    """A node as Ironic last described it, or a compute host of Nova.

    :ivar uuid: the uuid in canonical form: lower case, with hyphens.
    :ivar generation: increases with each change of the node's bookings; a
        commit names the generation that was read.
    :ivar reservable: whether the operator allows reservations.
    :ivar properties: the sizes in Ironic, as pairs of a name and a value.
    :ivar powered: whether Ironic knows the power state, if that was read; it
        is not mirrored.
    :ivar inventories: the inventories of a compute host in Placement, as pairs
        of a class and an inventory; ``None`` for a node of Ironic.
    :ivar parent_node: the node whose power this one shares; ``None``: it
        stands alone.
    :ivar enrolled_at: the time of the enrolment, as Ironic writes it; a
        different time shows that it is another node with the same uuid.
    """

    uuid: str
    generation: int = 0
    name: str | None = None
    resource_class: str | None = None
    traits: frozenset[str] = frozenset()
    provision_state: str | None = node_condition.AVAILABLE
    instance_uuid: str | None = None
    maintenance: bool = False
    retired: bool = False
    reservable: bool = True
    owner: str | None = None
    lessee: str | None = None
    properties: tuple[tuple[str, str], ...] = ()
    inventories: tuple[tuple[str, inventories.Inventory], ...] | None = None
    powered: bool | None = dataclasses.field(default=None, compare=False)
    enrolled_at: str | None = None
    parent_node: str | None = None

    @property
    def compute(self) -> bool:
        """Whether it is a compute host, which instances share."""
        return self.inventories is not None

    @property
    def part_of_node(self) -> bool:
        """Whether it has a parent, and is not promised on its own."""
        return self.parent_node is not None

    def replaces(self, before: Node) -> bool:
        """Return whether this is a new node with the uuid of a deleted one.

        :param before: the node as it was mirrored, perhaps without
            ``enrolled_at``.
        """
        return (before.enrolled_at is not None
                and self.enrolled_at not in (None, before.enrolled_at))
