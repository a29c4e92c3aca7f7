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

"""The features, in the order in which they take part in a change."""

from __future__ import annotations

from ironic_reservations.engine import feature
from ironic_reservations.features import folders

#: All features: the classes that the modules ``feature`` define.
FEATURES: tuple[type[feature.Feature], ...] = tuple(
    each for folder in folders.FOLDERS
    for module in folders.modules(folder, 'feature')
    for each in vars(module).values()
    if isinstance(each, type) and issubclass(each, feature.Feature)
    and each.__module__ == module.__name__)


def new() -> tuple[feature.Feature, ...]:
    """Return the features of one engine."""
    return tuple(each() for each in FEATURES)
