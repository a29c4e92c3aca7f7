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

"""The values of a node to put back, and the requests to Ironic for them."""

from __future__ import annotations

from collections.abc import Collection
from collections.abc import Iterator
from collections.abc import Mapping
from typing import Any

from ironic_reservations.lifecycle import correction
from ironic_reservations.lifecycle import put_back_ports
from ironic_reservations.model import handovers

_Correction = correction.Correction
_Unknown = correction.Unknown
#: Fields that belong to the instance: Ironic clears them when it undeploys.
_OF_INSTANCE: Mapping[str, Any] = {'instance_info': {}, 'instance_name': None}
#: Fields that are put back by other steps, or that the lease itself writes.
_OTHERWISE = frozenset(('maintenance', 'maintenance_reason', 'instance_uuid',
                        'lessee'))
#: Fields that follow from another one.
_FOLLOWS = {'protected_reason': 'protected', 'retired_reason': 'retired'}
#: Fields that Ironic 39 refuses to write as they are when they are empty. It
#: answers 500 where a description is set to null.
_ONLY_REMOVED = frozenset(('/network_data',))
#: It answers 500 where this field is removed.
_NEVER_REMOVED = '/automated_clean'
#: Fields that change nothing on the machine.
_DESCRIPTIONS = frozenset((
    'chassis_uuid', 'description', 'extra', 'instance_info', 'instance_name',
    'name', 'protected', 'protected_reason', 'resource_class'))
#: Ironic shows this instead of a secret.
_MASKED = '******'
_POWERED_ON = 'power on'
#: Fields that an inspection writes, which the holder can have begun.
_INSPECTED = frozenset(('/properties', 'ports'))
_INSPECT = 'inspect'
#: Acts on ports and their groups.
_PORTS = frozenset(('port', 'portgroups', 'ports'))
#: Acts on volume targets and connectors.
_VOLUMES = 'volume'
_RAID = 'target_raid_config'
#: Settings of a machine that steps of a holder can have changed, in words.
_STEPPED = {'bios': 'BIOS settings', 'firmware': 'firmware'}
_TARGET_KEYS = ('volume_type', 'volume_id', 'boot_index', 'properties',
                'extra')
_CONNECTOR_KEYS = ('type', 'connector_id', 'extra')


def corrections(handover: handovers.Handover,
                now: handovers.Document) -> Iterator[correction.Found]:
    """Return the requests that put a node back, in their order."""
    lent = handover.document
    acts = handover.acts
    if now.node.get('power_state') == _POWERED_ON and (
            lent is None or 'power' in acts
            or lent.node.get('power_state') != _POWERED_ON):
        # NOTE: alone, since Ironic refuses other changes until it is off.
        yield _Correction('power', 'PUT', 'states/power',
                          {'target': 'power off'}, later=True)
        return
    if 'vmedia' in acts:
        # NOTE: the act is written down also if Ironic then refused it, since
        # the driver has no virtual media.
        yield _Correction('virtual media', 'DELETE', 'vmedia',
                          cleared='vmedia', needless_if_refused=True)
    if now.node.get('console_enabled') and 'console' in acts and not (
            lent is not None and lent.node.get('console_enabled')):
        yield _Correction('console', 'PUT', 'states/console',
                          {'enabled': False})
    if _INSPECT in acts:
        acts = acts | _INSPECTED
    patch = [*_of_instance(now),
             *(() if lent is None else _fields(lent, acts, now))]
    for each in patch:
        if isinstance(each, _Unknown):
            yield each
            continue
        name = handovers.root(each['path'])
        yield _Correction(name, 'PATCH', '', [each],
                          cleans=name not in _DESCRIPTIONS)
    yield from vifs_to_detach(lent, now)
    if lent is not None and not _PORTS.isdisjoint(acts):
        yield from put_back_ports.corrections(lent, now)
    if lent is not None or _VOLUMES in acts:
        yield from _attached(lent, now)
    if lent is not None:
        yield from _settings(lent, acts, now)
        yield from _of_machine(lent, acts, now)


def _of_instance(now: handovers.Document) -> Iterator[dict[str, Any]]:
    for name, empty in _OF_INSTANCE.items():
        if now.node.get(name):
            yield {'op': 'replace', 'path': f'/{name}', 'value': empty}


def _fields(lent: handovers.Document, acts: Collection[str],
            now: handovers.Document) -> Iterator[dict[str, Any] | _Unknown]:
    """Return the operations that put the fields of a node back."""
    for pointer in sorted(act for act in acts if act.startswith('/')):
        name = handovers.root(pointer)
        if name in _OTHERWISE or name in _OF_INSTANCE or name in _FOLLOWS:
            continue
        key = _key(pointer)
        before, after = lent.node.get(name), now.node.get(name)
        if before == after or before is None and after == {}:
            continue
        if key is None or not (isinstance(before, Mapping)
                               and isinstance(after, Mapping)):
            yield from _value(f'/{name}', before, after)
        elif before.get(key, _ABSENT) != after.get(key, _ABSENT):
            yield from _part(name, key, before, after)


_ABSENT = object()


