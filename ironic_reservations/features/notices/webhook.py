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

"""Posts signed messages to webhooks on allowed hosts.

The headers and the signature follow Standard Webhooks, for which there are
libraries in many languages.
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
#: The minimum length of a key, in bytes.
_SHORTEST = 24
_AGENT = 'ironic-reservations'

Undelivered = posting.Undelivered


def keys(path: str | None) -> list[bytes]:
    """Return the keys in a file.

    :raises Undelivered: the file has no usable key.
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
    """Return the signatures of a message, one for each key.

    :param ident: the id of the message, the same when it is sent again.
    :param sent_at: the time, in seconds since 1970.
    """
    signed_part = f'{ident}.{sent_at}.'.encode() + body
    return ' '.join('v1,' + base64.b64encode(hmac.new(
        secret, signed_part, hashlib.sha256).digest()).decode()
        for secret in secrets)


def post(url: str, ident: str, sent_at: int, body: bytes,
         secrets: Sequence[bytes], allowed: Collection[str],
         timeout: float) -> None:
    """Post a signed message.

    :param allowed: the exact names of the hosts that are allowed.
    :param timeout: the time limit of the whole exchange, in seconds.
    :raises Undelivered: the receiver may not have accepted it.
    :raises Declined: the receiver has refused it.
    """
    _check_allowed(url, allowed)
    headers = {'Content-Type': 'application/json', 'User-Agent': _AGENT,
               'Connection': 'close', 'webhook-id': ident,
               'webhook-timestamp': str(sent_at),
               'webhook-signature': signed(ident, sent_at, body, secrets)}
    posting.post(url, headers, body, timeout)


def _check_allowed(url: str, allowed: Collection[str]) -> None:
    """Check that messages may be posted to the host of a URL."""
    target = urllib.parse.urlsplit(url)
    try:
        host, _ = target.hostname, target.port
    except ValueError:
        host = None
    if target.scheme not in ('http', 'https') or not host or (
            target.username or target.password):
        raise Undelivered('a URL in [notices] webhook_urls is not an http '
                          'or https URL, or contains a user')
    if host not in {each.lower() for each in allowed}:
        raise Undelivered(f'{host} is not in [notices] '
                          'webhook_allowed_hosts')
