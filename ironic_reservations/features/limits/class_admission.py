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

"""The resource classes that the hosts of a reservation may have.

Limits by class need the classes of all bookings of a project, for each request
and again in its transaction, so the result for each text is cached.
"""

from __future__ import annotations

import functools
import hashlib

from ironic_reservations.model import requirements
from ironic_reservations.planner import allowance

#: The number of cached results, by digest, as the texts may be large.
_REMEMBERED = 32_768


def of(hypervisor_properties: str, resource_properties: str,
       classes: tuple[str, ...]) -> frozenset[str]:
    """Return the classes that a host which matches both texts may have.

    :raises ValueError: a text cannot be parsed, or is too large.
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
    """Return the classes that the host of a booking may have.

    Instances count for no class.
    """
    return of(held.hypervisor_properties, held.resource_properties,
              classes) if held.whole else frozenset()


@functools.lru_cache(maxsize=_REMEMBERED)
def _found(digest: bytes, classes: tuple[str, ...]) -> list[frozenset[str]]:
    """Return the cached list with the result for a digest."""
    return []
