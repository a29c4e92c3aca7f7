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

"""Who asks while the database is lost gets an error without a name."""

from __future__ import annotations

import contextlib

from ironic_reservations.db import connection
from tests.processes import mix

BEST = mix.Best(mix.Mix(
    faults={'cut': 1}, pause=(0.3, 1.0), lives={'reserve': 1, 'lease': 1}))
FOUND_AS = 'error'
KEPT_BY = (
    'tests.inprocess.api.test_operations.TestDatabaseDown.'
    'test_every_request_is_a_503',)


def apply() -> None:
    """Break this process."""
    assert connection.translated
    connection.translated = contextlib.nullcontext
