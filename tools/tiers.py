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

import pathlib
import re

from tools import durations

#: Classes of tests on a database server; those that the gate runs are listed.
_OF_A_SERVER = re.compile('mysql|mariadb|postgresql', re.IGNORECASE)
_TWINS = pathlib.Path('tests', 'twins.txt')
#: Tests on all databases, each of which says something about its own.
_ON_EACH_DATABASE = ('tests.inprocess.schema.', 'tests.inprocess.db.')
#: Of those that start several processes or a browser: the beginnings of
#: names.
_SMOKE = (
    'tests.processes.checker.',
    'tests.processes.docs.test_demo.',
    'tests.processes.docs.test_walkthrough.',
    'tests.processes.browser.test_look.LookTestCase.',
    'tests.processes.browser.test_book.',
    'tests.processes.proof.test_history.',
    'tests.processes.proof.test_proof.SqliteTestCase.',
    'tests.processes.schema.',
    'tests.processes.test_forked_child.',
    'tests.processes.test_journal.',
    'tests.processes.test_operators.',
    'tests.processes.test_real_parts.',
    'tests.processes.test_storm.SqliteTestCase.',
    'tests.processes.test_wire.',
    'tests.processes.test_workers.',
)


class Gate:
    """The tests that each change has to pass.

    :param twins: of the tests on a database server, those that run a
        statement, a lock or a race that no other one does: beginnings of
        their names (:mod:`tools.twins`).
    """

    def __init__(self, twins: tuple[str, ...]) -> None:
        self._twins = twins

    @classmethod
    def of_this_tree(cls) -> Gate:
        """Return the gate with the twins that are listed."""
        lines = _TWINS.read_text().splitlines() if _TWINS.exists() else ()
        return cls(tuple(line for line in lines
                         if line and not line.startswith('#')))

    def has(self, test: str) -> bool:
        """Return whether the gate runs a test."""
        if test.startswith('tests.processes.'):
            return test.startswith(_SMOKE)
        return not needs_server(test) or test.startswith(
            (*self._twins, *_ON_EACH_DATABASE))


def needs_server(test: str) -> bool:
    """Return whether a test is one on MariaDB or PostgreSQL."""
    return bool(_OF_A_SERVER.search(
        durations.class_of(test).rpartition('.')[2]))
