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

"""Maintenance windows through openstacksdk.

A window is a dictionary of the fields of the API: ``uuid``, ``name``,
``starts_at``, ``ends_at``, ``state``, ``nodes`` and so on. Each function takes
a connection first; the other arguments are those of the methods ``post``,
``list`` and ``delete`` of a ``MaintenanceManager``.
"""

from __future__ import annotations

from ironic_reservations_client import maintenance
from ironic_reservations_client.sdk import transport

__all__ = ['create', 'end', 'maintenances']

create, maintenances, end = transport.functions(
    maintenance.MaintenanceManager, 'post', 'list', 'delete')
