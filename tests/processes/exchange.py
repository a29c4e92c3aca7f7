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


"""Requests and answers, as the one who asked saw them."""

from __future__ import annotations

import dataclasses
import http.client
import json
import random
import threading
from typing import Any
import uuid

from tests.processes import journal
from tests.processes import people

PROOF = 'OpenStack-Baremetal-Reservation'
IRONIC_VERSION = 'X-OpenStack-Ironic-API-Version'
_VERSIONS = {
    IRONIC_VERSION: '1.109',
    'OpenStack-API-Version': 'baremetal-reservation latest'}


@dataclasses.dataclass(frozen=True)
class Reply:
    """What came back.

    :ivar status: ``None`` where no answer came in time, or none at all.
    """

    status: int | None
    document: Any = None

    @property
    def unknown(self) -> bool:
        """Whether one cannot know what became of the request."""
        return self.status is None or self.status >= 500


class Asker:
    """One caller, at one request at a time, each of which is recorded.

    :param port: of the balancer.
    :param written: where exchanges are recorded.
    :param timeout: until it gives up, in seconds.
    """

    def __init__(self, person: people.Person, port: int,
                 written: journal.Journal, timeout: float,
                 choice: random.Random, over: threading.Event) -> None:
        self.person = person
        self.choice = choice
        self.over = over
        self._port = port
        self._written = written
        self._timeout = timeout

    def uuid(self) -> str:
        """Return a new uuid, the same one in each storm of the seed."""
        return str(uuid.UUID(int=self.choice.getrandbits(128), version=4))

    def wait(self, least: float, most: float) -> bool:
        """Wait for a moment; return whether the storm goes on."""
        return not self.over.wait(self.choice.uniform(least, most))

    def ask(self, op: str, method: str, path: str, body: Any = None, *,
            proof: str | None = None, key: str | None = None,
            version: str | None = None,
            timeout: float | None = None) -> Reply:
        """Send a request, and record it with what came back.

        :param op: what the request is for, in a word.
        :param key: an idempotency key.
        :param version: of Ironic's API; by default the one of all.
        :param timeout: until this request is given up, in seconds, where that
            is another one.
        """
        marked = f'req-{uuid.uuid4()}'
        headers = {**_VERSIONS, 'X-Auth-Token': self.person.token,
                   'X-OpenStack-Request-ID': marked,
                   'Accept': 'application/json', 'Connection': 'close'}
        if version is not None:
            headers[IRONIC_VERSION] = version
        if proof is not None:
            headers[PROOF] = proof
        if key is not None:
            headers['Idempotency-Key'] = key
        raw = None
        if body is not None:
            raw = json.dumps(body).encode()
            headers['Content-Type'] = 'application/json'
        asked = {'id': marked, 'who': self.person.name,
                 'project': self.person.project, 'op': op, 'method': method,
                 'path': path, 'body': body, 'proof': proof, 'key': key,
                 'sent': journal.now()}
        # NOTE: before, too: what it does may be seen before its answer.
        self._written.write('sending', **asked)
        reply, error = self._exchange(
            method, path, raw, headers,
            self._timeout if timeout is None else timeout)
        self._written.write('exchange', **asked, got=journal.now(),
                            status=reply.status, answer=reply.document,
                            error=error)
        return reply

    def _exchange(self, method: str, path: str, raw: bytes | None,
                  headers: dict[str, str], timeout: float
                  ) -> tuple[Reply, str | None]:
        connection = http.client.HTTPConnection(
            '127.0.0.1', self._port, timeout=timeout)
        try:
            connection.request(method, path, raw, headers)
            answer = connection.getresponse()
            text = answer.read()
        except (OSError, http.client.HTTPException) as exc:
            return Reply(None), f'{type(exc).__name__}: {exc}'
        finally:
            connection.close()
        try:
            return Reply(answer.status, json.loads(text) if text else None), (
                None)
        except ValueError:
            return Reply(answer.status, text.decode(errors='replace')), None
