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

"""What a node's state means for whoever is, or could be, promised the node.

One table for all who ask.  A state is that of Ironic, or :data:`GONE`; a
state that is not in the table is :attr:`Condition.BROKEN`: nobody is promised
a node of which nobody here knows what it does.
"""

from __future__ import annotations

import dataclasses
import enum
from typing import Protocol

#: The one state in which Ironic gives a node to whoever asks.
AVAILABLE = 'available'
#: The state in which Ironic cleans a node, and what it is then.
CLEANING = 'cleaning'
#: The state that the mirror gives a host which is no more: a node that Ironic
#: has no longer, or a compute host that Placement has no longer.
GONE = 'gone'
#: What keeps a node that is free from whoever has reserved it, the graver
#: first: attributes of a node.
SUSPENDED = ('retired', 'maintenance')


class Condition(enum.Enum):
    """What a node is good for now."""

    #: It can be deployed at once.
    USABLE = 'usable'
    #: It becomes usable, or shows what it is, without anybody's help.
    TRANSITION = 'in transition'
    #: It is of no use to anybody until an operator has done something.
    BROKEN = 'broken'
    #: Somebody has it: it is deployed, or on the way to that.
    DEPLOYED = 'deployed'


@dataclasses.dataclass(frozen=True)
class _State:
    """What a provision state means.

    :ivar undeploys: whether Ironic undeploys a node from it.
    :ivar held: whether whoever deploys keeps the node there until told to go
        on.
    :ivar passing: whether Ironic is at work, after which somebody has the
        node.
    :ivar stays: whether an instance that is there stays, as far as anybody
        knows.
    :ivar works: whether a conductor, or the node, is at work on something
        else, which ends by itself.
    :ivar cleans: whether the node is being cleaned.
    :ivar lost: whether nothing of a tenant is left on a node that has no
        instance, so that only an operator brings it back.
    """

    condition: Condition
    undeploys: bool = False
    held: bool = False
    passing: bool = False
    stays: bool = False
    lost: bool = False
    works: bool = False
    cleans: bool = False


_TRANSITION = _State(Condition.TRANSITION)
_CLEANED = _State(Condition.TRANSITION, works=True, cleans=True)
_BROKEN = _State(Condition.BROKEN)
_EXAMINED = _State(Condition.BROKEN, works=True)

#: In which Ironic waits until its agent on the node reports.
_AWAITS_AGENT = ('wait call-back', 'rescue wait', 'service wait',
                 'inspect wait')

_STATES: dict[str | None, _State] = {
    AVAILABLE: _State(Condition.USABLE),
    # Not read yet, or in doubt: the next look at Ironic tells.
    None: _TRANSITION,
    # On the way to AVAILABLE. NOTE: a clean step may hold a node; whoever
    # put it into the steps lets it go on.
    'deleting': _State(Condition.TRANSITION, works=True),
    'deleted': _TRANSITION,
    CLEANING: _CLEANED,
    'clean wait': _CLEANED,
    'clean hold': _State(Condition.TRANSITION, cleans=True),
    # Had by somebody.  From a failure whoever has the node tries again, or
    # lets go of it.
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
    # What was there is lost or in doubt; an operator has to look.
    'error': _State(Condition.BROKEN, undeploys=True, stays=True, lost=True),
    'clean failed': _State(Condition.BROKEN, lost=True),
    # In the hands of an operator, who alone makes it available again: from
    # MANAGEABLE no node goes on by itself, and the others end there, or in a
    # failure.  What is being adopted is somebody's, and of no use until that
    # has succeeded.
    'enroll': _State(Condition.BROKEN, lost=True),
    'verifying': _EXAMINED,
    'manageable': _BROKEN,
    'inspecting': _EXAMINED,
    'inspect wait': _BROKEN,
    'inspect failed': _BROKEN,
    'adopting': _State(Condition.BROKEN, passing=True),
    'adopt failed': _BROKEN,
    GONE: _BROKEN,
}


