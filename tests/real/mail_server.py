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

"""An SMTP server with STARTTLS, which keeps what it is sent."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
import datetime
import email
import email.message
import email.policy
import ipaddress
import pathlib
import ssl
from typing import Any

from aiosmtpd import controller
from aiosmtpd import smtp
from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec
import fixtures

from tests import waiting

USER, PASSWORD = 'ironic', 'a password'


class _Controller(controller.Controller):
    """Listens on a free port."""

    def _trigger_server(self) -> None:
        self.port = self.server.sockets[0].getsockname()[1]
        super()._trigger_server()


class MailServer(fixtures.Fixture):
    """Takes mail over TLS alone, from who signs in.

    :ivar taken: the mails, in their order.
    :ivar to: their receivers, as the envelopes name them.
    :ivar answer: to a mail, where it is not taken.
    :ivar act: called with each mail before it is answered.
    """

    def __init__(self, tls: bool = True) -> None:
        self.taken: list[email.message.EmailMessage] = []
        self.to: list[list[str]] = []
        self.answer = '250 OK'
        self.act: Callable[[], None] = lambda: None
        self._tls = tls

    def _setUp(self) -> None:
        folder = pathlib.Path(self.useFixture(fixtures.TempDir()).path)
        self.ca_file, context = _certificate(folder)
        (folder / 'password').write_text(PASSWORD + '\n')
        (folder / 'addresses').write_text(
            'anna: anna@example.com\nbert: bert@example.org\n')
        self.folder = folder
        more: dict[str, Any] = {
            'tls_context': context, 'require_starttls': True,
            'auth_required': True} if self._tls else {}
        self._controller = _Controller(
            self, hostname='127.0.0.1', port=0,
            authenticator=self._authenticate, **more)
        self._controller.start()
        self.addCleanup(self._controller.stop)

    def options(self) -> dict[str, Any]:
        """Return options that have notices mailed here."""
        return {'notices__mail_host': '127.0.0.1',
                'notices__mail_port': self._controller.port,
                'notices__mail_ca_file': self.ca_file,
                'notices__mail_username': USER,
                'notices__mail_password_file': str(self.folder / 'password'),
                'notices__mail_from': 'leases@example.net',
                'notices__mail_addresses_file': str(
                    self.folder / 'addresses')}

    @staticmethod
    def _authenticate(server: Any, session: Any, envelope: Any,
                      mechanism: str, shown: Any) -> smtp.AuthResult:
        return smtp.AuthResult(handled=False, success=(
            shown.login, shown.password) == (USER.encode(),
                                             PASSWORD.encode()))

    async def handle_DATA(self, server: Any, session: Any,
                          envelope: Any) -> str:
        """Take a mail."""
        if self.answer.startswith('250'):
            self.taken.append(email.message_from_bytes(
                envelope.content, policy=email.policy.default))
            self.to.append(envelope.rcpt_tos)
        # NOTE: not on the thread of the server, which may be asked meanwhile.
        await asyncio.get_running_loop().run_in_executor(None, self.act)
        return self.answer

    def wait(self, happened: Callable[[], bool]) -> None:
        """Wait until something has happened."""
        waiting.until(happened, lambda: self.taken, pause=0.01)


def _certificate(folder: pathlib.Path) -> tuple[str, ssl.SSLContext]:
    """Make a certificate for 127.0.0.1 that is its own authority."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, 'test')])
    now = datetime.datetime.now(datetime.UTC)
    day = datetime.timedelta(days=1)
    made = (x509.CertificateBuilder().subject_name(name).issuer_name(name)
            .public_key(key.public_key())
            .serial_number(x509.random_serial_number())
            .not_valid_before(now - day).not_valid_after(now + day)
            .add_extension(x509.SubjectAlternativeName(
                [x509.IPAddress(ipaddress.ip_address('127.0.0.1'))]), False)
            .add_extension(x509.BasicConstraints(True, None), True)
            .sign(key, hashes.SHA256()))
    public, private = folder / 'certificate', folder / 'key'
    public.write_bytes(made.public_bytes(serialization.Encoding.PEM))
    private.write_bytes(key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8,
        serialization.NoEncryption()))
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(public, private)
    return str(public), context
