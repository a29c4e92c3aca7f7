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
from collections.abc import Iterator
from collections.abc import Mapping
import dataclasses
import datetime
from typing import Any

from ironic_reservations.lifecycle import lease_cycle
from ironic_reservations.model import handovers
from ironic_reservations.model import in_flight
from ironic_reservations.model import mirrored_node
from ironic_reservations.model import node_condition

#: Fields that belong to the instance: Ironic clears them when it undeploys.
_OF_INSTANCE: Mapping[str, Any] = {'instance_info': {}, 'instance_name': None}
#: Fields that other steps restore, or that the lease itself writes.
_OTHERWISE = frozenset(('maintenance', 'maintenance_reason', 'instance_uuid',
                        'lessee'))
#: Fields that follow from another one.
_FOLLOWS = {'protected_reason': 'protected', 'retired_reason': 'retired'}
#: Fields that change nothing on the machine.
_DESCRIPTIONS = frozenset((
    'chassis_uuid', 'description', 'extra', 'instance_info', 'instance_name',
    'name', 'protected', 'protected_reason', 'resource_class'))
#: In these phases the node may not have been cleaned: a process may have died
#: before it sent the request of the phase.
_NOT_CLEANED = (handovers.Phase.LENT, handovers.Phase.MANAGED)
#: Ironic shows this in place of a secret.
_MASKED = '******'
_POWERED_ON = 'power on'
_MAINTENANCE = 'maintenance'
#: Provision targets that make a node unusable for a deploy.
_LEADS_AWAY = frozenset(('manage', 'clean', 'inspect', 'adopt'))
_TARGET_KEYS = ('volume_type', 'volume_id', 'boot_index', 'properties',
                'extra')
_CONNECTOR_KEYS = ('type', 'connector_id', 'extra')


@dataclasses.dataclass(frozen=True)
class Correction:
    """A request to Ironic that restores part of a node.

    :ivar what: the part that is restored, in words.
    :ivar path: the path below the node; with a leading slash, of the API.
    :ivar cleared: the act that needs no other correction after this one.
    :ivar cleans: whether the node must be cleaned after it.
    :ivar needless_if_refused: whether a refusal, unless for a lock, shows that
        nothing needs to be restored.
    :ivar in_use: whether Ironic carries it out fully only on a node that is
        available or deployed.
    """

    what: str
    method: str
    path: str
    body: Any = None
    cleared: str | None = None
    cleans: bool = False
    needless_if_refused: bool = False
    in_use: bool = False

    @property
    def act(self) -> in_flight.Act | None:
        """The act of the ticket for this request.

        A volume needs no ticket: it has a uuid of its own, so a late request
        changes no other volume.
        """
        if self.path.startswith('/'):
            return None
        return (in_flight.Act.CLEAR_MAINTENANCE
                if self.path == _MAINTENANCE else in_flight.Act.PUT_BACK)


@dataclasses.dataclass(frozen=True)
class Next:
    """The next step of a return.

    :ivar act: the step.
    :ivar corrections: requests to send before it; the node is read again
        afterwards.
    :ivar phase: the phase to write before the step.
    :ivar why: why the node cannot be released yet, in words.
    :ivar flag: whether an operator must check the node.
    :ivar until: the latest end of the wait, if known.
    """

    act: lease_cycle.Act
    corrections: tuple[Correction, ...] = ()
    phase: handovers.Phase | None = None
    why: str | None = None
    flag: bool = False
    until: datetime.datetime | None = None