#: The states in which a node is occupied, whether it has an instance or not.
OCCUPIED = frozenset(
    name for name, state in _STATES.items() if name is not None
    and (state.undeploys or state.passing
         or state.condition is Condition.DEPLOYED))


class Node(Protocol):
    """A node, as far as its condition depends on it."""

    @property
    def provision_state(self) -> str | None:
        """Return the state in Ironic; ``None``: it is not known."""

    @property
    def instance_uuid(self) -> str | None:
        """Return the instance that is bound to the node."""

    @property
    def maintenance(self) -> bool:
        """Return whether it is in maintenance."""

    @property
    def retired(self) -> bool:
        """Return whether it is not to become available again."""

    @property
    def compute(self) -> bool:
        """Return whether it is a compute host, which has no state."""


def of(node: Node) -> Condition:
    """Return what a node is good for now.

    A node that is retired serves whoever has deployed it, and then nobody.
    """
    if node.compute:
        return (Condition.BROKEN if node.maintenance
                or node.provision_state == GONE else Condition.USABLE)
    found = _state(node.provision_state).condition
    if node.maintenance or found is Condition.BROKEN:
        return Condition.BROKEN
    if found is Condition.USABLE and node.instance_uuid is not None:
        found = Condition.DEPLOYED
    if node.retired and found is not Condition.DEPLOYED:
        return Condition.BROKEN
    return found


def broken(node: Node | None) -> str | None:
    """Return why a node is of no use to anybody, in words, if it is not.

    :param node: ``None``: there is none.
    """
    if node is None:
        return 'is gone from Ironic'
    if of(node) is not Condition.BROKEN:
        return None
    if node.provision_state == GONE:
        return ('is gone from Placement' if node.compute
                else 'is gone from Ironic')
    if node.maintenance:
        return 'is in maintenance'
    if _state(node.provision_state).condition is Condition.BROKEN:
        return in_state(node)
    return 'is retired'


def suspends(node: Node) -> str | None:
    """Return why a node cannot be used by who has reserved it, if it cannot.

    :returns: one of :data:`SUSPENDED`.
    """
    return next((name for name in SUSPENDED if getattr(node, name)), None)


def in_state(node: Node) -> str:
    """Return the state of a node in words."""
    return f'is in the state {node.provision_state}'


def coming(node: Node) -> bool:
    """Check whether a node is in a state that passes by itself."""
    return _state(node.provision_state).condition is Condition.TRANSITION


def cleans(node: Node) -> bool:
    """Check whether a node is being cleaned."""
    return _state(node.provision_state).cleans


def occupied(node: Node) -> bool:
    """Check whether somebody may have something on a node, or an instance.

    NOTE: maintenance takes nothing off a node.
    """
    return (node.instance_uuid is not None
            or node.provision_state in OCCUPIED)


def undeploys(node: Node) -> bool:
    """Check whether Ironic undeploys a node from the state that it is in."""
    return _state(node.provision_state).undeploys


def held(node: Node) -> bool:
    """Check whether a deployment or a service step keeps a node waiting."""
    return _state(node.provision_state).held


def passing(node: Node) -> bool:
    """Check whether Ironic is at work on a node that somebody has then."""
    return _state(node.provision_state).passing


def settled(node: Node) -> bool:
    """Check whether a node stays in its state until somebody does something.
    """
    state = _state(node.provision_state)
    return not (state.passing or state.works)


def at_work(node: Node) -> bool:
    """Check whether Ironic, or its agent, is in the middle of something."""
    return (coming(node) or not settled(node)
            or node.provision_state in _AWAITS_AGENT)


def stays(node: Node) -> bool:
    """Check whether an instance stays where it is, as far as one can tell."""
    return _state(node.provision_state).stays


def lost(node: Node) -> bool:
    """Check whether what a tenant had on a node is gone, and the node with it.
    """
    return node.instance_uuid is None and _state(node.provision_state).lost


def known() -> frozenset[str | None]:
    """Return every state of the table."""
    return frozenset(_STATES)


def _state(provision_state: str | None) -> _State:
    return _STATES.get(provision_state, _BROKEN)
