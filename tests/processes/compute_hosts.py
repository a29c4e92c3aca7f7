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


"""A Placement, with the providers that Nova would have made."""

from __future__ import annotations

from collections.abc import Iterable
import pathlib
import random
import threading
from typing import Any
import uuid as uuid_module

import requests

from tools import placement

#: What each compute host has.
CAPACITY = {'VCPU': 16, 'MEMORY_MB': 32768, 'DISK_GB': 200}
_SLOT = 'CUSTOM_IRONIC_SLOT'
_SLOTS = 50
_NAMES = ('compute-0', 'compute-1')
#: Between two claims of Nova, and how long it keeps a node, in seconds: the
#: least and the most.
_PAUSE = (0.1, 1.0)
_KEPT = (0.0, 1.5)


class Placement:
    """A real Placement in a process of its own.

    :ivar hosts: the uuids of the compute hosts, by their names.
    """

    def __init__(self, folder: pathlib.Path) -> None:
        folder.mkdir()
        self._service = placement.Service(folder)
        self._session = placement.session()
        self.hosts: dict[str, str] = {}
        self._known: set[str] = set()

    def __enter__(self) -> Placement:
        self._service.__enter__()
        return self

    def __exit__(self, *failure: object) -> None:
        self._session.close()
        self._service.__exit__(*failure)

    @property
    def url(self) -> str:
        """The root of its API."""
        return self._service.url

    def provide(self, nodes: dict[str, str]) -> None:
        """Make the providers of the nodes and of the compute hosts."""
        for name in sorted(set(nodes.values())):
            placement.provide(self._session, self.url, [
                uuid for uuid, each in nodes.items() if each == name], name)
        self._ask('PUT', f'/resource_classes/{_SLOT}')
        for name in _NAMES:
            uuid = str(uuid_module.uuid4())
            self._ask('POST', '/resource_providers',
                      {'uuid': uuid, 'name': name})
            self._ask('PUT', f'/resource_providers/{uuid}/inventories', {
                'resource_provider_generation': 0, 'inventories': {
                    each: {'total': total, 'reserved': 0, 'min_unit': 1,
                           'max_unit': total, 'step_size': 1,
                           'allocation_ratio': 1.0}
                    for each, total in (*CAPACITY.items(),
                                        (_SLOT, _SLOTS))}})
            self.hosts[name] = uuid
        self._known = {*nodes, *self.hosts.values()}

    def be_nova(self, nodes: dict[str, str], choice: random.Random,
                over: threading.Event) -> None:
        """Claim nodes that look free, and leave them, until the storm ends.
        """
        with placement.session() as session:
            while not over.wait(choice.uniform(*_PAUSE)):
                node, name = choice.choice([*nodes.items()])
                consumer = str(uuid_module.UUID(
                    int=choice.getrandbits(128), version=4))
                path = f'{self.url}/allocations/{consumer}'
                session.put(path, timeout=60, json={
                    'allocations': {node: {'resources': {
                        f'CUSTOM_{name.upper()}': 1}}},
                    'project_id': 'nova', 'user_id': 'nova',
                    'consumer_generation': None, 'consumer_type': 'INSTANCE'})
                over.wait(choice.uniform(*_KEPT))
                while session.delete(path, timeout=60).status_code not in (
                        204, 404):
                    pass

    def seen(self) -> dict[str, Any]:
        """Return what there is besides what :meth:`provide` has made."""
        providers = self._ask('GET', '/resource_providers')[
            'resource_providers']
        return {
            # NOTE: the children of hosts stay, empty.
            'providers': [each['uuid'] for each in providers
                          if each['uuid'] not in self._known
                          and self._offers(each['uuid'])],
            'classes': [each['name'] for each in self._ask(
                'GET', '/resource_classes')['resource_classes']
                if each['name'].startswith('CUSTOM_RESERVATION_')],
            'allocations': dict(self._allocations(
                each['uuid'] for each in providers))}

    def _offers(self, uuid: str) -> bool:
        return bool(self._ask(
            'GET', f'/resource_providers/{uuid}/inventories')['inventories'])

    def _allocations(self, providers: Iterable[str]
                     ) -> Iterable[tuple[str, Any]]:
        for uuid in providers:
            found = self._ask('GET', f'/resource_providers/{uuid}/'
                              'allocations')['allocations']
            if found:
                yield uuid, found

    def _ask(self, method: str, path: str, body: object = None) -> Any:
        answer = self._session.request(method, self.url + path, json=body,
                                       timeout=60)
        if not answer.ok:
            raise requests.HTTPError(
                f'{method} {path} was answered {answer.status_code}: '
                f'{answer.text[:500]}', response=answer)
        return answer.json() if answer.content else None
