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

"""Posting a message once: in a given time, with no redirect and no proxy."""

from __future__ import annotations

from collections.abc import Mapping
import http.client
import ssl
import urllib.parse

from ironic_reservations.clouds import within


class Undelivered(Exception):
    """Nobody has taken what was posted, as far as we know."""


class Declined(Undelivered):
    """The receiver answers, and does not take this."""


def post(url: str, host: str, headers: Mapping[str, str], body: bytes,
         timeout: float) -> None:
    """Post a message.

    :param host: of the URL.
    :param timeout: for all of it, in seconds.
    :raises Undelivered: it may not have been taken.
    :raises Declined: the receiver answers that it has not.
    """
    target = urllib.parse.urlsplit(url)
    path = urllib.parse.urlunsplit(('', '', target.path or '/', target.query,
                                    ''))

    def exchange(cut: within.Cut) -> int:
        # NOTE: neither proxies nor credentials of the environment.
        connection = (
            http.client.HTTPSConnection(
                host, target.port, timeout=timeout,
                context=ssl.create_default_context())
            if target.scheme == 'https' else
            http.client.HTTPConnection(host, target.port, timeout=timeout))
        try:
            connection.connect()
            cut.watch(connection.sock)
            connection.request('POST', path, body, dict(headers))
            # NOTE: the body of the answer is left unread, and a redirect is
            # an answer as any other that is not 2xx.
            return connection.getresponse().status
        finally:
            connection.close()
    try:
        status = within.within(timeout, host, exchange)
    except OSError as exc:
        # NOTE: first, since one about a certificate is a ValueError as well.
        raise _unreached(host, exc) from exc
    except (ValueError, http.client.InvalidURL) as exc:
        # NOTE: its words may have a header or the URL, which may be secrets.
        raise Undelivered(f'{host} cannot be reached: {type(exc).__name__}; '
                          'the URL or a header, such as one with a token, '
                          'is not valid') from None
    except http.client.HTTPException as exc:
        raise _unreached(host, exc) from exc
    if not 200 <= status < 300:
        raise Declined(f'{host} answered {status}')


def _unreached(host: str, exc: Exception) -> Undelivered:
    return Undelivered(f'{host} cannot be reached: {within.one_line(exc)}')
