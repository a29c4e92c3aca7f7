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

"""What is to be done so that an instance has its node by the node's class.

Instances from before the classes of nodes have VCPU, MEMORY_MB and DISK_GB
allocated, or nothing, so that Placement offers their nodes to flavors that
ask for the class.  Giving the class to the instance takes several writes, and
at no moment between them may anybody else get the node.

NOTE: inventory that is published with reserved equal to total is closed to
the instance, too: Placement lets no usage grow beyond what is not reserved.
So a class is published in one lump of an odd size, that nobody asks for; the
instance gets the lump; the inventory is made 1, of which more than 1 is used
then; and the instance gives back all of the lump but 1.  Whoever finds any
of these states knows what comes next, and the state itself says that it is
ours.

The old classes are reserved, and to be had in that lump only, too.  Reserved
alone is not closed: Placement grants what is beyond the capacity if it is no
more than was used before, and on PostgreSQL it may have read that before the
instance let go of it; an amount that does not divide it refuses first.
"""

from __future__ import annotations

from collections.abc import Mapping
from collections.abc import Sequence
import dataclasses
import enum
from typing import Any

from ironic_reservations.model import facts
from ironic_reservations.model import flavors
from ironic_reservations.model import node_condition

#: How much of a class is published in one piece that cannot be divided.
LUMP = 1_000_003
#: The classes that a node has no more once it has its own.
OLD = frozenset({flavors.VCPU, flavors.PCPU, flavors.MEMORY_MB,
                 flavors.DISK_GB})

Inventory = Mapping[str, Mapping[str, Any]]


class Step(enum.StrEnum):
    """What comes next; each leaves the node closed to everybody else."""

    #: Publish the class in a lump, and leave nothing of the old classes.
    CLOSE = 'close'
    #: Give the lump to the instance, for what it had of the old classes.
    CLAIM = 'claim'
    #: Publish the class as Nova does, and the old ones no more.
    OPEN = 'open'
    #: Leave the instance 1 of the lump.
    SHRINK = 'shrink'
    #: Take from an instance that has its class what it has of the old ones.
    TIDY = 'tidy'
    #: Take the lump from who has the node no more.
    TAKE_BACK = 'take back'


class Reason(enum.StrEnum):
    """Why nothing comes next."""

    #: Nobody has the node.
    FREE = 'free'
    #: The instance has the node by its class.
    IN_ORDER = 'in order'
    #: Ironic knows the node no more.
    GONE = 'gone'
    #: The node has no class that Placement could take.
    NO_CLASS = 'no class'
    #: Placement does not know the node.
    NO_PROVIDER = 'no provider'
    #: The instance is coming or going.
    IN_WORK = 'in work'
    #: Somebody else has allocated something of the node.
    TAKEN = 'taken'
    #: A hold of ours has the node, for a reservation or a lease.
    HELD = 'held'
    #: The instance has allocated something, but of other providers.
    ELSEWHERE = 'elsewhere'
    #: The instance has allocated nothing, and is to be left so.
    UNALLOCATED = 'unallocated'
    #: The instance has the node by another class.
    OTHER_CLASS = 'other class'
    #: What the node offers, or the instance has, is not that of a node.
    ODD = 'odd'


#: The reasons for which nobody has to do anything.
FINE = frozenset({Reason.FREE, Reason.IN_ORDER})


@dataclasses.dataclass(frozen=True)
class Verdict:
    """What comes next for a node, or why nothing does.

    :ivar consumer: from whom the lump is taken back.
    :ivar said: a sentence for people.
    """

    what: Step | Reason
    consumer: str | None = None
    said: str = ''


@dataclasses.dataclass(frozen=True)
class View:
    """A node in Ironic and in Placement.

    :ivar offered: by class; ``None`` where there is no such provider.
    :ivar consumers: who has what of the node.
    :ivar elsewhere: whether the instance has something of other providers.
    :ivar ours: those of the consumers that are holds.
    :ivar skip_unallocated: whether an instance that has nothing is left so.
    """

    node: facts.Node
    offered: Inventory | None
    consumers: Mapping[str, Mapping[str, int]]
    elsewhere: bool = False
    ours: frozenset[str] = frozenset()
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
        if resources.get(name) == LUMP and consumer != node.instance_uuid:
            return Verdict(Step.TAKE_BACK, consumer)
    if not used:
        return Verdict(Step.OPEN if is_lump(offered, name) else Reason.FREE)
    if not node_condition.stays(node):
        return Verdict(Reason.IN_WORK, said=(
            f'The node is in the state {node.provision_state}. Run it again '
            'later.'))
    return _judge_used(view, offered, name)


