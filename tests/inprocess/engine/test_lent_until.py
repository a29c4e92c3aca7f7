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

"""What a lease and the calendar say of nodes that their owners lend."""

import datetime

from ironic_reservations.features.calendar import document as calendar
from ironic_reservations.features.calendar import values as model
from ironic_reservations.features.owners import lent
from tests import leasing
from tests import servers
from tests.inprocess.engine import owned_nodes

OWNER = owned_nodes.OWNER


@servers.also
class TestLentUntil(owned_nodes.TestCase):

    def told(self, *made):
        return lent.read(self.engine,
                         [self.leasing.reload(each) for each in made])

    def test_as_far_as_it_could_be_extended_by_now(self):
        made = self.leasing.create(1, 2)
        self.assertEqual({made.id: {self.node: leasing.at(3.5)}},
                         self.told(made))
        self.leasing.clock_passes(1)
        self.assertEqual({made.id: {self.node: leasing.at(4.5)}},
                         self.told(made))
        self.leasing.change(made, end=4.5)

    def test_of_its_own_node_nothing_is_told(self):
        own = self.leasing.create(1, 2, project_id=OWNER)
        others, = self.leasing.hosts()
        made = self.leasing.create(1, 9)
        self.assertEqual({others}, self.leasing.nodes(made))
        self.assertEqual({}, self.told(own, made))

    def test_what_was_promised_for_longer_before(self):
        others, = self.leasing.hosts()
        made = self.leasing.create(1, 9)
        self.world.change(others, owner='another')
        self.assertEqual({made.id: {others: leasing.at(9)}}, self.told(made))

    def test_nothing_where_owners_have_no_precedence(self):
        made = self.leasing.create(1, 2)
        self.configure(owner_notice=0)
        self.assertEqual({}, self.told(made))

    def test_calendar_counts_it_for_as_long(self):
        """And is another one as the time goes on, where it shows that."""
        calendars = calendar.Calendars(self.engine)
        found = {}
        for hours in (0, 1 / 60):
            self.leasing.clock_passes(hours)
            for project, loans, last in (
                    ('red', True, 6), (OWNER, True, 6), ('red', False, 6),
                    ('red', True, 3)):
                wanted = model.CalendarRequest(leasing.at(0), leasing.at(last),
                                      loans=loans)
                viewer = model.Viewer(project)
                looked = calendars.read(wanted, viewer)
                self.assertEqual(looked.sequence,
                                 calendars.sequence(wanted, viewer))
                group, = looked.calendar().classes
                found[hours, project, loans, last] = group.steps
                found.setdefault((project, loans, last), set()).add(
                    looked.sequence)
        whole = [(0, 1)]
        lasts = round(datetime.timedelta(hours=3.5).total_seconds())
        for hours in (0, 1 / 60):
            self.assertEqual([*whole, (lasts + round(hours * 3600), 0)],
                             found[hours, 'red', True, 6])
            for other in ((OWNER, True, 6), ('red', False, 6),
                          ('red', True, 3)):
                self.assertEqual(whole, found[(hours, *other)])
                self.assertEqual(1, len(found[other]))
        self.assertEqual(2, len(found['red', True, 6]))
