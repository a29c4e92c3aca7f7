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

"""The options of features that have a section of their own."""

from __future__ import annotations

from types import ModuleType

from ironic_reservations.features import folders

#: The modules ``options`` and ``..._options``. Each has GROUP and OPTS.
GROUPS: tuple[ModuleType, ...] = tuple(
    module for folder in sorted(folders.FOLDERS)
    for module in folders.modules(folder, 'options'))
#: The sections with the options of a client of keystoneauth.
CLOUDS: tuple[ModuleType, ...] = tuple(
    module for module in GROUPS if hasattr(module, 'SERVICE_TYPE'))