def _judge_used(view: View, offered: Inventory, name: str) -> Verdict:
    mine = view.consumers.get(view.node.instance_uuid or '', {})
    lump = is_lump(offered, name)
    amount = mine.get(name, 0)
    if amount == LUMP:
        return Verdict(Step.OPEN if lump else Step.SHRINK)
    if amount == 1:
        if mine.keys() & OLD:
            return Verdict(Step.TIDY if _is_closed(offered) else Step.CLOSE)
        if lump or _left_over(view, offered):
            return Verdict(Step.OPEN)
        return _taken(_others_with(view, name)) or Verdict(Reason.IN_ORDER)
    obstacle = _obstacle(view, offered, name, mine)
    if obstacle is not None:
        return Verdict(Step.OPEN) if lump else obstacle
    return Verdict(Step.CLAIM if lump and _is_closed(offered)
                   else Step.CLOSE)


def _obstacle(view: View, offered: Inventory, name: str,
              mine: Mapping[str, int]) -> Verdict | None:
    """Return why an instance that has no class cannot be given it."""
    lump = is_lump(offered, name)
    others = sorted(view.consumers.keys() - {view.node.instance_uuid})
    if mine.get(name):
        return Verdict(Reason.ODD, said=(
            f'The instance has allocated {mine[name]} of {name}, but a node '
            'has 1.'))
    if lump:
        # NOTE: Placement lets in who has asked at the moment when it was
        # closed, now and then.
        others = _others_with(view, name)
    if others and view.ours.issuperset(others):
        return Verdict(Reason.HELD, said=(
            'A reservation or a lease holds the node in Placement. Run it '
            'again when that is over.'))
    if others:
        return _taken(others)
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
    if not lump and name in offered and offered[name]['total'] != 1:
        return Verdict(Reason.ODD, said=(
            f"The provider offers {offered[name]['total']} of {name}, but a "
            'node has 1.'))
    return None


def _others_with(view: View, name: str) -> list[str]:
    """Return the other consumers of the class."""
    return sorted(consumer for consumer, resources in view.consumers.items()
                  if consumer != view.node.instance_uuid
                  and name in resources)


def _taken(others: Sequence[str]) -> Verdict | None:
    return Verdict(Reason.TAKEN, said=(
        f'Others have allocated the node: {", ".join(others)}.')
    ) if others else None


def is_lump(offered: Inventory, name: str) -> bool:
    """Return whether a class is published in a lump."""
    return name in offered and offered[name]['step_size'] == LUMP


def closed(view: View) -> dict[str, dict[str, Any]]:
    """Return the inventory of a node that only a lump gets into."""
    assert view.offered is not None
    name = flavors.class_of_node(view.node.resource_class)
    inventory = {each: dict(offer) for each, offer in view.offered.items()}
    for each in OLD & inventory.keys():
        inventory[each].update(reserved=inventory[each]['total'],
                               min_unit=LUMP, max_unit=LUMP, step_size=LUMP)
    mine = view.consumers.get(view.node.instance_uuid or '', {})
    if not mine.get(name) and not is_lump(view.offered, name):
        # NOTE: Nova reserves what is in use; that comes back with OPEN.
        reserved = inventory.get(name, {}).get('reserved', 0)
        inventory[name] = _offer(LUMP + reserved, reserved, LUMP)
    return inventory


def opened(view: View) -> dict[str, dict[str, Any]]:
    """Return the inventory of a node as Nova publishes it."""
    assert view.offered is not None
    name = flavors.class_of_node(view.node.resource_class)
    inventory = {each: dict(offer) for each, offer in view.offered.items()
                 if each not in _left_over(view, view.offered)}
    for each in OLD & inventory.keys():
        # NOTE: whoever has some of it must be able to have that written anew.
        if is_lump(view.offered, each):
            inventory[each].update(
                min_unit=1, max_unit=inventory[each]['total'], step_size=1)
    if is_lump(view.offered, name):
        inventory[name] = _offer(1, inventory[name]['reserved'], 1)
    return inventory


def allocation(view: View, step: Step,
               resources: Mapping[str, int]) -> dict[str, int]:
    """Return the resources of a consumer on a node after a step.

    :param resources: what it has.
    """
    name = flavors.class_of_node(view.node.resource_class)
    wanted = dict(resources)
    if step in (Step.CLAIM, Step.TIDY):
        wanted = {each: amount for each, amount in wanted.items()
                  if each not in OLD}
    if step is Step.CLAIM:
        wanted[name] = LUMP
    elif step is Step.SHRINK:
        wanted[name] = 1
    elif step is Step.TAKE_BACK:
        wanted.pop(name, None)
    return wanted


def _offer(total: int, reserved: int, unit: int) -> dict[str, Any]:
    return {'total': total, 'reserved': reserved, 'min_unit': unit,
            'max_unit': unit, 'step_size': unit, 'allocation_ratio': 1.0}


def _is_closed(offered: Inventory) -> bool:
    return all(offered[name]['reserved'] == offered[name]['total']
               and is_lump(offered, name) for name in OLD & offered.keys())


def _left_over(view: View, offered: Inventory) -> frozenset[str]:
    """Return the old classes that nobody uses."""
    return frozenset((OLD & offered.keys()).difference(
        *view.consumers.values()))
