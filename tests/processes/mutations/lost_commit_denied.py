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


"""A lost answer to COMMIT is taken for a COMMIT that was never done."""

from __future__ import annotations

from typing import Any

from ironic_reservations.db import connection
from tests.processes import mix

BEST = mix.Best(mix.Mix(
    faults={'swallow': 1}, aims=('INSERT INTO reservations',),
    pause=(0.3, 1.0), lives={'reserve': 1}))
FOUND_AS = 'untrue answer'
KEPT_BY = (
    'tests.inprocess.db.test_unanswered_commit.TestUnansweredCommit.'
    'test_nobody_says_that_nothing_was_done',)


def apply() -> None:
    """Break this process."""
    def commit(_: Any, transaction: Any) -> None:
        transaction.commit()
    assert connection._commit
    connection._commit = commit
