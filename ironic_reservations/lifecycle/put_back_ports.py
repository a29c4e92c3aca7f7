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

"""Ports and port groups as they were before their holder changed them."""

from __future__ import annotations

from collections.abc import Iterator
from collections.abc import Mapping
from collections.abc import Sequence
from typing import Any

from ironic_reservations.lifecycle import correction
from ironic_reservations.model import handovers

_Correction = correction.Correction
_Unknown = correction.Unknown
#: The fields that can be written.
PORT_KEYS = ('address', 'available_for_dynamic_portgroup', 'category',
             'description', 'extra', 'is_smartnic', 'local_link_connection',
             'name', 'physical_network', 'portgroup_uuid', 'pxe_enabled',
             'vendor')
GROUP_KEYS = ('address', 'category', 'extra', 'mode', 'name',
              'physical_network', 'properties', 'standalone_ports_supported')
_Objects = Mapping[str, Mapping[str, Any]]


def corrections(lent: handovers.Document,
                now: handovers.Document) -> Iterator[correction.Found]:
    """Return the requests that put ports and their groups back.

    Ironic does not delete a group that has ports, and adds a port only to a
    group that exists.
    """
    if (lent.ports is None or lent.portgroups is None or now.ports is None
            or now.portgroups is None):
        yield _Unknown('its ports from before the lease are not known')
        return
    yield from _created(lent.portgroups, now.portgroups, 'portgroup',
                        GROUP_KEYS)
    yield from _deleted(lent.ports, now.ports, 'port')
    yield from _changed(lent.portgroups, now.portgroups, 'portgroup',
                        GROUP_KEYS)
    yield from _changed(lent.ports, now.ports, 'port', PORT_KEYS)
    yield from _created(lent.ports, now.ports, 'port', PORT_KEYS)
    yield from _deleted(lent.portgroups, now.portgroups, 'portgroup')


def _deleted(there: _Objects, here: _Objects,
             kind: str) -> Iterator[_Correction]:
    for uuid in sorted(here.keys() - there.keys()):
        yield _Correction(f'{kind} {uuid}', 'DELETE', f'/v1/{kind}s/{uuid}',
                          cleans=True)


def _created(there: _Objects, here: _Objects, kind: str,
             keys: Sequence[str]) -> Iterator[_Correction]:
    for uuid in sorted(there.keys() - here.keys()):
        yield _Correction(f'{kind} {uuid}', 'POST', f'/v1/{kind}s', {
            'uuid': uuid, 'node_uuid': there[uuid]['node_uuid'],
            **{key: there[uuid][key] for key in keys
               if there[uuid].get(key) is not None}}, cleans=True)


def _changed(there: _Objects, here: _Objects, kind: str,
             keys: Sequence[str]) -> Iterator[_Correction]:
    for uuid in sorted(there.keys() & here.keys()):
        patch = [_operation(key, there[uuid].get(key), here[uuid].get(key))
                 for key in keys
                 if there[uuid].get(key) != here[uuid].get(key)]
        if patch:
            yield _Correction(f'{kind} {uuid}', 'PATCH',
                              f'/v1/{kind}s/{uuid}', patch, cleans=True)


def _operation(key: str, before: Any, after: Any) -> dict[str, Any]:
    if before is None:
        return {'op': 'remove', 'path': f'/{key}'}
    return {'op': 'add' if after is None else 'replace', 'path': f'/{key}',
            'value': before}
