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
"""An application that is served over a socket, and what was said to it."""

from collections.abc import Iterable
import dataclasses
import gzip
import io
import json
from typing import Any

import fixtures

from ironic_reservations.api import wsgi
from tests import listening


@dataclasses.dataclass(frozen=True)
class Exchange:
    """A request and its answer, as far as commands see to them.

    :ivar path: with the query.
    """

    method: str
    path: str
    body: Any
    status: int
    answer: Any


class Served(fixtures.Fixture):
    """Serves an application on a free port, and writes everything down.

    :ivar url: of its root.
    :ivar exchanges: since the last look.
    """

    url: str

    def __init__(self, application: wsgi.Application) -> None:
        super().__init__()
        self._application = application
        self.exchanges: list[Exchange] = []

    def _setUp(self) -> None:
        self.url = self.useFixture(listening.Listening(self)).url

    def __call__(self, environ: wsgi.Environ,
                 start_response: wsgi.StartResponse) -> Iterable[bytes]:
        raw = environ['wsgi.input'].read(
            int(environ.get('CONTENT_LENGTH') or 0))
        environ['wsgi.input'] = io.BytesIO(raw)
        method, path = environ['REQUEST_METHOD'], environ['PATH_INFO']
        if environ['QUERY_STRING']:
            path += f'?{environ["QUERY_STRING"]}'
        answer = wsgi.call(self._application, environ)
        self.exchanges.append(Exchange(
            method, path, json.loads(raw) if raw else None, answer.status,
            json.loads(_plain(answer.body)) if answer.body else None))
        return answer.send(start_response)

    def look(self) -> list[Exchange]:
        """Return what was said since the last look."""
        said, self.exchanges = self.exchanges, []
        return said


def _plain(body: bytes) -> bytes:
    """Return a body as it was before it was compressed."""
    return gzip.decompress(body) if body[:2] == b'\x1f\x8b' else body
