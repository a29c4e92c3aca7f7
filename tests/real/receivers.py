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

"""A receiver of webhooks, which remembers what it was sent."""

from __future__ import annotations

import base64
from collections.abc import Callable
import hashlib
import hmac
from http import server
import json
import pathlib
import sys
import threading
from typing import Any

import fixtures

from tests import waiting

SECRET = b'a secret of thirty-two bytes, or'


class _Handler(server.BaseHTTPRequestHandler):

    server: Any

    def do_POST(self):
        receiver = self.server.receiver
        length = int(self.headers['Content-Length'])
        body = self.rfile.read(length)
        if len(body) < length:
            # NOTE: its sender was killed in the middle of it.
            return
        receiver.take(self.path, dict(self.headers), body)
        receiver.act(self)

    def do_GET(self):
        self.server.receiver.got.append(self.path)
        self.answer(200)

    def answer(self, status, location=None, body=b''):
        self.send_response(status)
        if location is not None:
            self.send_header('Location', location)
        self.send_header('Content-Length', str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *args):
        pass


class _Server(server.ThreadingHTTPServer):

    daemon_threads = True
    block_on_close = False

    def handle_error(self, request, client_address):
        """Leave out that somebody has hung up."""
        if not isinstance(sys.exception(), ConnectionError):
            super().handle_error(request, client_address)


class Receiver(fixtures.Fixture):
    """Listens on a port of its own.

    :ivar taken: the messages, in their order.
    :ivar got: what was asked for by GET.
    :ivar wrong: whose signatures were not right.
    :ivar act: answers, as a test wants it.
    """

    def __init__(self) -> None:
        self.taken: list[dict[str, Any]] = []
        self.ids: list[str] = []
        self.got: list[str] = []
        self.wrong: list[dict[str, str]] = []
        self.act: Callable[[Any], None] = lambda handler: handler.answer(204)

    def _setUp(self) -> None:
        self._server = _Server(('127.0.0.1', 0), _Handler)
        self._server.receiver = self
        thread = threading.Thread(target=self._server.serve_forever,
                                  kwargs={'poll_interval': 0.05})
        thread.start()
        self.addCleanup(thread.join)
        self.addCleanup(self._server.server_close)
        self.addCleanup(self._server.shutdown)
        self.secret_file = str(pathlib.Path(
            self.useFixture(fixtures.TempDir()).path, 'secret'))
        pathlib.Path(self.secret_file).write_text(
            'whsec_' + base64.b64encode(SECRET).decode() + '\n')

    @property
    def url(self) -> str:
        """Where it listens."""
        return f'http://127.0.0.1:{self._server.server_port}/notices'

    def options(self) -> dict[str, Any]:
        """Return options that have notices sent here."""
        return {'notices__webhook_urls': [self.url],
                'notices__webhook_allowed_hosts': ['127.0.0.1'],
                'notices__webhook_secret_file': self.secret_file}

    def take(self, path: str, headers: dict[str, str], body: bytes) -> None:
        """Keep a message, whose signature is checked as documented."""
        signed = (f"{headers['webhook-id']}.{headers['webhook-timestamp']}."
                  ).encode() + body
        right = base64.b64encode(
            hmac.new(SECRET, signed, hashlib.sha256).digest()).decode()
        if f'v1,{right}' not in headers['webhook-signature'].split():
            self.wrong.append(headers)
        self.ids.append(headers['webhook-id'])
        self.taken.append(json.loads(body))

    def kinds(self) -> list[str]:
        """Return what was told, in its order."""
        return [each['type'].removeprefix('lease.') for each in self.taken]

    def wait(self, happened: Callable[[], bool]) -> None:
        """Wait until something has happened."""
        waiting.until(happened, lambda: self.taken, pause=0.01)


class Service(Receiver):
    """Takes commits, which have a token and no signature."""

    def take(self, path: str, headers: dict[str, str], body: bytes) -> None:
        """Keep an entry."""
        if headers.get('X-Auth-Token') != 'secret':
            self.wrong.append(headers)
        self.taken.append(json.loads(body))
        self.ids.append(self.taken[-1]['id'])

    def options(self) -> dict[str, Any]:
        """Return options that have commits sent here."""
        return {'leases__enforcement_commit_url': self.url,
                'leases__enforcement_token': 'secret'}

    def told(self) -> list[tuple[int, str]]:
        """Return the number and the type of what was taken."""
        return [(each['sequence'], each['type']) for each in self.taken]
