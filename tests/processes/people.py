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


"""Who calls: tenants, operators, and the service itself, each by a token."""

from __future__ import annotations

import dataclasses
import uuid

TENANTS = 16
#: So many of them, the last ones, are of one project.
TOGETHER = 6
_EVERY_ROLE = ('admin', 'manager', 'member', 'reader')


@dataclasses.dataclass(frozen=True)
class Person:
    """Somebody with a token.

    :ivar project: ``None`` for one whose roles are of the system.
    """

    name: str
    project: str | None
    roles: tuple[str, ...]

    @property
    def user(self) -> str:
        """The id of the user, the same in all processes."""
        return uuid.uuid5(uuid.NAMESPACE_URL, self.name).hex

    @property
    def token(self) -> str:
        """What Keystone would have issued."""
        return f'token-of-{self.name}'


def _tenant(number: int) -> Person:
    name = f'tenant-{number}'
    project = name if number < TENANTS - TOGETHER else 'together'
    return Person(name, uuid.uuid5(uuid.NAMESPACE_DNS, project).hex,
                  ('manager', 'member', 'reader'))


OPERATOR = Person('operator', None, _EVERY_ROLE)
#: The user of [ironic] in ironic-reservations.conf.
SERVICE = Person('service', None, _EVERY_ROLE)
ALL_TENANTS = tuple(_tenant(number) for number in range(TENANTS))
EVERYBODY = (OPERATOR, SERVICE, *ALL_TENANTS)
