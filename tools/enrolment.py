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


"""Nodes of fake hardware, enrolled and made available in no time."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent import futures
import dataclasses

import requests

# NOTE: up to 1.10 a new node is born available; from 1.11 on it is in
# ``enroll``, and each one waits for the conductor twice on its way.
_BORN_AVAILABLE = '1.10'
_WITH_TRAITS = '1.37'
_VERSION = 'X-OpenStack-Ironic-API-Version'


@dataclasses.dataclass(frozen=True)
class Enrolled:
    """A node as it was enrolled."""

    uuid: str
    name: str


def enroll(session: requests.Session, url: str, count: int, *,
           resource_class: str | None = 'baremetal',
           traits: Sequence[str] = (), prefix: str = 'node',
           first: int = 0, workers: int = 1,
           **fields: object) -> list[Enrolled]:
    """Create nodes that are available at once.

    :param session: the credentials to ask with.
    :param url: the root of Ironic's API.
    :param count: how many nodes.
    :param resource_class: the class of each.
    :param traits: the traits of each.
    :param prefix: what the names begin with; a number follows.
    :param first: the number of the first one.
    :param workers: how many requests are under way at a time; on SQLite
        more than one makes Ironic answer ``database is locked``.
    :param fields: more of the node to set, as in ``PATCH /v1/nodes``.
    :raises requests.HTTPError: Ironic refused one of them.
    """
    wanted = {'resource_class': resource_class, **fields}
    patch = [{'op': 'add', 'path': f'/{field}', 'value': value}
             for field, value in wanted.items() if value is not None]

    def one(number: int) -> Enrolled:
        name = f'{prefix}-{number}'
        created = _ask(session, 'POST', f'{url}/v1/nodes', _BORN_AVAILABLE,
                       {'driver': 'fake-hardware', 'name': name})
        node = Enrolled(created.json()['uuid'], name)
        if patch:
            _ask(session, 'PATCH', f'{url}/v1/nodes/{node.uuid}',
                 'latest', patch)
        if traits:
            _ask(session, 'PUT', f'{url}/v1/nodes/{node.uuid}/traits',
                 _WITH_TRAITS, {'traits': list(traits)})
        return node

    with futures.ThreadPoolExecutor(workers) as pool:
        return list(pool.map(one, range(first, first + count)))


def _ask(session: requests.Session, method: str, url: str, version: str,
         body: object) -> requests.Response:
    answer = session.request(method, url, json=body, timeout=60,
                             headers={_VERSION: version})
    if not answer.ok:
        raise requests.HTTPError(
            f'{method} {url} was answered {answer.status_code}: '
            f'{answer.text[:500]}', response=answer)
    return answer
