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

"""The tests that are needed on the servers, and untested statements."""

import contextlib
import io
import json
import pathlib
from unittest import mock

import fixtures
import testtools

from tools import twins

ENGINE = 'tests.inprocess.engine.test_a'
API = 'tests.inprocess.api.test_a'


class TwinsTestCase(testtools.TestCase):

    def setUp(self):
        super().setUp()
        self.folder = pathlib.Path(self.useFixture(fixtures.TempDir()).path)
        self.list = self.folder / 'twins.txt'
        self.list.write_text('')
        self.useFixture(fixtures.MockPatchObject(twins, 'LIST', self.list))

    def ran(self, test, cpu=0.1, wall=1, threads=1, own=(), **sent):
        """Record that a test sends statements, each named by a letter."""
        letters = set().union(*sent.values())
        made = {letter: twins.Statement(f'SELECT {letter}', f'db.{letter}',
                                        letter in own) for letter in letters}
        with (self.folder / '1.jsonl').open('a') as lines:
            lines.write(json.dumps({
                'test': test, 'cpu': cpu, 'wall': wall, 'threads': threads,
                'sent': {kind: [made[letter].key for letter in each]
                         for kind, each in sent.items()},
                'new': {each.key: each.__dict__ for each in made.values()}
            }) + '\n')

    def kept(self, before=()):
        return twins.kept(twins.Records(self.folder), before)


class TestCheck(TwinsTestCase):

    def check(self):
        with contextlib.redirect_stdout(io.StringIO()) as told:
            ended = twins.main(['check', str(self.folder)])
        return ended, told.getvalue()

    def test_each_statement_was_everywhere(self):
        self.ran(f'{API}.T.test_1', sqlite='ab')
        self.ran(f'{API}.TOnMysql.test_1', mysql='ab')
        self.ran(f'{API}.TOnPostgresql.test_1', postgresql='a')
        self.ran(f'{API}.TOnPostgresql.test_2', postgresql='bc')
        self.assertEqual((0, ''), self.check())

    def test_statement_that_a_server_was_not_sent(self):
        self.ran(f'{API}.T.test_1', sqlite='ab')
        self.ran(f'{API}.TOnMysql.test_1', mysql='ab')
        self.ran(f'{API}.TOnPostgresql.test_1', postgresql='a')
        ended, told = self.check()
        self.assertEqual(1, ended)
        for part in ('PostgreSQL', 'SELECT b', 'db.b', f'{API}.T.test_1',
                     f'python -m tools.twins keep {self.folder}'):
            self.assertIn(part, told)
        for part in ('MariaDB', 'SELECT a'):
            self.assertNotIn(part, told)

    def test_what_is_written_for_sqlite_is_for_no_other(self):
        self.ran(f'{API}.T.test_1', sqlite='ab', own='b')
        self.ran(f'{API}.TOnBoth.test_1', mysql='a', postgresql='a')
        self.assertEqual((0, ''), self.check())

    def test_server_that_no_test_has_reached(self):
        self.ran(f'{API}.TOnMysql.test_1', mysql='a')
        ended, told = self.check()
        self.assertEqual(1, ended)
        self.assertIn('No test has sent a statement to PostgreSQL.', told)

    def test_line_of_a_test_that_is_no_more(self):
        self.ran(f'{API}.TOnBoth.test_1', mysql='a', postgresql='a')
        self.list.write_text(f'# Once.\n{API}.TOnBoth\n{API}.TOnBo\n')
        ended, told = self.check()
        self.assertEqual(1, ended)
        self.assertIn(f'{API}.TOnBo is in the list', told)
        self.assertNotIn(f'{API}.TOnBoth is', told)


