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

"""Determines from a node's state whether it can be used.

All code uses this one table. A state is one of Ironic's, or :data:`GONE`; an
unknown state is :attr:`Condition.BROKEN`, so that such a node is not promised.
"""

from __future__ import annotations

import dataclasses
import enum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ironic_reservations.model import mirrored_node

#: The only state in which Ironic deploys or allocates a node.
AVAILABLE = 'available'
#: The state in which Ironic cleans a node; also a condition in the calendar.
CLEANING = 'cleaning'
CLEAN_FAILED = 'clean failed'
#: The state of a node that is out of use, from which Ironic cleans it.
MANAGEABLE = 'manageable'
#: The state in the mirror of a node that was deleted from Ironic, or of a
#: compute host that was deleted from Placement.
GONE = 'gone'
#: Whether a node has a parent: Ironic powers the two together.
PART_OF_NODE = 'part_of_node'
#: The attributes of a node that suspend its reservation, the graver one first.
SUSPENDED = (PART_OF_NODE, 'retired', 'maintenance')


class Condition(enum.Enum):
    """Whether a node can be used."""

    #: The node can be deployed at once.
    USABLE = 'usable'
    #: The node will become usable, or its state will be known, without help.
    TRANSITION = 'in transition'
    #: The node cannot be used until an operator has repaired it.
    BROKEN = 'broken'
    #: The node is deployed, or being deployed.
    DEPLOYED = 'deployed'


@dataclasses.dataclass(frozen=True)
class _State:
    """The meaning of a provision state.

    :ivar undeploys: whether Ironic undeploys a node in this state.
    :ivar held: whether a deploy or service step waits for the user.
    :ivar passing: whether Ironic is at work, and the node is in use
        afterwards.
    :ivar stays: whether an instance on the node stays, as far as is known.
    :ivar works: whether a conductor or the node is doing other work, which
        ends without help.
    :ivar cleans: whether the node is being cleaned.
    :ivar manages: whether Ironic makes a node manageable from here at once.
    :ivar aborts: whether a step of cleaning or inspection waits, and can be
        aborted.
    :ivar lost: whether the state of a node without an instance means that
        its instance is lost. An operator must then make the node usable.
    """

    condition: Condition
    undeploys: bool = False
    held: bool = False
    passing: bool = False
    stays: bool = False
    lost: bool = False
    works: bool = False
    cleans: bool = False
    manages: bool = False
    aborts: bool = False


_TRANSITION = _State(Condition.TRANSITION)
_CLEANED = _State(Condition.TRANSITION, works=True, cleans=True)
_BROKEN = _State(Condition.BROKEN)
_EXAMINED = _State(Condition.BROKEN, works=True)

#: The states in which Ironic waits for its agent on the node.
_AWAITS_AGENT = ('wait call-back', 'rescue wait', 'service wait',
                 'inspect wait')

