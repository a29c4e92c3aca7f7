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

"""Decides on the steps that give an instance the class of its node.

Instances that are older than the class of their node have allocated VCPU,
MEMORY_MB and DISK_GB, or nothing, so that Placement offers their nodes to
flavors with the class. Giving the class to the instance changes the inventory
of the node and the allocations of the instance. No other consumer must get the
node in between, so both are changed in one write, by Placement's reshaper.
"""

from __future__ import annotations

from collections.abc import Mapping
from collections.abc import Sequence
from collections.abc import Set
import dataclasses
import enum
from typing import Any

from ironic_reservations.model import flavors
from ironic_reservations.model import mirrored_node
from ironic_reservations.model import node_condition

#: The classes that a node no longer has after it has got its own.
OLD = frozenset({flavors.VCPU, flavors.PCPU, flavors.MEMORY_MB,
                 flavors.DISK_GB})

Inventory = Mapping[str, Mapping[str, Any]]


class Step(enum.StrEnum):
    """The next step; after each, the node is closed to other consumers."""

    #: Give the class to the instance instead of the old ones, and publish the
    #: class as Nova does, without the old ones.
    RESHAPE = 'reshape'
    #: Publish the class as Nova does, without the old ones.
    OPEN = 'open'
    #: Remove the class from an instance that has left the node meanwhile.
    REMOVE = 'take back'


class Reason(enum.StrEnum):
    """The reason for which there is no next step."""

    #: The node has no instance.
    FREE = 'free'
    #: The instance has allocated the class of the node.
    IN_ORDER = 'in order'
    #: The node has been deleted from Ironic.
    GONE = 'gone'
    #: The node has no class that is valid in Placement.
    NO_CLASS = 'no class'
    #: Placement does not know the node.
    NO_PROVIDER = 'no provider'
    #: The instance is being deployed or deleted.
    IN_WORK = 'in work'
    #: Another consumer has an allocation on the node.
    TAKEN = 'taken'
    #: The node is held for a reservation or a lease.
    HELD = 'held'
    #: The instance has allocations on other providers only.
    ELSEWHERE = 'elsewhere'
    #: The instance has no allocations, and such instances are skipped.
    UNALLOCATED = 'unallocated'
    #: The instance has allocated another class of the node.
    OTHER_CLASS = 'other class'
    #: The inventory or the allocation is not that of a node.
    ODD = 'odd'


#: The reasons that need no attention.
FINE = frozenset({Reason.FREE, Reason.IN_ORDER})


@dataclasses.dataclass(frozen=True)
class Verdict:
    """The next step for a node, or the reason for none.

    :ivar consumer: the consumer from which the class is removed.
    :ivar said: a sentence for operators.
    """

    what: Step | Reason
    consumer: str | None = None
    said: str = ''


@dataclasses.dataclass(frozen=True)
class View:
    """A node in Ironic and in Placement.

    :ivar offered: inventories by class; ``None`` if there is no provider.
    :ivar consumers: resources by consumer of the node.
    :ivar elsewhere: whether the instance has allocations on other providers.
    :ivar ours: the consumers that are holds.
    :ivar given: the consumers that had no allocations until they were given
        the class.
    :ivar skip_unallocated: whether instances without allocations are skipped.
    """

    node: mirrored_node.Node
    offered: Inventory | None
    consumers: Mapping[str, Mapping[str, int]]
    elsewhere: bool = False
    ours: frozenset[str] = frozenset()
    given: frozenset[str] = frozenset()
    skip_unallocated: bool = False


def judge(view: View) -> Verdict:
    """Return the next step for a node."""
    node, offered = view.node, view.offered
    used = node.instance_uuid is not None
    try:
        name = flavors.class_of_node(node.resource_class)
    except ValueError as exc:
        return Verdict(Reason.NO_CLASS if used else Reason.FREE,
                       said=str(exc))
    if offered is None:
        return Verdict(Reason.NO_PROVIDER if used else Reason.FREE, said=(
            'Placement has no provider for the node. Nova creates it.'))
    for consumer, resources in sorted(view.consumers.items()):
        if (consumer != node.instance_uuid and consumer in view.given
                and name in resources):
            return Verdict(Step.REMOVE, consumer)
    if not used:
        return Verdict(Step.OPEN if is_passing(offered, name)
                       else Reason.FREE)
    if not node_condition.stays(node):
        return Verdict(Reason.IN_WORK, said=(
            f'The node is in the state {node.provision_state}. Run it again '
            'later.'))
    return _judge_used(view, offered, name)


