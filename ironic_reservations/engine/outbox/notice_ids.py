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

"""The ids of notices, which are version 5 UUIDs."""

from __future__ import annotations

import uuid as uuid_module

from ironic_reservations.model import notices

_NAMESPACE = uuid_module.UUID('5e9a4d3c-9a52-4b6f-8d0e-2f6e2f1a7c61')


def of_notice(lease_id: str, kind: notices.Kind, occurrence: str) -> str:
    """Return the id of a notice, which depends on the arguments only.

    :param occurrence: distinguishes it from others of the kind about the
        lease.
    """
    return str(uuid_module.uuid5(_NAMESPACE,
                                 f'{lease_id}/{kind.value}/{occurrence}'))


def of_row(notice: str, channel: notices.Channel, to: str) -> str:
    """Return the id of the row of a notice for one receiver."""
    return str(uuid_module.uuid5(_NAMESPACE,
                                 f'{notice}/{channel.value}/{to}'))