@dataclasses.dataclass(frozen=True)
class Unknown:
    """A value from before the lease that is not known.

    :ivar why: the reason, in words.
    """

    why: str


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
        return Next(lease_cycle.Act.AGAIN, (Correction(
            'maintenance', 'DELETE', _MAINTENANCE),),
            why='is in maintenance')
    if handover.document is not None and _made_anew(handover.document, now):
        # The holder has left traces on the disks only.
        handover = dataclasses.replace(handover, document=None,
                                       acts=frozenset())
    both = tuple(corrections(handover, now))
    found = () if refused is not None else tuple(
        each for each in both if isinstance(each, Correction))
    if node_condition.occupied(node):
        return _occupied(view, handover, found)
    if node.maintenance and _to_clean(handover, found):
        return Next(lease_cycle.Act.WAIT, flag=True,
                    why='is in maintenance, and has to be put back and '
                        'cleaned after it')
    if node_condition.aborts(node) and _led_away(handover):
        return Next(lease_cycle.Act.ABORT
                    if handover.phase is handovers.Phase.LENT
                    else lease_cycle.Act.WAIT,
                    why=node_condition.in_state(node))
    if node_condition.coming(node) or not node_condition.settled(node):
        return Next(lease_cycle.Act.WAIT, why=node_condition.in_state(node))
    if now.node.get('target_power_state'):
        return Next(lease_cycle.Act.WAIT, why='is being powered '
                    f'({now.node["target_power_state"]})')
    if node.provision_state == node_condition.MANAGEABLE:
        return _manageable(handover, node, found)
    if node.provision_state != node_condition.AVAILABLE:
        return _failed(handover, node)
    step = _available(handover, found, () if refused is not None else tuple(
        _vifs_to_detach(handover.document, now)))
    unknown = [each.why for each in both if isinstance(each, Unknown)]
    if refused is not None:
        unknown.append(refused)
    if step.act is lease_cycle.Act.RELEASE and unknown:
        return _impossible(node, '; '.join(unknown))
    return step


def _impossible(node: mirrored_node.Node, why: str) -> Next:
    """Return the step for a node that cannot be restored.

    A node in maintenance is given to nobody, and an operator handles it.

    :param why: the reason, in words.
    """
    if node.maintenance:
        return Next(lease_cycle.Act.RELEASE,
                    why=f'is left in maintenance, not as it was: {why}')
    return Next(lease_cycle.Act.WAIT, flag=True, why=(
        f'cannot be put back as it was before its lease: {why}. Maintenance '
        'of the node lets the lease end, with the node left to the operator'))


def _occupied(view: lease_cycle.AtEnd, handover: handovers.Handover,
              found: Collection[Correction]) -> Next:
    """Return the next step for a node that is deployed or bound."""
    if view.act is lease_cycle.Act.UNDEPLOY:
        first = tuple(each for each in found if each.what == 'protected')
        return Next(view.act, first, handovers.Phase.PROVIDED, view.why,
                    view.flag)
    return Next(view.act, why=view.why, flag=view.flag)


def _manageable(handover: handovers.Handover, node: mirrored_node.Node,
                found: tuple[Correction, ...]) -> Next:
    """Return the next step for a node that is out of use."""
    # An operator works on the node or retires it: Ironic does not make a
    # retired node available.
    stays = (node.retired or handover.phase is handovers.Phase.FAILED
             or (handover.phase is handovers.Phase.LENT
                 and not _led_away(handover)))
    now = tuple(each for each in found if stays or not each.in_use)
    if now:
        return Next(lease_cycle.Act.AGAIN, now, why='is being put back')
    if stays:
        return Next(lease_cycle.Act.RELEASE)
    return Next(lease_cycle.Act.PROVIDE, phase=handovers.Phase.PROVIDED,
                why='is being cleaned')


def _available(handover: handovers.Handover,
               found: tuple[Correction, ...],
               detaching: tuple[Correction, ...]) -> Next:
    """Return the next step for a node that Ironic could deploy.

    :param detaching: the requests to send before the node is out of use.
    """
    if _to_clean(handover, found):
        if detaching:
            return Next(lease_cycle.Act.AGAIN, detaching,
                        why='is being put back')
        return Next(lease_cycle.Act.MANAGE, phase=handovers.Phase.MANAGED,
                    why='is taken out of use to be cleaned')
    if found:
        return Next(lease_cycle.Act.AGAIN, found, why='is being put back')
    return Next(lease_cycle.Act.RELEASE)


