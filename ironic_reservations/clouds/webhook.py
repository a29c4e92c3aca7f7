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

"""Posting to a webhook, signed, and nowhere else than the operator allows.

The headers and the signature are those of Standard Webhooks, for which there
are libraries in many languages.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Collection
from collections.abc import Sequence
import hashlib
import hmac
import pathlib
import urllib.parse

from ironic_reservations.clouds import posting

_PREFIX = 'whsec_'
#: Shorter keys, in bytes, can be guessed.
_SHORTEST = 24
_AGENT = 'ironic-reservations'

Undelivered = posting.Undelivered
Declined = posting.Declined


def keys(path: str | None) -> list[bytes]:
    """Return the keys in a file.

    :raises Undelivered: there is none that can be used.
    """
    if path is None:
        raise Undelivered('[notices] webhook_secret_file is not set')
    try:
        lines = pathlib.Path(path).read_text(encoding='ascii').split()
        found = [base64.b64decode(line.removeprefix(_PREFIX), validate=True)
                 for line in lines]
    except OSError as exc:
        raise Undelivered('[notices] webhook_secret_file cannot be read: '
                          f'{exc.strerror}') from exc
    except (binascii.Error, UnicodeDecodeError) as exc:
        raise Undelivered('[notices] webhook_secret_file is not in '
                          'base64') from exc
    if not found or min(map(len, found)) < _SHORTEST:
        raise Undelivered('[notices] webhook_secret_file has no key, or one '
                          f'of less than {_SHORTEST} bytes')
    return found


def signed(ident: str, sent_at: int, body: bytes,
           secrets: Sequence[bytes]) -> str:
    """Return the signatures of a message.

    :param ident: of the message, the same when it is sent again.
    :param sent_at: the time, in seconds since 1970.
    """
    signed_part = f'{ident}.{sent_at}.'.encode() + body
    return ' '.join('v1,' + base64.b64encode(hmac.new(
        secret, signed_part, hashlib.sha256).digest()).decode()
        for secret in secrets)


def post(url: str, ident: str, sent_at: int, body: bytes,
         secrets: Sequence[bytes], allowed: Collection[str],
         timeout: float) -> None:
    """Post a message, signed.

    :param allowed: the hosts that may be spoken to, by their exact names.
    :param timeout: for all of it, in seconds.
    :raises Undelivered: it may not have been taken.
    :raises Declined: the receiver answers that it has not.
    """
    target = urllib.parse.urlsplit(url)
    host = _host(target, allowed)
    headers = {'Content-Type': 'application/json', 'User-Agent': _AGENT,
               'Connection': 'close', 'webhook-id': ident,
               'webhook-timestamp': str(sent_at),
               'webhook-signature': signed(ident, sent_at, body, secrets)}
    posting.post(url, host, headers, body, timeout)


def _host(target: urllib.parse.SplitResult, allowed: Collection[str]) -> str:
    """Return the host of a URL, if it may be spoken to.

    :raises Undelivered: it may not.
    """
    try:
        host, _ = target.hostname, target.port
    except ValueError:
        host = None
    if target.scheme not in ('http', 'https') or not host or (
            target.username or target.password):
        raise Undelivered('a URL in [notices] webhook_urls is no http or '
                          'https URL without a user')
    if host not in {each.lower() for each in allowed}:
        raise Undelivered(f'{host} is not in [notices] '
                          'webhook_allowed_hosts')
    return host
