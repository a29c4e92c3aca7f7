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

"""Types of plain WSGI (PEP 3333), and calls with the answer as a value."""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Iterable
import dataclasses
import http
from typing import Any

Environ = dict[str, Any]
StartResponse = Callable[..., Any]
Application = Callable[[Environ, StartResponse], Iterable[bytes]]
Middleware = Callable[[Application], Application]


@dataclasses.dataclass(frozen=True)
class Answer:
    """A complete answer.

    :ivar reason: the reason phrase, if it is not the usual one.
    """

    status: int
    headers: list[tuple[str, str]]
    body: bytes
    reason: str | None = None

    def send(self, start_response: StartResponse,
             with_body: bool = True) -> list[bytes]:
        """Pass the answer to the server."""
        reason = self.reason
        if reason is None:
            reason = http.HTTPStatus(self.status).phrase
        start_response(f'{self.status} {reason}', self.headers)
        return [self.body] if with_body else []


def call(application: Application, environ: Environ) -> Answer:
    """Call an application, and return its answer."""
    begun: list[tuple[str, list[tuple[str, str]]]] = []
    chunks: list[bytes] = []

    def start_response(status: str, headers: list[tuple[str, str]],
                       exc_info: Any = None) -> Callable[[bytes], None]:
        begun[:] = [(status, list(headers))]
        return chunks.append

    result = application(environ, start_response)
    try:
        chunks.extend(result)
    finally:
        if hasattr(result, 'close'):
            result.close()
    status, headers = begun[0]
    number, _, reason = status.partition(' ')
    return Answer(int(number), headers, b''.join(chunks), reason)
