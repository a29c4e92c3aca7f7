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

"""The zone of this machine, set by a test."""

from __future__ import annotations

import time

import fixtures


class Zone(fixtures.Fixture):
    """Sets the zone during a test.

    :param name: the name of the zone, as in the database of time zones or in
        POSIX.
    """

    def __init__(self, name: str) -> None:
        super().__init__()
        self._name = name

    def _setUp(self) -> None:
        self.addCleanup(time.tzset)
        self.useFixture(fixtures.EnvironmentVariable('TZ', self._name))
        time.tzset()
