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

"""Sends mail to an SMTP server."""

from __future__ import annotations

import contextlib
import dataclasses
import email.message
import smtplib
import ssl
from typing import Any

from ironic_reservations.clouds import time_limit

STARTTLS = 'starttls'
TLS = 'tls'


class Unsent(Exception):
    """The server may not have accepted the mail."""


@dataclasses.dataclass(frozen=True)
class Server:
    """An SMTP server and how to connect to it.

    :ivar security: ``starttls``, ``tls`` or ``none``.
    :ivar ca_file: trusted authorities; ``None``: those of the system.
    :ivar username: the user name; ``None``: without authentication.
    :ivar timeout: the time limit of the whole exchange, in seconds.
    """

    host: str
    port: int
    security: str
    timeout: float
    ca_file: str | None = None
    username: str | None = None
    password: str = ''


class _Watched:
    """Registers its connection before it waits for the greeting."""

    def __init__(self, cut: time_limit.Cut, *args: Any, **kwargs: Any) -> None:
        self._cut = cut
        super().__init__(*args, **kwargs)

    def _get_socket(self, host: str, port: int, timeout: float) -> Any:
        made = super()._get_socket(host, port, timeout)  # type: ignore[misc]
        self._cut.watch(made)
        return made


class _Client(_Watched, smtplib.SMTP):
    pass


class _TlsClient(_Watched, smtplib.SMTP_SSL):
    pass


def send(server: Server, message: email.message.EmailMessage,
         address: str) -> None:
    """Send a mail, and return once the server has accepted it.

    :param address: the address of the only recipient; addresses in the headers
        are not used.
    :raises Unsent: the server may not have accepted it.
    """
    try:
        time_limit.within(server.timeout, server.host,
                          lambda cut: _send(server, message, address, cut))
    except (OSError, smtplib.SMTPException, ValueError) as exc:
        raise Unsent(f'{server.host} did not take the mail: '
                     f'{time_limit.one_line(exc)}') from exc


def _send(server: Server, message: email.message.EmailMessage, address: str,
          cut: time_limit.Cut) -> None:
    context = ssl.create_default_context(cafile=server.ca_file)
    client = (_TlsClient(cut, server.host, server.port,
                         timeout=server.timeout, context=context)
              if server.security == TLS else
              _Client(cut, server.host, server.port, timeout=server.timeout))
    try:
        if server.security == STARTTLS:
            # It fails without TLS, so that nothing is sent unencrypted.
            client.starttls(context=context)
            assert client.sock is not None
            cut.watch(client.sock)
        if server.username is not None:
            client.login(server.username, server.password)
        client.send_message(message, to_addrs=[address])
        # The mail has been accepted, so errors do not matter.
        with contextlib.suppress(OSError, smtplib.SMTPException):
            client.putcmd('quit')
    finally:
        client.close()