def _failed(handover: handovers.Handover,
            node: mirrored_node.Node) -> Next:
    """Return the next step for a node in any other state."""
    failed = node.provision_state == node_condition.CLEAN_FAILED
    if handover.phase in _NOT_CLEANED and node_condition.manages(
            node) and (failed or _led_away(handover)):
        return Next(lease_cycle.Act.MANAGE, phase=handovers.Phase.MANAGED,
                    why=node_condition.in_state(node))
    if failed:
        return Next(lease_cycle.Act.WAIT, phase=handovers.Phase.FAILED,
                    why=node_condition.in_state(node), flag=True)
    return Next(lease_cycle.Act.RELEASE)


def _to_clean(handover: handovers.Handover,
              found: Collection[Correction]) -> bool:
    """Return whether a node must still be cleaned."""
    return (handover.dirty and handover.phase in _NOT_CLEANED
            or any(each.cleans for each in found))


def _led_away(handover: handovers.Handover) -> bool:
    """Return whether the holder of a node has made it undeployable."""
    return not _LEADS_AWAY.isdisjoint(handover.acts)


def _made_anew(lent: handovers.Document, now: handovers.Document) -> bool:
    """Return whether this is a new node with the uuid of a deleted one."""
    return lent.node.get('created_at') != now.node.get('created_at')


def _sets_maintenance(handover: handovers.Handover,
                      now: handovers.Document) -> bool:
    """Return whether the holder of a node has set its maintenance."""
    return (bool(now.node.get('maintenance'))
            and handover.maintains(now.node.get('maintenance_reason')))


def corrections(handover: handovers.Handover,
                now: handovers.Document) -> Iterator[Correction | Unknown]:
    """Return the requests that restore a node, in their order."""
    lent = handover.document
    acts = handover.acts
    if now.node.get('power_state') == _POWERED_ON and (
            lent is None or 'power' in acts
            or lent.node.get('power_state') != _POWERED_ON):
        # Sent alone, since Ironic refuses other changes until the power is
        # off.
        yield Correction('power', 'PUT', 'states/power',
                         {'target': 'power off'})
        return
    if 'vmedia' in acts:
        # The act is recorded even if Ironic then refused it because the driver
        # has no virtual media.
        yield Correction('virtual media', 'DELETE', 'vmedia',
                         cleared='vmedia', needless_if_refused=True)
    if now.node.get('console_enabled') and 'console' in acts and not (
            lent is not None and lent.node.get('console_enabled')):
        yield Correction('console', 'PUT', 'states/console',
                         {'enabled': False})
    patch = [*_of_instance(now),
             *(() if lent is None else _fields(lent, acts, now))]
    for each in patch:
        if isinstance(each, Unknown):
            yield each
            continue
        name = handovers.root(each['path'])
        yield Correction(name, 'PATCH', '', [each],
                         cleans=name not in _DESCRIPTIONS)
    yield from _attached(lent, now)
    if lent is not None:
        yield from _settings(lent, acts, now)


def _of_instance(now: handovers.Document) -> Iterator[dict[str, Any]]:
    for name, empty in _OF_INSTANCE.items():
        if now.node.get(name):
            yield {'op': 'replace', 'path': f'/{name}', 'value': empty}


def _fields(lent: handovers.Document, acts: Collection[str],
            now: handovers.Document) -> Iterator[dict[str, Any] | Unknown]:
    """Return the operations that restore the fields of a node."""
    for pointer in sorted(act for act in acts if act.startswith('/')):
        name = handovers.root(pointer)
        if name in _OTHERWISE or name in _OF_INSTANCE or name in _FOLLOWS:
            continue
        key = _key(pointer)
        before, after = lent.node.get(name), now.node.get(name)
        if before == after:
            continue
        if key is None or not (isinstance(before, Mapping)
                               and isinstance(after, Mapping)):
            yield from _value(f'/{name}', before, after)
        elif before.get(key, _ABSENT) != after.get(key, _ABSENT):
            yield from _part(name, key, before, after)


_ABSENT = object()


