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

"""Makes and recognizes our consumers in Placement.

NOTE: Placement shows the type of a consumer only if it supports types, and
only in a request for that consumer. So the uuid itself shows it: its last six
bytes are a digest of the others, which other uuids have with a probability of
1 in 2 ** 48.
"""

from __future__ import annotations

from collections.abc import Iterable
import hashlib
import secrets
import uuid as uuid_module

from ironic_reservations.engine import Engine
from ironic_reservations.features.placement.holds import rows as db_holds

#: The type of our consumers, if Placement supports types.
TYPE = 'BAREMETAL_RESERVATION'
#: The type of Nova's consumers.
INSTANCE = 'INSTANCE'

_RANDOM_BYTES = 10
_SALT = b'ironic-reservations consumer'


def fresh() -> str:
    """Return the uuid of a new consumer."""
    random = bytearray(uuid_module.UUID(
        bytes=secrets.token_bytes(16), version=4).bytes[:_RANDOM_BYTES])
    return str(uuid_module.UUID(bytes=bytes(random) + _digest(random)))


def is_ours(uuid: str) -> bool:
    """Return whether a consumer was made by :func:`fresh`."""
    try:
        raw = uuid_module.UUID(uuid).bytes
    except ValueError:
        return False
    return raw[_RANDOM_BYTES:] == _digest(raw[:_RANDOM_BYTES])


def strays(engine: Engine, there: Iterable[str]) -> frozenset[str]:
    """Return the consumers of a list that are ours and have no row."""
    ours = [consumer for consumer in there if is_ours(consumer)]
    if not ours:
        return frozenset()
    with engine.database.read() as connection:
        return frozenset(
            consumer for consumer in ours
            if db_holds.read_consumer(connection, consumer) is None)


def _digest(random: bytes | bytearray) -> bytes:
    return hashlib.sha256(_SALT + random).digest()[:16 - _RANDOM_BYTES]
