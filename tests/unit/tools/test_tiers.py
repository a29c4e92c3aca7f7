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

import pathlib

import testtools

from tools import long_run
from tools import tiers

_ROOT = pathlib.Path(__file__).parents[3]
_PAGE = _ROOT / 'doc' / 'source' / 'contributor' / 'tests.rst'


class TestGate(testtools.TestCase):

    def setUp(self):
        super().setUp()
        self.gate = tiers.Gate([
            'tests.inprocess.engine.test_a.TestBOnMysql',
            'tests.inprocess.engine.test_a.TestHOnMysql.test_i'])

    def test_twins_are_in_the_gate_if_they_are_listed(self):
        for name, has in (
                ('tests.inprocess.engine.test_a.TestB.test_c', True),
                ('tests.inprocess.engine.test_a.TestBOnMysql.test_c', True),
                ('tests.inprocess.engine.test_a.TestBOnPostgresql.test_c',
                 False),
                ('tests.inprocess.engine.test_a.TestHOnMysql.test_i(j)', True),
                ('tests.inprocess.engine.test_a.TestHOnMysql.test_k', False),
                ('tests.inprocess.engine.test_d.TestMariaDB.test_mysql',
                 False),
                ('tests.inprocess.engine.test_d.TestE.test_mysql', True),
                ('tests.inprocess.db.test_migrations.TestFOnMysql.test_g',
                 True)):
            self.assertEqual(has, self.gate.has(name), name)

    def test_requests_of_stories_are_in_the_gate(self):
        self.assertTrue(self.gate.has(
            'tests.inprocess.api.test_stories.hosts_of_mysql.test_request'))

    def test_few_tests_of_processes_are_in_the_gate(self):
        self.assertTrue(self.gate.has(
            'tests.processes.checker.test_dates.TestA.test_b'))
        self.assertFalse(self.gate.has(
            'tests.processes.browser.test_touch.TouchTestCase.test_a'))

    def test_tests_of_benchmarks_are_not_in_the_gate(self):
        self.assertFalse(self.gate.has(
            'tests.inprocess.placement.test_benchmarks.TestA.test_b'))

    def test_tests_without_servers_start_none(self):
        for name, has in (
                ('tests.unit.model.test_a.TestB.test_c', True),
                ('tests.inprocess.engine.test_a.TestB.test_c', True),
                ('tests.inprocess.engine.test_a.TestBOnMysql.test_c', False),
                ('tests.processes.docs.test_demo.JsonTest.test_a', True),
                ('tests.processes.test_race.TestB.test_c', False)):
            self.assertEqual(has, tiers.without_servers(name), name)

    def test_whatever_is_left_out_has_a_piece_of_the_long_run(self):
        """The pieces cover the tree of tests."""
        covered = {argument.removeprefix('./tests/')
                   for piece in long_run.PIECES.values()
                   for argument in piece.arguments
                   if argument.startswith('./tests/')}
        self.assertEqual(
            {path.parent.relative_to(_ROOT / 'tests').parts[0]
             for path in (_ROOT / 'tests').rglob('test_*.py')},
            {each.partition('/')[0] for each in covered})

    def test_the_page_has_each_piece(self):
        text = _PAGE.read_text()
        for name in long_run.PIECES:
            self.assertIn(f'* - ``{name}``', text)


class TestPieces(testtools.TestCase):

    def test_unknown_piece_is_refused(self):
        self.assertEqual(2, long_run.main(['storm']))
