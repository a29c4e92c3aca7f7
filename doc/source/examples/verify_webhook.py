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

"""Take a notice that was posted by ironic-reservations, or refuse it."""

import base64
import hashlib
import hmac
import time

#: Older messages may have been recorded by somebody, and sent again.
TOLERANCE = 300


def verify(key, headers, body):
    """Return whether a message was signed with a key, and just now.

    :param key: a line of the file ``webhook_secret_file``.
    :param headers: of the request, with names in lower case.
    :param body: of the request, the bytes as they were received.
    """
    try:
        ident = headers['webhook-id']
        sent_at = int(headers['webhook-timestamp'])
        signatures = headers['webhook-signature'].split()
    except (KeyError, ValueError):
        return False
    if abs(time.time() - sent_at) > TOLERANCE:
        return False
    message = f'{ident}.{sent_at}.'.encode() + body
    expected = base64.b64encode(hmac.new(
        base64.b64decode(key.removeprefix('whsec_')), message,
        hashlib.sha256).digest()).decode()
    return any(hmac.compare_digest(f'v1,{expected}'.encode(), shown.encode())
               for shown in signatures)