class TestKeep(TwinsTestCase):

    def test_what_is_sent_now_and_then_is_not_relied_on(self):
        self.ran(f'{API}.T.test_1', mysql='ab')
        self.ran(f'{API}.T.test_1', mysql='a')
        self.ran(f'{API}.T.test_2', mysql='b', cpu=5)
        self.assertEqual([f'{API}.T.test_1', f'{API}.T.test_2'], self.kept())

    def test_cheapest_that_send_everything(self):
        self.ran(f'{API}.T.test_1', mysql='ab', cpu=5)
        self.ran(f'{API}.T.test_2', mysql='a')
        self.ran(f'{API}.T.test_3', mysql='b')
        self.ran(f'{API}.T.test_4', mysql='b', cpu=0.3)
        self.assertEqual([f'{API}.T.test_2', f'{API}.T.test_3'], self.kept())

    def test_each_server_has_its_own(self):
        self.ran(f'{API}.TOnMysql.test_1', mysql='a')
        self.ran(f'{API}.TOnPostgresql.test_1', postgresql='a')
        self.assertEqual([f'{API}.TOnMysql.test_1',
                          f'{API}.TOnPostgresql.test_1'], self.kept())

    def test_one_that_others_have_made_needless(self):
        self.ran(f'{API}.T.test_1', mysql='abcd', cpu=0.3)
        self.ran(f'{API}.T.test_2', mysql='abe', cpu=0.32)
        self.ran(f'{API}.T.test_3', mysql='cdf', cpu=0.32)
        self.assertEqual([f'{API}.T.test_2', f'{API}.T.test_3'], self.kept())

    def test_what_the_gate_runs_anyway_is_no_line(self):
        self.ran('tests.inprocess.schema.test_steps.T.test_1', mysql='a')
        self.ran(f'{API}.T.test_1', mysql='a')
        self.assertEqual([], self.kept())

    def test_line_stays_where_another_is_hardly_cheaper(self):
        self.ran(f'{API}.T.test_1', mysql='a', cpu=0.09)
        self.ran(f'{API}.T.test_2', mysql='a', cpu=0.1)
        self.assertEqual([f'{API}.T.test_2'],
                         self.kept([f'{API}.T.test_2']))

    def test_line_stays_whose_test_did_not_run(self):
        self.ran(f'{API}.T.test_1', mysql='a')
        self.assertEqual([f'{API}.T.test_1', f'{API}.U'],
                         self.kept([f'{API}.U']))

    def test_again_in_another_run_costs_no_more(self):
        self.ran(f'{API}.T.test_1', mysql='a', cpu=5)
        self.ran(f'{API}.T.test_2', mysql='a', cpu=1)
        self.ran(f'{API}.T.test_1', mysql='a', cpu=0.1)
        self.assertEqual([f'{API}.T.test_1'], self.kept())

    def test_scenarios_are_one_test_as_stestr_lists_it(self):
        self.ran(f'{API}.T.test_1(some)', mysql='a', cpu=3)
        self.ran(f'{API}.T.test_1(other)', mysql='b', cpu=3)
        self.assertEqual([f'{API}.T.test_1'], self.kept())

    def test_locks(self):
        """These are tests of classes for a server, which has locks."""
        self.ran(f'{ENGINE}.TestMariaDB.test_1', mysql='a')
        self.ran(f'{ENGINE}.TestOnMysql.test_2', mysql='a')
        self.ran(f'{ENGINE}.TestMariaDB.test_3', mysql='a', cpu=5)
        self.ran(f'{API}.TestMariaDB.test_1', mysql='a')
        waits = 'tests.inprocess.db.test_silent_server.TestMariaDB'
        self.ran(f'{waits}.test_4', mysql='a')
        self.ran(f'{waits}.test_5', mysql='a', wall=9)
        self.assertEqual([f'{waits}.test_4', f'{ENGINE}.TestMariaDB.test_1'],
                         self.kept())

    def test_races_of_threads(self):
        for threads in (1, 2):
            self.ran(f'{ENGINE}.T.test_{threads}', sqlite='a',
                     threads=threads)
            self.ran(f'{ENGINE}.TOnMysql.test_{threads}', mysql='a',
                     threads=threads)
        self.assertEqual([f'{ENGINE}.TOnMysql.test_2'], self.kept())

    def test_list_is_written(self):
        self.ran(f'{API}.T.test_1', mysql='a', postgresql='a')
        with mock.patch('sys.stdout'):
            self.assertEqual(0, twins.main(['keep', str(self.folder)]))
        self.assertEqual([f'{API}.T.test_1'], twins.read())
        self.assertTrue(self.list.read_text().startswith('# '))


class TestSelects(testtools.TestCase):

    def test_whole_names(self):
        for line, test, selected in (
                ('m.T.test_a', 'm.T.test_a', True),
                ('m.T', 'm.T.test_a', True),
                ('m.T.test_a', 'm.T.test_ab', False),
                ('m.T', 'm.TOnMysql.test_a', False)):
            self.assertEqual(selected, twins.selects(line, test), line)


class TestParts(testtools.TestCase):

    def assert_of(self, parts, *texts):
        self.assertEqual(parts, set().union(*(
            twins.parts(twins.Statement(text, 'db.a', own=False))
            for text in texts)))

    def test_condition_is_the_same_wherever_it_is(self):
        self.assert_of(
            {'SELECT a.b FROM a', 'a.c = ?', 'a.d IS NULL', 'ORDER BY a.b'},
            'SELECT a.b FROM a WHERE a.c = ?',
            'SELECT a.b FROM a WHERE (a.d IS NULL) AND a.c = ? ORDER BY a.b',
            'SELECT a.b FROM a WHERE (a.d IS NULL OR a.c = ?)')

    def test_what_is_written_is_a_part_each(self):
        self.assert_of({'UPDATE a', 'b=?', 'c=coalesce(a.c, ?', 'a.d = ?'},
                       'UPDATE a SET b=?, c=coalesce(a.c, ?) WHERE a.d = ?')

    def test_what_is_counted_through_is_the_same(self):
        self.assert_of(
            {'SELECT max(a.b) AS max_, anon_.c FROM (SELECT a.c FROM a',
             'a.d = ?', 'FROM b'},
            'SELECT max(a.b) AS max_1, anon_2.c FROM (SELECT a.c FROM a '
            'WHERE a.d = ?) AS anon_2 FROM b',
            'SELECT max(a.b) AS max_2, anon_1.c FROM (SELECT a.c FROM a '
            'WHERE a.d = ?) AS anon_1 FROM b')

    def test_what_one_database_has_is_whole(self):
        text = 'SET a = 1 AND b'
        self.assertEqual({text}, twins.parts(
            twins.Statement(text, 'db.a', own=True)))