_STATES: dict[str | None, _State] = {
    AVAILABLE: _State(Condition.USABLE, manages=True),
    # Not read yet, or uncertain until Ironic is read again.
    None: _TRANSITION,
    # On the way to AVAILABLE. A clean step may hold a node until the operator
    # who added the step continues.
    'deleting': _State(Condition.TRANSITION, works=True),
    'deleted': _TRANSITION,
    CLEANING: _CLEANED,
    'clean wait': _CLEANED,
    'clean hold': _State(Condition.TRANSITION, cleans=True, aborts=True),
    # In use. After a failure, the user tries again, or stops using the node.
    'deploying': _State(Condition.DEPLOYED, passing=True),
    'wait call-back': _State(Condition.DEPLOYED, undeploys=True),
    'deploy hold': _State(Condition.DEPLOYED, held=True),
    'deploy failed': _State(Condition.DEPLOYED, undeploys=True),
    'deploy complete': _State(Condition.DEPLOYED, passing=True),
    'active': _State(Condition.DEPLOYED, undeploys=True, stays=True),
    'rescuing': _State(Condition.DEPLOYED, passing=True, stays=True),
    'rescue wait': _State(Condition.DEPLOYED, undeploys=True, stays=True),
    'rescue': _State(Condition.DEPLOYED, undeploys=True, stays=True),
    'rescue failed': _State(Condition.DEPLOYED, undeploys=True, stays=True),
    'unrescuing': _State(Condition.DEPLOYED, passing=True, stays=True),
    'unrescue failed': _State(Condition.DEPLOYED, undeploys=True, stays=True),
    'servicing': _State(Condition.DEPLOYED, passing=True, stays=True),
    'service wait': _State(Condition.DEPLOYED, undeploys=True, stays=True),
    'service hold': _State(Condition.DEPLOYED, held=True, stays=True),
    'service failed': _State(Condition.DEPLOYED, undeploys=True, stays=True),
    # The instance is lost or uncertain; an operator must check.
    'error': _State(Condition.BROKEN, undeploys=True, stays=True, lost=True),
    CLEAN_FAILED: _State(Condition.BROKEN, lost=True, manages=True),
    # An operator must make the node available: MANAGEABLE does not change
    # without help, and the other states lead there, or to a failure. A node
    # that is being adopted cannot be used until that has succeeded.
    'enroll': _State(Condition.BROKEN, lost=True),
    'verifying': _EXAMINED,
    MANAGEABLE: _BROKEN,
    'inspecting': _EXAMINED,
    'inspect wait': _State(Condition.BROKEN, aborts=True),
    'inspect failed': _State(Condition.BROKEN, manages=True),
    'adopting': _State(Condition.BROKEN, passing=True),
    'adopt failed': _State(Condition.BROKEN, manages=True),
    GONE: _BROKEN,
}


#: The states in which a node is occupied, with or without an instance.
OCCUPIED = frozenset(
    name for name, state in _STATES.items() if name is not None
    and (state.undeploys or state.passing
         or state.condition is Condition.DEPLOYED))


#: The states that change before a node can be used again, without help or when
#: its user stops using it.
PASSING = frozenset(
    name for name, state in _STATES.items() if name is not None
    and state.condition in (Condition.TRANSITION, Condition.DEPLOYED))


def of(node: mirrored_node.Node) -> Condition:
    """Return the condition of a node.

    The present user can use a retired node, and one that became a part of
    another; after that it cannot be used.
    """
    if node.compute:
        return (Condition.BROKEN if node.maintenance
                or node.provision_state == GONE else Condition.USABLE)
    found = _state(node.provision_state).condition
    if node.maintenance or found is Condition.BROKEN:
        return Condition.BROKEN
    if found is Condition.USABLE and node.instance_uuid is not None:
        found = Condition.DEPLOYED
    if ((node.retired or node.part_of_node)
            and found is not Condition.DEPLOYED):
        return Condition.BROKEN
    return found


def broken(node: mirrored_node.Node | None) -> str | None:
    """Return the reason why no holder can use a node, in words.

    :param node: ``None`` if the node does not exist.
    :returns: ``None`` if the node can be used.
    """
    if node is None:
        return 'is gone from Ironic'
    if of(node) is not Condition.BROKEN:
        return None
    if node.provision_state == GONE:
        return ('is gone from Placement' if node.compute
                else 'is gone from Ironic')
    if node.maintenance:
        return ('is down or disabled in Nova' if node.compute
                else 'is in maintenance')
    if _state(node.provision_state).condition is Condition.BROKEN:
        return in_state(node)
    return part(node) or 'is retired'


def part(node: mirrored_node.Node) -> str | None:
    """Return that a node is a part of another one, in words.

    :returns: ``None`` if it stands alone.
    """
    return (f'is a part of node {node.parent_node}: reserve that one'
            if node.part_of_node else None)


def waits_for_operator(provision_state: str | None) -> bool:
    """Return whether a state lasts until an operator changes it."""
    return _state(provision_state).condition is Condition.BROKEN


