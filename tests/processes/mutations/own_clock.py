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


"""Each process judges promises by its own wall clock."""

from __future__ import annotations

import datetime

from ironic_reservations.db import clock
from tests.processes import mix

#: Less than what a host refuses to judge with.
BEST = mix.Best(mix.Mix(
    faults={'kill': 1}, off=(4.0, -4.0), pause=(2.0, 6.0),
    lives={'reserve': 1, 'linger': 2}))
FOUND_AS = 'two owners'
KEPT_BY = (
    'tests.inprocess.db.test_clock.TestDatabaseClock.'
    'test_database_clock_that_moves_is_logged_and_followed',)


def apply() -> None:
    """Break this process."""
    clock.DatabaseClock.__call__ = (  # type: ignore[method-assign]
        lambda self: datetime.datetime.now(datetime.UTC))
