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

"""What is written of the statements that a test sends."""

import pathlib

import fixtures
import sqlalchemy as sa

from ironic_reservations.db import tables
from tests import servers
from tests import statements_seen
from tests import world
from tools import twins


class _SeenTestCase(world.TestCase):

    def sent_by(self, there, act):
        """Return the statements that something sends, by their texts."""
        folder = pathlib.Path(self.useFixture(fixtures.TempDir()).path)
        seen = statements_seen.Seen(folder)
        sa.event.listen(there.engine.database.engine,
                        'before_cursor_execute', seen.look)
        seen.watched(lambda case, result: act())(self)
        self.records = twins.Records(folder)
        return {each.text: each for each in self.records.statements.values()}


class TestSeen(_SeenTestCase):

    def setUp(self):
        super().setUp()
        self.world = self.new_world()

    def test_who_sends_it(self):
        (node,) = self.world.enrol()
        sent = self.sent_by(self.world, lambda: self.world.reserve(node))
        (insert,) = (each for text, each in sent.items()
                     if text.startswith('INSERT INTO reservations '))
        self.assertEqual('ironic_reservations.db.store.Rows.insert_one',
                         insert.sender)
        self.assertTrue(insert.text.endswith(' VALUES (?)'))
        self.assertFalse(insert.own)
        self.assertEqual([self.id()], [one.test for one in self.records.ran])

    def test_however_many_values(self):
        self.world.enrol(mirrored=False)
        once = self.sent_by(self.world, self.world.refresh)
        self.world.empty()
        self.world.enrol(3, mirrored=False)
        self.assertEqual(once.keys(),
                         self.sent_by(self.world, self.world.refresh).keys())

    def test_tests_send_nothing(self):
        self.assertEqual({}, self.sent_by(self.world, self.world.mirrored))

    def test_what_is_written_for_one_database(self):
        def begin():
            with self.world.engine.database.write() as writing:
                writing.execute(sa.select(tables.nodes.c.uuid))
        (begins,) = self.sent_by(self.world, begin).values()
        self.assertTrue(begins.own)


@servers.also
class TestAlike(_SeenTestCase):
    """A reservation and its use, on this database and on SQLite."""

    def test_the_same_statements(self):
        sent = []
        for there in (self.new_world(), self.useFixture(world.World())):
            sent.append({text for text, each in self.sent_by(
                there, lambda there=there: there.use(
                    there.reserve(*there.enrol()))).items() if not each.own})
        self.assertGreater(len(sent[0]), 5)
        self.assertEqual(*sent)