def _value(path: str, before: Any,
           after: Any) -> Iterator[dict[str, Any] | _Unknown]:
    if _MASKED in str(before):
        yield _Unknown(f'its {path[1:]} has a secret, which Ironic does not '
                       'show')
        return
    if (path != _NEVER_REMOVED if before is None
            else before == {} and path in _ONLY_REMOVED):
        yield {'op': 'remove', 'path': path}
        return
    yield {'op': 'add' if after is None else 'replace', 'path': path,
           'value': before}


def _part(name: str, key: str, before: Mapping[str, Any],
          after: Mapping[str, Any]) -> Iterator[dict[str, Any] | _Unknown]:
    path = f'/{name}/{_escaped(key)}'
    if key not in before:
        yield {'op': 'remove', 'path': path}
        return
    if _MASKED in str(before[key]):
        yield _Unknown(f'its {name}/{key} is a secret, which Ironic does not '
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
              now: handovers.Document) -> Iterator[_Correction]:
    """Return the requests that restore the VIFs and the volumes of a node."""
    before = handovers.Document({}) if lent is None else lent
    for vif in sorted(set(before.vifs) - set(now.vifs)):
        yield _Correction(f'VIF {vif}', 'POST', 'vifs', {'id': vif})
    for kind, there, here, keys in (
            ('targets', before.targets, now.targets, _TARGET_KEYS),
            ('connectors', before.connectors, now.connectors,
             _CONNECTOR_KEYS)):
        path = f'/v1/volume/{kind}'
        changed = {uuid for uuid in there.keys() & here.keys()
                   if any(there[uuid].get(key) != here[uuid].get(key)
                          for key in keys)}
        for uuid in sorted((here.keys() - there.keys()) | changed):
            yield _Correction(f'volume {kind[:-1]} {uuid}', 'DELETE',
                              f'{path}/{uuid}')
        for uuid in sorted((there.keys() - here.keys()) | changed):
            yield _Correction(
                f'volume {kind[:-1]} {uuid}', 'POST', path, {
                    'uuid': uuid, 'node_uuid': there[uuid]['node_uuid'],
                    **{key: there[uuid][key] for key in keys
                       if there[uuid].get(key) is not None}})


def vifs_to_detach(lent: handovers.Document | None,
                   now: handovers.Document) -> Iterator[_Correction]:
    """Return the requests that detach the VIFs of a holder.

    NOTE: Ironic detaches a VIF in any state, but its port remains bound in
    Neutron unless the node is available or deployed.
    """
    for vif in sorted(set(now.vifs).difference(
            () if lent is None else lent.vifs)):
        yield _Correction(f'VIF {vif}', 'DELETE', f'vifs/{vif}', in_use=True)


def _settings(lent: handovers.Document, acts: Collection[str],
              now: handovers.Document) -> Iterator[correction.Found]:
    """Return the requests that restore settings that are not fields."""
    before, after = lent.node, now.node
    for name in ('boot_mode', 'secure_boot'):
        if name in acts and before.get(name) != after.get(name):
            yield (_Correction(name, 'PUT', f'states/{name}',
                               {'target': before[name]}, later=True)
                   if before.get(name) is not None else
                   _Unknown(f'its {name} from before the lease is not known'))
    if 'traits' in acts and (set(before.get('traits') or ())
                             != set(after.get('traits') or ())):
        yield _Correction('traits', 'PUT', 'traits', {
            'traits': list(before.get('traits') or ())})
    if after.get('console_enabled') != before.get('console_enabled') and (
            'console' in acts and before.get('console_enabled')):
        yield _Correction('console', 'PUT', 'states/console',
                          {'enabled': True})
    if 'raid' in acts and (before.get(_RAID) or {}) != (after.get(_RAID)
                                                        or {}):
        yield _Correction('target RAID configuration', 'PUT', 'states/raid',
                          before.get(_RAID) or {})


def _of_machine(lent: handovers.Document, acts: Collection[str],
                now: handovers.Document) -> Iterator[correction.Found]:
    """Return the requests that restore settings stored in the machine."""
    name = handovers.BOOT_DEVICE
    if name in acts:
        before = lent.parts.get(name)
        if before is None:
            yield _Unknown('its boot device from before the lease is not '
                           'known')
        elif before != now.parts.get(name):
            # NOTE: Ironic sets it again itself whenever it cleans or deploys.
            yield _Correction('boot device', 'PUT', f'management/{name}', {
                key: before[key] for key in ('boot_device', 'persistent')
                if before.get(key) is not None}, cleared=name)
    if handovers.STEPS in acts:
        if lent.node.get('raid_config') != now.node.get('raid_config'):
            yield _Unknown('steps of its holder have changed its RAID')
        for name, words in _STEPPED.items():
            if lent.parts.get(name) != now.parts.get(name):
                yield _Unknown(f'steps of its holder have changed its {words}')
            elif (not now.parts.get(name)
                  and handovers.steps_of(name) in acts):
                yield _Unknown('steps of its holder may have changed its '
                               f'{words}, which Ironic does not show')
    if handovers.UNKNOWN_STEPS in acts:
        yield _Unknown('steps of its holder may have changed anything of it')
    if 'vendor_passthru' in acts:
        yield _Unknown('a vendor passthru of its holder may have changed '
                       'anything of it')