def _judge_used(view: View, offered: Inventory, name: str) -> Verdict:
    mine = view.consumers.get(view.node.instance_uuid or '', {})
    amount = mine.get(name, 0)
    if amount == 1:
        others = _left_to(view, _others_with(view, {name, *OLD}))
        if others is not None:
            return others
        if mine.keys() & OLD:
            return Verdict(Step.RESHAPE)
        if published(view) != offered:
            return Verdict(Step.OPEN)
        return Verdict(Reason.IN_ORDER)
    return _obstacle(view, offered, name, mine) or Verdict(Step.RESHAPE)


def _obstacle(view: View, offered: Inventory, name: str,
              mine: Mapping[str, int]) -> Verdict | None:
    """Return the obstacle to giving the class to an instance."""
    others = sorted(view.consumers.keys() - {view.node.instance_uuid})
    if mine.get(name):
        return Verdict(Reason.ODD, said=(
            f'The instance has allocated {mine[name]} of {name}, but a node '
            'has 1.'))
    left = _left_to(view, others)
    if left is not None:
        return left
    if not mine and view.elsewhere:
        return Verdict(Reason.ELSEWHERE, said=(
            'The instance has allocated other providers, but not its own '
            'node.'))
    if not mine and view.skip_unallocated:
        return Verdict(Reason.UNALLOCATED,
                       said='The instance has allocated nothing.')
    if mine and not mine.keys() & OLD:
        return Verdict(Reason.OTHER_CLASS, said=(
            f"The instance has allocated {', '.join(sorted(mine))}, but not "
            f'{name}. Check whether the resource_class of the node was '
            'changed.'))
    if name in offered and (
            offered[name]['total'] > 1 + offered[name]['reserved']):
        return Verdict(Reason.ODD, said=(
            f"The provider offers {offered[name]['total']} of {name}, but a "
            'node has 1.'))
    return None


def _others_with(view: View, names: Set[str]) -> list[str]:
    """Return the consumers besides the instance with any of the classes.
    """
    return sorted(consumer for consumer, resources in view.consumers.items()
                  if consumer != view.node.instance_uuid
                  and names & resources.keys())


def _left_to(view: View, others: Sequence[str]) -> Verdict | None:
    """Return the reason for not changing a node with other consumers."""
    if not others:
        return None
    if view.ours.issuperset(others):
        return Verdict(Reason.HELD, said=(
            'A reservation or a lease holds the node in Placement. Run it '
            'again when that is over.'))
    return Verdict(Reason.TAKEN, said=(
        f'Others have allocated the node: {", ".join(others)}.'))


def is_passing(offered: Inventory, name: str) -> bool:
    """Return whether the inventory of a class is in the middle of a change."""
    return (name in offered and offered[name]['reserved'] > 0
            and offered[name]['total'] == 1 + offered[name]['reserved'])


def published(view: View, given_back: bool = False
              ) -> dict[str, dict[str, Any]]:
    """Return the inventory of a node as Nova publishes it.

    Old classes stay as long as a consumer has some of them.

    :param given_back: ignore the old classes in the allocation of the
        instance.
    """
    assert view.offered is not None
    name = flavors.class_of_node(view.node.resource_class)
    unused = OLD.difference(*(
        resources for consumer, resources in view.consumers.items()
        if not given_back or consumer != view.node.instance_uuid))
    inventory = {each: dict(offer) for each, offer in view.offered.items()
                 if each not in unused}
    if is_passing(view.offered, name):
        inventory[name] = _offer(1, inventory[name]['reserved'])
    return inventory


def reshaped(view: View) -> dict[str, dict[str, Any]]:
    """Return the inventory of a node whose instance is given the class."""
    inventory = published(view, given_back=True)
    name = flavors.class_of_node(view.node.resource_class)
    if not view.consumers.get(view.node.instance_uuid or '', {}).get(name):
        # NOTE: Nova reserves the class of a node in use, and Placement grants
        # only the rest. So the total is 1 more until the next step.
        reserved = inventory.get(name, {}).get('reserved', 0)
        inventory[name] = _offer(1 + reserved, reserved)
    return inventory


def allocation(view: View, step: Step,
               resources: Mapping[str, int]) -> dict[str, int]:
    """Return the resources of a consumer on a node after a step.

    :param resources: before the step.
    """
    name = flavors.class_of_node(view.node.resource_class)
    if step is Step.REMOVE:
        return {each: amount for each, amount in resources.items()
                if each != name}
    return {name: 1, **{each: amount for each, amount in resources.items()
                        if each != name and each not in OLD}}


def _offer(total: int, reserved: int) -> dict[str, Any]:
    return {'total': total, 'reserved': reserved, 'min_unit': 1,
            'max_unit': 1, 'step_size': 1, 'allocation_ratio': 1.0}
