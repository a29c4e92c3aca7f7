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

"""Which tests the gate runs, and which only the long run.

The contributor's page on tests says why (doc/source/contributor/tests.rst).
"""

from __future__ import annotations

from collections.abc import Sequence
import re

from tools import durations
from tools import twins

#: Classes of tests on a database server; those that the gate runs are listed.
_OF_A_SERVER = re.compile('mysql|mariadb|postgres', re.IGNORECASE)
#: Tests on all databases, or about what is theirs alone, which all run.
_ON_EACH_DATABASE = (*twins.ALWAYS, 'tests.inprocess.db.test_sessions.',
                     'tests.inprocess.db.test_connection.',
                     'tests.inprocess.db.test_migration_turn.',
                     'tests.inprocess.db.test_poolers.')
#: Tests of what no user runs.
_OF_BENCHMARKS = ('tests.inprocess.placement.test_benchmarks.',
                  'tests.inprocess.timeline.test_calendar_benchmark.')
#: Of the tests with several processes or a browser: beginnings of names.
_SMOKE = (
    'tests.processes.ansible.test_collection.HostsTest.',
    'tests.processes.ansible.test_collection.LeasesTest.',
    'tests.processes.browser.test_book.',
    'tests.processes.browser.test_look.LookTestCase.',
    'tests.processes.checker.',
    'tests.processes.docs.test_demo.',
    'tests.processes.docs.test_scripts.',
    'tests.processes.docs.test_walkthrough.',
    'tests.processes.schema.',
    'tests.processes.test_apart.',
    'tests.processes.test_before.',
    'tests.processes.test_forked_child.',
    'tests.processes.test_journal.',
    'tests.processes.test_kept.',
    'tests.processes.test_oldest.ImportsTest.',
    'tests.processes.test_operators.',
    'tests.processes.test_own_server.',
    'tests.processes.test_planted.',
    'tests.processes.test_race.',
    'tests.processes.test_real_parts.',
    'tests.processes.test_storm.SqliteTestCase.',
    'tests.processes.test_wire.',
    'tests.processes.test_workers.',
)


#: What needs a server neither by its name nor by itself.
_WITHOUT_SERVERS = ('tests.unit.', 'tests.inprocess.',
                    'tests.processes.docs.test_demo.')


class Gate:
    """The tests that each change has to pass.

    :param listed: of the tests on a database server, those that run a
        statement, a lock or a race that no other one does: lines of the list
        that :mod:`tools.twins` makes.
    """

    def __init__(self, listed: Sequence[str]) -> None:
        self._listed = frozenset(listed)

    @classmethod
    def of_this_tree(cls) -> Gate:
        """Return the gate with the list that is kept."""
        return cls(twins.read())

    def has(self, test: str) -> bool:
        """Return whether the gate runs a test."""
        if test.startswith('tests.processes.'):
            return test.startswith(_SMOKE)
        if test.startswith(_OF_BENCHMARKS):
            return False
        if not needs_server(test) or test.startswith(_ON_EACH_DATABASE):
            return True
        return not self._listed.isdisjoint(_beginnings(test))


def needs_server(test: str) -> bool:
    """Return whether a test is one on MariaDB or PostgreSQL."""
    return bool(_OF_A_SERVER.search(
        durations.class_of(test).rpartition('.')[2]))


def without_servers(test: str) -> bool:
    """Return whether a test of the gate runs without MariaDB or PostgreSQL."""
    return test.startswith(_WITHOUT_SERVERS) and not needs_server(test)


def _beginnings(test: str) -> tuple[str, ...]:
    """Return the names by which a test may be listed."""
    # NOTE: a scenario is not part of the name.
    name = test.partition('(')[0]
    return name, name.rpartition('.')[0]
