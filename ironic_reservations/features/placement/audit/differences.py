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

"""The differences between Placement, Nova and our rows."""

from __future__ import annotations

import dataclasses
import enum


class Kind(enum.StrEnum):
    """The kinds of differences."""

    #: A node is not held although a hold has a row.
    HOLD_MISSING = 'hold_missing'
    #: The hold differs from its row, or is of a former class of the node.
    HOLD_DIFFERS = 'hold_differs'
    #: The node is promised, but neither held nor used by its instance.
    UNHELD = 'unheld'
    #: A hold of ours without a row.
    ORPHAN = 'orphan'
    #: The usage exceeds the inventory.
    OVERALLOCATED = 'overallocated'
    #: There is usage without a consumer.
    GHOST = 'ghost'
    #: The node has no provider.
    PROVIDER_MISSING = 'provider_missing'
    #: A deleted node still has a provider.
    PROVIDER_LEFTOVER = 'provider_leftover'
    #: A lease of instances has no inventory on a host in Placement.
    RESERVATION_MISSING = 'reservation_missing'
    #: The inventory of a lease of instances has another size.
    RESERVATION_DIFFERS = 'reservation_differs'
    #: The inventories of a host are below another provider.
    RESERVATION_MISPLACED = 'reservation_misplaced'
    #: A lease that is over still has an inventory.
    RESERVATION_LEFTOVER = 'reservation_leftover'
    #: An active lease has no private flavor in Nova.
    FLAVOR_MISSING = 'flavor_missing'
    #: A server uses more of a compute host than Placement counts.
    UNCOUNTED = 'uncounted'
    #: A migration that has failed still has allocations.
    FAILED_MIGRATION = 'failed_migration'


@dataclasses.dataclass(frozen=True, order=True)
class Difference:
    """A difference.

    :ivar node_uuid: the node; empty if it is not about a node.
    :ivar detail: a sentence for operators.
    :ivar reservation_id: of the lease of instances that it is about.
    :ivar shared: whether it is about a compute host.
    :ivar resource_class: the class, if it is about one.
    """

    kind: Kind
    node_uuid: str
    consumer_uuid: str | None = None
    detail: str = dataclasses.field(default='', compare=False)
    reservation_id: str = ''
    shared: bool = False
    resource_class: str = ''
