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

"""Decides how a node is restored to its state before its holder got it.

Each decision depends only on the handover, the node as Ironic shows it and the
acts of its holder, so a process can die between any two steps.
"""

from __future__ import annotations

from collections.abc import Collection
import dataclasses

from ironic_reservations.lifecycle import correction
from ironic_reservations.lifecycle import lease_cycle
from ironic_reservations.lifecycle import put_back
from ironic_reservations.model import handovers
from ironic_reservations.model import in_flight
from ironic_reservations.model import mirrored_node
from ironic_reservations.model import node_condition

#: NOTE: a process may have died before it sent the request of its phase.
_NOT_CLEANED = (handovers.Phase.LENT, handovers.Phase.MANAGED)
#: The beginning of Ironic's error where it could not change the power or the
#: boot of a machine after it had accepted that.
_FAILED_LATER = 'Failed to change '
#: Provision targets that lead to a state out of use.
_MAKES_UNAVAILABLE = frozenset(('manage', 'clean', 'inspect', 'adopt'))


@dataclasses.dataclass(frozen=True)
class Next(lease_cycle.AtEnd):
    """The next step of a return.

    :ivar corrections: requests to send before it; the node is read again
        afterwards.
    :ivar phase: the phase to write before the step.
    """

    corrections: tuple[correction.Correction, ...] = ()
    phase: handovers.Phase | None = None


def next_step(view: lease_cycle.AtEnd, node: mirrored_node.Node,
              handover: handovers.Handover,
              now: handovers.Document, refused: str | None = None) -> Next:
    """Decide the next step for a node on which its holder has acted.

    :param view: the step for a node that its holder only deployed.
    :param node: the node as Ironic shows it.
    :param now: the whole node as Ironic shows it.
    :param refused: the reason why Ironic refuses a correction, so that the
        node is cleaned without it.
    """
    if refused is None and _sets_maintenance(handover, now):
        return Next(lease_cycle.NoAct.AGAIN, 'is in maintenance', corrections=(
            correction.Correction('maintenance', 'DELETE',
                                  handovers.MAINTENANCE),))
    if handover.document is not None and not handover.document.is_of(
            now.node.get('created_at')):
        # The holder has left traces on the disks only: an act on the new node
        # would have replaced the document.
        handover = dataclasses.replace(handover, document=None,
                                       acts=frozenset())
    both = tuple(put_back.corrections(handover, now))
    found = () if refused is not None else tuple(
        each for each in both if isinstance(each, correction.Correction))
    # Without a reason, the node is out of use and has an instance, which its
    # holder may have bound: it is cleaned with it, and unbound when available.
    if node_condition.occupied(node) and (
            view.act is not lease_cycle.NoAct.RELEASE or view.why is not None):
        return _occupied(view, found)
    lost: tuple[str, ...] = ()
    if handover.phase is handovers.Phase.PROVIDED:
        # NOTE: it was put back and cleaned, and would be so for ever.
        lost = tuple(f'its {each.what} did not stay as it was put back'
                     for each in found if each.cleans)
        found = tuple(each for each in found if not each.cleans)
    if node.maintenance and _to_clean(handover, found):
        return Next(lease_cycle.NoAct.WAIT, 'is in maintenance, and has to be '
                    'put back and cleaned after it', flag=True)
    if node_condition.aborts(node) and _made_unavailable(handover):
        return Next(in_flight.Act.ABORT
                    if handover.phase is handovers.Phase.LENT
                    else lease_cycle.NoAct.WAIT, node_condition.in_state(node))
    if node_condition.coming(node) or not node_condition.settled(node):
        return Next(lease_cycle.NoAct.WAIT, node_condition.in_state(node))
    if now.node.get('target_power_state'):
        return Next(lease_cycle.NoAct.WAIT, 'is being powered '
                    f'({now.node["target_power_state"]})')
    if node.provision_state == node_condition.MANAGEABLE:
        return _manageable(handover, node, found)
    if node.provision_state != node_condition.AVAILABLE:
        return _failed(handover, node)
    step = _available(handover, found, () if refused is not None else tuple(
        put_back.vifs_to_detach(handover.document, now)))
    unknown = [each.why for each in both
               if isinstance(each, correction.Unknown)] + [*lost]
    if refused is not None:
        unknown.append(refused)
    if step.act is lease_cycle.NoAct.RELEASE and unknown:
        return _impossible(node, '; '.join(unknown))
    return step