def suspends(node: mirrored_node.Node) -> str | None:
    """Return the attribute that suspends a node's reservation, or ``None``.

    :returns: one of :data:`SUSPENDED`.
    """
    return next((name for name in SUSPENDED if getattr(node, name)), None)


def in_state(node: mirrored_node.Node) -> str:
    """Return the state of a node as the end of a sentence."""
    return f'is in the state {node.provision_state}'


def coming(node: mirrored_node.Node) -> bool:
    """Return whether the state of a node will change without help."""
    return _state(node.provision_state).condition is Condition.TRANSITION


def cleans(node: mirrored_node.Node) -> bool:
    """Return whether a node is being cleaned."""
    return _state(node.provision_state).cleans


def occupied(node: mirrored_node.Node) -> bool:
    """Return whether a node may have an instance on it.

    Maintenance does not remove an instance from a node.
    """
    return (node.instance_uuid is not None
            or node.provision_state in OCCUPIED)


def taken_over(node: mirrored_node.Node | None,
               mirrored: mirrored_node.Node | None) -> bool:
    """Return whether another project has enrolled a node that was gone.

    :param node: the node as Ironic shows it.
    :param mirrored: the node of before, as in the mirror.
    """
    return (node is not None and mirrored is not None
            and mirrored.provision_state == GONE
            and node.owner not in (None, mirrored.owner))


def alike(one: mirrored_node.Node | None,
          other: mirrored_node.Node | None) -> bool:
    """Return whether two views of a node agree on whether it can be used.

    The mirror wakes the waiters of a node when it sees a change, so it must
    have seen the previous state.
    """
    if one is None or other is None:
        return one is other or GONE in (
            each.provision_state for each in (one, other) if each is not None)
    return ((one.provision_state, one.instance_uuid, one.maintenance,
             one.retired, one.parent_node)
            == (other.provision_state, other.instance_uuid, other.maintenance,
                other.retired, other.parent_node))


def idle(node: mirrored_node.Node) -> bool:
    """Return whether a node probably has neither work nor a user."""
    return (node.provision_state in (AVAILABLE, MANAGEABLE)
            and not node.maintenance)


def undeploys(node: mirrored_node.Node) -> bool:
    """Return whether Ironic undeploys a node in its present state."""
    return _state(node.provision_state).undeploys


def held(node: mirrored_node.Node) -> bool:
    """Return whether a deploy or service step on a node waits for the user."""
    return _state(node.provision_state).held


def passing(node: mirrored_node.Node) -> bool:
    """Return whether Ironic is at work on a node that is in use afterwards."""
    return _state(node.provision_state).passing


def settled(node: mirrored_node.Node) -> bool:
    """Return whether the state of a node will stay without a request."""
    state = _state(node.provision_state)
    return not (state.passing or state.works)


def at_work(node: mirrored_node.Node) -> bool:
    """Return whether Ironic or its agent is at work on a node."""
    return (coming(node) or not settled(node)
            or node.provision_state in _AWAITS_AGENT)


def manages(node: mirrored_node.Node) -> bool:
    """Return whether Ironic makes a node manageable from its state."""
    return _state(node.provision_state).manages


def aborts(node: mirrored_node.Node) -> bool:
    """Return whether a step of cleaning or inspection waits on a node."""
    return _state(node.provision_state).aborts


def stays(node: mirrored_node.Node) -> bool:
    """Return whether an instance stays on its node, as far as is known."""
    return _state(node.provision_state).stays


def lost(node: mirrored_node.Node) -> bool:
    """Return whether the instance on a node is lost."""
    return node.instance_uuid is None and _state(node.provision_state).lost


def known() -> frozenset[str | None]:
    """Return all states in the table."""
    return frozenset(_STATES)


def _state(provision_state: str | None) -> _State:
    return _STATES.get(provision_state, _BROKEN)
