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

"""Which resource classes the hosts of a reservation may be of.

Whoever counts by class asks this of all that a project has, again and again,
and once more in the transaction that writes; so each text is read once.
"""

from __future__ import annotations

import functools
import hashlib

from ironic_reservations.model import requirements
from ironic_reservations.planner import allowance

#: So many are remembered: more than a project has, and by their digests,
#: since each may be as large as a request is allowed to be.
_REMEMBERED = 32_768


def of(hypervisor_properties: str, resource_properties: str,
       classes: tuple[str, ...]) -> frozenset[str]:
    """Return of which of some classes hosts may be that do for both texts.

    :raises ValueError: a text is not of the grammar, or too large.
    """
    if not classes:
        return frozenset()
    found = _found(hashlib.sha256(
        f'{len(hypervisor_properties)} {hypervisor_properties}'
        f'{resource_properties}'.encode('utf-8', 'surrogatepass')).digest(),
        classes)
    if not found:
        found.append(requirements.admitted_classes(
            hypervisor_properties, resource_properties, classes))
    return found[0]


def of_held(held: allowance.Held,
            classes: tuple[str, ...]) -> frozenset[str]:
    """Return of which of some classes a promise may be; instances of none."""
    return of(held.hypervisor_properties, held.resource_properties,
              classes) if held.whole else frozenset()


@functools.lru_cache(maxsize=_REMEMBERED)
def _found(digest: bytes, classes: tuple[str, ...]) -> list[frozenset[str]]:
    """Return where the answer for a digest is, once there is one."""
    return []