def _impossible(node: mirrored_node.Node, why: str) -> Next:
    """Return the step for a node that cannot be restored.

    A node in maintenance is given to no holder, and an operator handles it.

    :param why: the reason, in words.
    """
    if node.maintenance:
        return Next(lease_cycle.NoAct.RELEASE,
                    f'is left in maintenance, not as it was: {why}')
    return Next(
        lease_cycle.NoAct.WAIT,
        f'cannot be put back as it was before its lease: {why}. Maintenance '
        'of the node lets the lease end, with the node left to the operator',
        flag=True)


def _occupied(view: lease_cycle.AtEnd,
              found: Collection[correction.Correction]) -> Next:
    """Return the next step for a node that is deployed or bound."""
    if view.act is in_flight.Act.UNDEPLOY:
        first = tuple(each for each in found if each.what == 'protected')
        return Next(view.act, view.why, view.flag, corrections=first,
                    phase=handovers.Phase.UNDEPLOYED)
    return Next(view.act, view.why, view.flag)


def _manageable(handover: handovers.Handover, node: mirrored_node.Node,
                found: tuple[correction.Correction, ...]) -> Next:
    """Return the next step for a node that is out of use."""
    # An operator works on the node or retires it: Ironic does not make a
    # retired node available.
    stays = (node.retired or handover.phase is handovers.Phase.FAILED
             or (handover.phase is handovers.Phase.LENT
                 and not _made_unavailable(handover)))
    now = tuple(each for each in found if stays or not each.in_use)
    if now:
        return Next(lease_cycle.NoAct.AGAIN, 'is being put back',
                    corrections=now)
    if stays:
        return Next(lease_cycle.NoAct.RELEASE)
    return Next(in_flight.Act.PROVIDE, 'is being cleaned',
                phase=handovers.Phase.PROVIDED)


def _available(handover: handovers.Handover,
               found: tuple[correction.Correction, ...],
               detaching: tuple[correction.Correction, ...]) -> Next:
    """Return the next step for a node that Ironic could deploy.

    :param detaching: the requests to send before the node is out of use.
    """
    if _to_clean(handover, found):
        if detaching:
            return Next(lease_cycle.NoAct.AGAIN, 'is being put back',
                        corrections=detaching)
        return Next(in_flight.Act.MANAGE,
                    'is taken out of use to be cleaned',
                    phase=handovers.Phase.MANAGED)
    if found:
        return Next(lease_cycle.NoAct.AGAIN, 'is being put back',
                    corrections=found)
    return Next(lease_cycle.NoAct.RELEASE)


def _failed(handover: handovers.Handover,
            node: mirrored_node.Node) -> Next:
    """Return the next step for a node in a state without another rule."""
    failed = node.provision_state == node_condition.CLEAN_FAILED
    if handover.phase in _NOT_CLEANED and node_condition.manages(
            node) and (failed or _made_unavailable(handover)):
        return Next(in_flight.Act.MANAGE, node_condition.in_state(node),
                    phase=handovers.Phase.MANAGED)
    if failed:
        return Next(lease_cycle.NoAct.WAIT, node_condition.in_state(node),
                    flag=True, phase=handovers.Phase.FAILED)
    return Next(lease_cycle.NoAct.RELEASE)


def _to_clean(handover: handovers.Handover,
              found: Collection[correction.Correction]) -> bool:
    """Return whether a node has yet to be cleaned."""
    return (handover.dirty and handover.phase in _NOT_CLEANED
            or any(each.cleans for each in found))


def failed(found: Collection[correction.Correction],
           now: handovers.Document) -> str | None:
    """Return why Ironic failed after it had accepted a request, in words.

    NOTE: Ironic deletes the error of a request when it accepts another.

    :param found: the corrections that have yet to be made.
    """
    error = str(now.node.get('last_error'))
    return (f'Ironic says "{error}"' if error.startswith(_FAILED_LATER)
            and any(each.later for each in found) else None)


def _made_unavailable(handover: handovers.Handover) -> bool:
    """Return whether an act of the holder may have made a node unavailable."""
    return not _MAKES_UNAVAILABLE.isdisjoint(handover.acts)


def _sets_maintenance(handover: handovers.Handover,
                      now: handovers.Document) -> bool:
    """Return whether the holder of a node has set its maintenance."""
    return (bool(now.node.get('maintenance'))
            and handover.maintains(now.node.get('maintenance_reason')))
