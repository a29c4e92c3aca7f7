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

"""Posts a message once, with a time limit and without redirects or proxies."""

from __future__ import annotations

from collections.abc import Mapping
import http.client
import ssl
import urllib.parse

from ironic_reservations.clouds import time_limit


class Undelivered(Exception):
    """The receiver may not have accepted the message."""


class Declined(Undelivered):
    """The receiver has refused the message."""


def post(url: str, headers: Mapping[str, str], body: bytes,
         timeout: float) -> None:
    """Post a message.

    :raises Undelivered: the receiver may not have accepted the message.
    :raises Declined: the receiver has refused the message.
    """
    status, _ = ask(url, headers, body, timeout)
    if not 200 <= status < 300:
        raise Declined(f'{urllib.parse.urlsplit(url).hostname} answered '
                       f'{status}')


def ask(url: str, headers: Mapping[str, str], body: bytes, timeout: float,
        most: int = 0) -> tuple[int, bytes]:
    """Post a message, and return the status and the body of the answer.

    A redirect is an answer like any other.

    :param timeout: the limit for the whole exchange, in seconds.
    :param most: the maximum number of bytes of the body that are read.
    :raises Undelivered: the receiver may not have received the message.
    """
    target = urllib.parse.urlsplit(url)
    # An IPv6 address has no brackets.
    host = target.hostname
    if host is None:
        raise Undelivered('the URL names no host')
    path = urllib.parse.urlunsplit(('', '', target.path or '/', target.query,
                                    ''))

    def exchange(cut: time_limit.Cut) -> tuple[int, bytes]:
        port = target.port
        if port is None:
            # Without a port, http.client takes the end of an IPv6 address for
            # one.
            port = (http.client.HTTPS_PORT if target.scheme == 'https' else
                    http.client.HTTP_PORT)
        # http.client ignores proxies and credentials of the environment.
        connection = (
            http.client.HTTPSConnection(
                host, port, timeout=timeout,
                context=ssl.create_default_context())
            if target.scheme == 'https' else
            http.client.HTTPConnection(host, port, timeout=timeout))
        try:
            connection.connect()
            cut.watch(connection.sock)
            connection.request('POST', path, body, dict(headers))
            answer = connection.getresponse()
            return answer.status, answer.read(most) if most else b''
        finally:
            connection.close()
    try:
        return time_limit.within(timeout, host, exchange)
    except OSError as exc:
        # Caught before ValueError, since a certificate error is both.
        raise _unreached(host, exc) from exc
    except (ValueError, http.client.InvalidURL) as exc:
        # The message may contain a header or the URL, which may be secrets.
        raise Undelivered(f'{host} cannot be reached: {type(exc).__name__}; '
                          'the URL or a header, such as one with a token, '
                          'is not valid') from None
    except http.client.HTTPException as exc:
        raise _unreached(host, exc) from exc


def _unreached(host: str, exc: Exception) -> Undelivered:
    return Undelivered(
        f'{host} cannot be reached: {time_limit.one_line(exc)}')
