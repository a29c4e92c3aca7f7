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

"""The time from the end of a lease to the next start on the same node.

Leases follow each other on the nodes of a real Ironic with fake hardware, with
its automated cleaning and without it. The times are those of our service and
of Ironic: fake hardware is cleaned at once.
"""

from __future__ import annotations

from collections.abc import Iterable
import dataclasses
import datetime
import json
import tempfile
import time
from typing import Any

import requests

from benchmarks import table
from tools import all_in_one
from tools import enrolment

_TIME = '%Y-%m-%d %H:%M'
_HEADERS = {'OpenStack-API-Version': 'baremetal-reservation latest',
            'X-OpenStack-Ironic-API-Version': '1.109'}
_PROOF = 'OpenStack-Baremetal-Reservation'
_POLL = 0.05
#: The seconds that holders have, at least, until the next full minute.
_NEEDED = 30
_LONGEST = 120
_NOTHING, _ACTED, _DEPLOYED, _BOTH = _KINDS = (
    'nothing done to the node', 'fields, a volume and power',
    'deployed', 'deployed, and the same fields')


@dataclasses.dataclass
class _Turn:
    """Two leases of one node, of which one begins when the other ends."""

    kind: str
    node: enrolment.Enrolled
    first: dict[str, Any]
    second: dict[str, Any]
    active: float = 0.0


class _Client:
    def __init__(self, service: all_in_one.AllInOne) -> None:
        self._url = service.url
        self._session = service.session()
        self._session.headers.update(_HEADERS)

    def ask(self, method: str, path: str, body: Any = None,
            proof: str | None = None) -> Any:
        """Send a request that has to succeed; return its document."""
        answer = self._session.request(
            method, self._url + path, json=body, timeout=60,
            headers={} if proof is None else {_PROOF: proof})
        if not answer.ok:
            raise requests.HTTPError(
                f'{method} {path} was answered {answer.status_code}: '
                f'{answer.text[:500]}', response=answer)
        return answer.json() if answer.content else None

    def lease(self, resource_class: str, start: str,
              end: datetime.datetime) -> dict[str, Any]:
        """Lease the only node of a class."""
        made: dict[str, Any] = self.ask('POST', '/v1/leases', {
            'name': f'{resource_class} {start}', 'start_date': start,
            'end_date': end.strftime(_TIME), 'events': [],
            'reservations': [{
                'resource_type': 'physical:host', 'min': 1, 'max': 1,
                'hypervisor_properties': '', 'resource_properties':
                json.dumps(['==', '$resource_class', resource_class])}]}
                )['lease']
        return made

    def wait(self, path: str, key: str, value: Any) -> None:
        """Wait until a node shows a value."""
        deadline = time.monotonic() + _LONGEST
        while self.ask('GET', path)[key] != value:
            if time.monotonic() > deadline:
                raise RuntimeError(f'{path}: {key} did not become {value}')
            time.sleep(_POLL)

    def waiting(self, turn: _Turn) -> str:
        """Return what two leases wait for."""
        found = [each for each in self.ask('GET', '/v1/leases')['leases']
                 if each['id'] in (turn.first['id'], turn.second['id'])]
        return ', '.join(f'{each["status"]} {each["waiting"]}'
                         for each in found)

    def statuses(self) -> dict[str, str]:
        """Return the statuses of all leases, by id."""
        return {each['id']: each['status'] for each in
                self.ask('GET', '/v1/leases')['leases']}


def run(rounds: int, nodes: int) -> None:
    """Measure, and print the table.

    :param rounds: how often, each time at the next full minute.
    :param nodes: how many nodes of each kind change hands at that time.
    """
    rows = []
    for cleans in (False, True):
        with (tempfile.TemporaryDirectory() as folder,
              all_in_one.AllInOne(
                  folder, options={'conductor': {'automated_clean': cleans}},
                  reservations={'leases': {
                      'hosts': 'all', 'project_limits': False}}) as service):
            waited = _measure(_Client(service), service, rounds, nodes)
        rows += [table.Row(
            f'{kind}{", cleaned" if cleans else ""}', each, sum(each))
            for kind, each in waited.items()]
    table.show('From the end of a lease to the next start on its node', rows)


