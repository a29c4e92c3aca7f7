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

"""The folders of all features: the only list of them."""

from __future__ import annotations

from collections.abc import Iterator
import importlib
import pkgutil
from types import ModuleType

#: In the order in which the features take part in a change.
FOLDERS = (
    'open_dates', 'queue', 'maintenance', 'limits', 'keys', 'notices',
    'owners', 'usage', 'no_show', 'audit', 'history', 'calendar',
    # Before Placement and the enforcement service, which may answer late.
    'announcements', 'placement', 'enforcement')


def modules(folder: str, ending: str) -> Iterator[ModuleType]:
    """Return the modules of a feature whose names have an ending, sorted.

    Other modules are not imported: those of options need no database.
    """
    package = importlib.import_module(f'{__package__}.{folder}')
    for each in pkgutil.iter_modules(package.__path__):
        if each.name.endswith(ending):
            yield importlib.import_module(f'{package.__name__}.{each.name}')
