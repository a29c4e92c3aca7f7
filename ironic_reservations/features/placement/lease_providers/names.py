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

"""The names of lease reservations in Placement and Nova."""

from __future__ import annotations

import re
import uuid as uuid_module

PREFIX = 'CUSTOM_RESERVATION_'
#: The prefix of the names of our flavors; Blazar has another prefix.
FLAVOR_PREFIX = 'lease-reservation:'

_OF_A_CLASS = re.compile('_'.join(
    f'([0-9A-F]{{{length}}})' for length in (8, 4, 4, 4, 12)))
_NAMESPACE = uuid_module.UUID('5d6c3f9a-3a50-4c8e-9d0e-6b0f6f6c1e52')


def class_of(reservation_id: str) -> str:
    """Return the class of a lease reservation."""
    return PREFIX + reservation_id.upper().replace('-', '_')


def reservation_of(class_name: str) -> str | None:
    """Return the id in the name of a class; ``None`` for others."""
    match = _OF_A_CLASS.fullmatch(class_name.removeprefix(PREFIX))
    if match is None or not class_name.startswith(PREFIX):
        return None
    return '-'.join(match.groups()).lower()


def child_of(host: str) -> str:
    """Return the uuid of the lease provider of a host.

    It is derived from the uuid of the host, so that it is created only once,
    and no other provider is mistaken for it.

    :param host: the uuid of its own provider.
    """
    return str(uuid_module.uuid5(_NAMESPACE, host))