def _measure(client: _Client, service: all_in_one.AllInOne, rounds: int,
             nodes: int) -> dict[str, list[float]]:
    waited: dict[str, list[float]] = {kind: [] for kind in _KINDS}
    classes = {f'class-{kind}-{number}': name
               for kind, name in enumerate(_KINDS) for number in range(nodes)}
    with service.session() as session:
        enrolled = {each: enrolment.enroll(
            session, service.url, 1, resource_class=each, prefix=each)[0]
            for each in classes}
    for node in enrolled.values():
        client.ask('PUT', f'/v1/nodes/{node.uuid}/states/power',
                   {'target': 'power off'})
        client.wait(f'/v1/nodes/{node.uuid}', 'power_state', 'power off')
    while len(client.ask('GET', '/v1/os-hosts')['hosts']) < len(classes):
        time.sleep(_POLL)
    for _ in range(rounds):
        end = _next_minute()
        turns = [_Turn(kind, enrolled[name], client.lease(name, 'now', end),
                       client.lease(name, end.strftime(_TIME), end
                                    + datetime.timedelta(minutes=9)))
                 for name, kind in classes.items()]
        _wait_for(client, [turn.first for turn in turns])
        for turn in turns:
            _use(client, turn)
        time.sleep(max(0.0, (end - _now()).total_seconds()))
        _watch(client, turns)
        for turn in turns:
            waited[turn.kind].append(turn.active - end.timestamp())
            client.ask('DELETE', f'/v1/leases/{turn.second["id"]}')
        while client.statuses():
            for turn in turns:
                if client.statuses().get(turn.first['id']):
                    client.ask('DELETE', f'/v1/leases/{turn.first["id"]}')
            time.sleep(_POLL)
    return waited


def _now() -> datetime.datetime:
    return datetime.datetime.now(datetime.UTC)


def _next_minute() -> datetime.datetime:
    """Return the next full minute that leaves holders their time."""
    soon = _now() + datetime.timedelta(seconds=_NEEDED + 60)
    return soon.replace(second=0, microsecond=0)


def _wait_for(client: _Client, leases: Iterable[dict[str, Any]]) -> None:
    wanted = {each['id'] for each in leases}
    while wanted - {lease_id for lease_id, status in client.statuses().items()
                    if status == 'ACTIVE'}:
        time.sleep(_POLL)


def _use(client: _Client, turn: _Turn) -> None:
    path = f'/v1/nodes/{turn.node.uuid}'
    proof = turn.first['reservations'][0]['id']
    if turn.kind in (_DEPLOYED, _BOTH):
        client.ask('PUT', f'{path}/states/provision', {'target': 'active'},
                   proof)
        client.wait(path, 'provision_state', 'active')
    if turn.kind in (_ACTED, _BOTH):
        client.ask('PATCH', path, [
            {'op': 'add', 'path': f'/{field}', 'value': 'his'}
            for field in ('description', 'extra/his')], proof)
        client.ask('POST', '/v1/volume/targets', {
            'node_uuid': turn.node.uuid, 'volume_type': 'iscsi',
            'volume_id': 'his', 'boot_index': 0}, proof)
    if turn.kind == _ACTED:
        client.ask('PUT', f'{path}/states/power', {'target': 'power on'},
                   proof)


def _watch(client: _Client, turns: list[_Turn]) -> None:
    deadline = time.monotonic() + _LONGEST
    waiting = {turn.second['id']: turn for turn in turns}
    while waiting:
        for lease_id, status in client.statuses().items():
            if status == 'ACTIVE' and lease_id in waiting:
                waiting.pop(lease_id).active = time.time()
        if time.monotonic() > deadline:
            raise RuntimeError('These leases have not started: ' + '; '.join(
                f'{turn.kind}: {client.waiting(turn)}'
                for turn in waiting.values()))
        time.sleep(_POLL)
