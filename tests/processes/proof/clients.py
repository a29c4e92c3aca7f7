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

"""A process full of clients: ``python -m tests.processes.proof.clients``.

Reads what to do from its standard input, as JSON, and writes a record of each
request to its standard output.  Needs the standard library alone, so that
eight of these start in no time.
"""

from __future__ import annotations

from concurrent import futures
import dataclasses
import http.client
import json
import random
import sys
import threading
import time
from typing import Any
import uuid

from tests.processes.proof import records

_HEADERS = {'Content-Type': 'application/json', 'Accept': 'application/json',
            # NOTE: a new connection for each, so that the kernel spreads
            # them over the processes, and none is cut off when idle.
            'Connection': 'close',
            'OpenStack-API-Version': 'baremetal-reservation 1.4'}
_TIMEOUT = 60
#: A call that breaks is made again for so long.
_PATIENCE = 60
#: How long, in seconds, a reservation lasts; the longest, renewed.
_TTLS = (1, 3, 6, 12)
_RENEWED_FOR = 24


@dataclasses.dataclass(frozen=True)
class Task:
    """What the clients of a process do.

    :ivar ports: where the API is; a client stays with its own.
    :ivar nodes: from which each draws its lists.
    :ivar clients: how many.
    :ivar rounds: how many reservations each one tries for.
    :ivar seed: of all the choices.
    """

    ports: list[int]
    nodes: list[str]
    clients: int
    rounds: int
    seed: str


class Client:
    """One client, at one request at a time."""

    def __init__(self, task: Task, number: int, lock: threading.Lock) -> None:
        self._task = task
        self._name = f'{task.seed}-{number}'
        self._port = task.ports[number % len(task.ports)]
        # NOTE: choices have to be repeatable, not unguessable.
        self._random = random.Random(self._name)
        self._lock = lock

    def run(self) -> None:
        """Reserve, use and give back; the last time, keep."""
        for number in range(self._task.rounds):
            time.sleep(self._random.uniform(0, 0.1))
            self._one_round(last=number == self._task.rounds - 1)

    def _one_round(self, last: bool) -> None:
        order = self._random.sample(self._task.nodes,
                                    self._random.randint(3, 15))
        body = {'instance_uuid': self._uuid(), 'node_uuid': order,
                'ttl': 600 if last else self._random.choice(_TTLS)}
        if self._random.random() < 0.5:
            body['uuid'] = self._uuid()
        given = self._reserve(body, twice=self._random.random() < 0.2)
        if given is None:
            return
        for act in self._random.choices(
                (self._again, self._renew, self._show, self._list,
                 self._page), k=self._random.randint(1, 3)):
            # NOTE: where it had expired, asking again made another one.
            given = act(body, given) or given
        if not last and self._random.random() < 0.7:
            self._ask(records.DELETE, 'DELETE', _path(given), body,
                      uuid=given['uuid'])

    def _reserve(self, body: dict[str, Any],
                 twice: bool) -> dict[str, Any] | None:
        if not twice:
            return self._ask(records.RESERVE, 'POST', '', body, body).given
        # NOTE: the same request on two connections at once, as where a
        # balancer gives up on one process and tries the next.
        sent = time.time()
        first = self._begin('POST', '', body)
        second = self._ask(records.RESERVE, 'POST', '', body, body)
        given = self._ask(records.RESERVE, 'POST', '', body, body,
                          begun=(sent, first)).given
        return given or second.given

    def _again(self, body: dict[str, Any], given: dict[str, Any]
               ) -> dict[str, Any] | None:
        return self._ask(records.AGAIN, 'POST', '', body, body).given

    def _renew(self, body: dict[str, Any], given: dict[str, Any]) -> None:
        ttl = max(_RENEWED_FOR, body['ttl'])
        self._ask(records.RENEW, 'PATCH', _path(given), body,
                  [{'op': 'replace', 'path': '/ttl', 'value': ttl}],
                  uuid=given['uuid'], ttl=ttl)

    def _show(self, body: dict[str, Any], given: dict[str, Any]) -> None:
        self._ask(records.SHOW, 'GET', _path(given), body,
                  uuid=given['uuid'])

    def _list(self, body: dict[str, Any], given: dict[str, Any]) -> None:
        self._ask(records.LIST, 'GET', '?instance=' + given['instance_uuid'],
                  body, uuid=given['uuid'])

    def _page(self, body: dict[str, Any], given: dict[str, Any]) -> None:
        self._ask(records.PAGE, 'GET', '?limit=1000&fields=uuid,node_uuid',
                  body)

    def _ask(self, op: str, method: str, path: str, wanted: dict[str, Any],
             body: Any = None, uuid: str | None = None,
             ttl: float | None = None,
             begun: tuple[float, http.client.HTTPConnection | None]
             | None = None) -> records.Record:
        sent, connection = begun or (time.time(), None)
        broken, status, document = 0, 0, None
        while not status and time.time() < sent + _PATIENCE:
            if connection is None:
                connection = self._begin(method, path, body)
            status, document = _finish(connection)
            connection = None
            if not status:
                broken += 1
                time.sleep(self._random.uniform(0.01, 0.1))
        record = records.Record(
            client=self._name, op=op, sent=sent, got=time.time(),
            status=status, broken=broken,
            instance=wanted['instance_uuid'],
            uuid=uuid or wanted.get('uuid'),
            nodes=tuple(wanted['node_uuid']),
            ttl=wanted['ttl'] if ttl is None else ttl, **_read(document))
        with self._lock:
            print(record.dump(), flush=True)
        return record

    def _begin(self, method: str, path: str,
               body: Any) -> http.client.HTTPConnection | None:
        connection = http.client.HTTPConnection('127.0.0.1', self._port,
                                                timeout=_TIMEOUT)
        try:
            connection.request(
                method, '/v1/reservations' + path,
                None if body is None else json.dumps(body), _HEADERS)
        except OSError:
            connection.close()
            return None
        return connection

    def _uuid(self) -> str:
        return str(uuid.UUID(int=self._random.getrandbits(128), version=4))


def _finish(connection: http.client.HTTPConnection | None
            ) -> tuple[int, Any]:
    if connection is None:
        return 0, None
    try:
        answer = connection.getresponse()
        raw = answer.read()
    except (OSError, http.client.HTTPException):
        return 0, None
    finally:
        connection.close()
    try:
        return answer.status, json.loads(raw) if raw else None
    except ValueError:
        return answer.status, raw.decode(errors='replace')


def _read(document: Any) -> dict[str, Any]:
    match document:
        case {'reservation': given}:
            return {'given': given}
        case {'reservations': given}:
            return {'found': tuple(each['node_uuid'] for each in given)}
        case {'errors': [error]}:
            return {'code': error['code'], 'reasons': tuple(
                (reason['node_uuid'], reason['code'])
                for reason in error.get('reasons', ()))}
    return {}


def _path(given: dict[str, Any]) -> str:
    return '/' + given['uuid']


def main() -> None:
    """Run the clients of this process, each on a thread of its own."""
    task = Task(**json.load(sys.stdin))
    lock = threading.Lock()
    with futures.ThreadPoolExecutor(task.clients) as pool:
        for done in [pool.submit(Client(task, number, lock).run)
                     for number in range(task.clients)]:
            done.result()


if __name__ == '__main__':
    main()