def _value(path: str, before: Any,
           after: Any) -> Iterator[dict[str, Any] | Unknown]:
    if _MASKED in str(before):
        yield Unknown(f'its {path[1:]} has a secret, which Ironic does not '
                      'show')
        return
    # Ironic 39 answers 500 where automated_clean is removed.
    yield {'op': 'add' if after is None else 'replace', 'path': path,
           'value': before}


def _part(name: str, key: str, before: Mapping[str, Any],
          after: Mapping[str, Any]) -> Iterator[dict[str, Any] | Unknown]:
    path = f'/{name}/{_escaped(key)}'
    if key not in before:
        yield {'op': 'remove', 'path': path}
        return
    if _MASKED in str(before[key]):
        yield Unknown(f'its {name}/{key} is a secret, which Ironic does not '
                      'show')
        return
    yield {'op': 'replace' if key in after else 'add', 'path': path,
           'value': before[key]}


def _key(pointer: str) -> str | None:
    """Return the key below a field that a JSON pointer names."""
    below = pointer.lstrip('/').split('/')[1:]
    return (below[0].replace('~1', '/').replace('~0', '~') if below
            and below[0] else None)


def _escaped(key: str) -> str:
    return key.replace('~', '~0').replace('/', '~1')


def _attached(lent: handovers.Document | None,
              now: handovers.Document) -> Iterator[Correction]:
    """Return the requests that detach VIFs and volumes, or attach them."""
    yield from _vifs_to_detach(lent, now)
    before = handovers.Document({}) if lent is None else lent
    for vif in sorted(set(before.vifs) - set(now.vifs)):
        yield Correction(f'VIF {vif}', 'POST', 'vifs', {'id': vif})
    for kind, there, here, keys in (
            ('targets', before.targets, now.targets, _TARGET_KEYS),
            ('connectors', before.connectors, now.connectors,
             _CONNECTOR_KEYS)):
        path = f'/v1/volume/{kind}'
        changed = {uuid for uuid in there.keys() & here.keys()
                   if any(there[uuid].get(key) != here[uuid].get(key)
                          for key in keys)}
        for uuid in sorted((here.keys() - there.keys()) | changed):
            yield Correction(f'volume {kind[:-1]} {uuid}', 'DELETE',
                             f'{path}/{uuid}')
        for uuid in sorted((there.keys() - here.keys()) | changed):
            yield Correction(
                f'volume {kind[:-1]} {uuid}', 'POST', path, {
                    'uuid': uuid, 'node_uuid': there[uuid]['node_uuid'],
                    **{key: there[uuid][key] for key in keys
                       if there[uuid].get(key) is not None}})


def _vifs_to_detach(lent: handovers.Document | None,
                    now: handovers.Document) -> Iterator[Correction]:
    """Return the requests that detach the VIFs of a holder.

    Ironic detaches a VIF in any state, but leaves its port bound in Neutron
    unless the node is available or deployed.
    """
    for vif in sorted(set(now.vifs).difference(
            () if lent is None else lent.vifs)):
        yield Correction(f'VIF {vif}', 'DELETE', f'vifs/{vif}', in_use=True)


def _settings(lent: handovers.Document, acts: Collection[str],
              now: handovers.Document) -> Iterator[Correction | Unknown]:
    """Return the requests that restore settings outside the fields."""
    before, after = lent.node, now.node
    for act, name, path in (
            ('boot_mode', 'boot_mode', 'states/boot_mode'),
            ('secure_boot', 'secure_boot', 'states/secure_boot')):
        if act in acts and before.get(name) != after.get(name):
            yield (Correction(name, 'PUT', path, {'target': before[name]})
                   if before.get(name) is not None else
                   Unknown(f'its {name} from before the lease is not known'))
    if 'traits' in acts and (set(before.get('traits') or ())
                             != set(after.get('traits') or ())):
        yield Correction('traits', 'PUT', 'traits', {
            'traits': list(before.get('traits') or ())})
    if after.get('console_enabled') != before.get('console_enabled') and (
            'console' in acts and before.get('console_enabled')):
        yield Correction('console', 'PUT', 'states/console',
                         {'enabled': True})
