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

"""Finds the reservation that a flavor or a request for a server names."""

from __future__ import annotations

from collections.abc import Mapping
import re
from typing import Any
import uuid

from nova import objects
from oslo_log import log

LOG = log.getLogger(__name__)

#: The scheduler hint that names a reservation, or a lease reservation.
HINT = 'reservation'

_ASKED = re.compile(r'resources[a-zA-Z0-9_-]*:CUSTOM_RESERVATION_'
                    r'([0-9A-F]{8}(?:_[0-9A-F]{4}){3}_[0-9A-F]{12})')


def of_flavor(extra_specs: Mapping[str, str]) -> str | None:
    """Return the lease reservation to which a flavor belongs.

    Only the project of the lease may use such a flavor, and the scheduler
    allocates the lease's class on the node before the driver is called.
    """
    for key, value in extra_specs.items():
        match = _ASKED.fullmatch(key)
        if match is not None and value.strip() != '0':
            return match[1].replace('_', '-').lower()
    return None


def of_hint(hint: Any) -> str:
    """Parse the hint of a request.

    :raises ValueError: the hint is not a uuid.
    """
    try:
        return str(uuid.UUID(hint))
    except (ValueError, TypeError, AttributeError):
        raise ValueError(
            f'the scheduler hint {HINT}={str(hint)[:80]!r} is not a uuid. '
            'Give the id of one reservation, or of one lease '
            'reservation') from None


def of_request(instance: Any) -> str | None:
    """Return the reservation that the request for a server names.

    Nova does not pass the hints to a driver. The conductor can read them if it
    can access the API's database; otherwise the result is ``None``.

    :param instance: nova.objects.Instance.
    :raises ValueError: the hint is not a uuid.
    """
    try:
        request = objects.RequestSpec.get_by_instance_uuid(
            instance._context, instance.uuid)
    except Exception as exc:
        LOG.debug('The scheduler hints of the server are not known: %s', exc,
                  instance=instance)
        return None
    hint = request.get_scheduler_hint(HINT)
    return None if hint is None else of_hint(hint)
