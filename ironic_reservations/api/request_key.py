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

"""The header ``Idempotency-Key``, by which a client identifies a request."""

from __future__ import annotations

from ironic_reservations import errors
from ironic_reservations.api import expose
from ironic_reservations.engine import earlier
from ironic_reservations.engine import Engine

_HEADER = 'HTTP_IDEMPOTENCY_KEY'
_MAX_KEY = 255


def read(call: expose.Call, engine: Engine) -> str | None:
    """Return the idempotency key of a request, and count it.

    :raises InvalidValue: the key is too long, or not printable.
    :raises TooManyKeys: the project has sent too many keys.
    """
    key: str | None = call.environ.get(_HEADER)
    if key is None:
        return None
    if not 1 <= len(key) <= _MAX_KEY or not (
            key.isascii() and key.isprintable()):
        raise errors.InvalidValue(
            f'The header Idempotency-Key must have 1 to {_MAX_KEY} printable '
            'ASCII characters. Send a new UUID, for example.')
    count(call, engine)
    return key


def identity(call: expose.Call, engine: Engine, kind: str,
             content: object) -> earlier.Key | None:
    """Return the identity of a request; ``None`` without a key.

    :param kind: the kind of the requests that the key identifies.
    :param content: the parts that are the same in each copy.
    """
    given = read(call, engine)
    return None if given is None else earlier.of_request(
        kind, call.context.project_id, given, content)


def count(call: expose.Call, engine: Engine) -> None:
    """Count a request whose identity is kept for a while.

    :raises TooManyKeys: the project has sent too many keys.
    """
    project = call.context.project_id
    for each in () if project is None else engine.hooks['count_key']:
        each.count_key(engine, project)
