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

"""Nodes of Ironic and compute hosts of Nova, as they are mirrored."""

from __future__ import annotations

import dataclasses

from ironic_reservations.model import inventories
from ironic_reservations.model import node_condition


@dataclasses.dataclass(frozen=True)
class Node:
    """A node as Ironic last described it, or a compute host of Nova.

    :ivar uuid: canonical, lower case, with hyphens.
    :ivar generation: rises with each change of the node's bookings; a commit
        names the one that was read.
    :ivar reservable: whether the operator allows reservations.
    :ivar properties: its sizes in Ironic: pairs of a name and a value.
    :ivar powered: whether Ironic knows its power state, if that was read; it
        is not mirrored.
    :ivar inventories: of a compute host in Placement: pairs of a class and an
        inventory; ``None`` for a node of Ironic.
    :ivar enrolled_at: when it was enrolled, as Ironic writes it; with another
        time it is another node with the same uuid.
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

    @property
    def compute(self) -> bool:
        """Whether it is a compute host, which instances share."""
        return self.inventories is not None

    def replaces(self, before: Node) -> bool:
        """Return whether this is another node with the uuid of one before.

        :param before: as it was mirrored, perhaps without ``enrolled_at``.
        """
        return (before.enrolled_at is not None
                and self.enrolled_at not in (None, before.enrolled_at))
