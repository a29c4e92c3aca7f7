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

"""What leases have had is known to the day, whoever counts and when."""

import collections
import datetime
import random

from ironic_reservations import errors
from ironic_reservations.engine.in_flight import admission
from ironic_reservations.engine.leases import purge
from ironic_reservations.features.usage import periods
from ironic_reservations.features.usage import usage
from ironic_reservations.features.usage import values
from ironic_reservations.lifecycle import admit
from tests import leasing
from tests import servers
from tests import world
from tests.inprocess.reconciler import leases

HOUR = 3600 * 1000000
_FIRST = world.NOON.date()


class _Usage(leases.TestCase):

    def pass_by(self):
        """Do what the reconcilers do."""
        for _ in range(3):
            self.leasing.refresh()
            usage.record_deployments(self.engine)
            self.work()

    def until(self, hours):
        self.at(hours)
        self.pass_by()

    def deploy(self, lease, node):
        through = admission.admit(self.engine, node, lease.reservations[0].id)
        self.ironic.deploy(node, world.new_uuid())
        admission.close(self.engine, through, True)

    def undeploy(self, lease, node):
        through = admission.admit(self.engine, node, lease.reservations[0].id,
                                act=admit.Act.FREE)
        self.ironic.free(node)
        admission.close(self.engine, through, True)

    def told(self, project_id=leasing.PROJECT, **asked):
        asked.setdefault('first', _FIRST)
        asked.setdefault('last', _FIRST + datetime.timedelta(days=9))
        return usage.read(self.engine, usage.UsageRequest(
            project_id=project_id, **asked))

    def hours(self, **asked):
        """Return promised, bound and deployed hours, by day of March."""
        return {row.day.day: (row.promised / HOUR, row.bound / HOUR,
                              row.deployed / HOUR)
                for row in self.told(by=[values.Group.DAY], **asked).rows}


@servers.also
class TestOne(_Usage):
    """A lease of two hosts, from one in the afternoon for two days."""

    def setUp(self):
        super().setUp()
        self.leasing.hosts(2, resource_class='gold')
        self.made = self.leasing.create(1, 49, leasing.wish(2))

    def test_before_its_start_it_is_promised(self):
        self.assertEqual({1: (22, 0, 0), 2: (48, 0, 0), 3: (26, 0, 0)},
                         self.hours())

    def test_as_it_goes_on_and_when_it_is_forgotten(self):
        self.until(1)
        one, two = sorted(self.leasing.nodes(self.made))
        self.at(3)
        self.deploy(self.made, one)
        self.until(6)
        self.assertEqual((22, 10, 3), self.hours()[1])
        self.undeploy(self.made, one)
        self.pass_by()
        self.until(8)
        self.deploy(self.made, one)
        self.until(24)
        self.deploy(self.made, two)
        self.until(36)
        expected = {1: (22, 22, 7), 2: (48, 48, 36), 3: (26, 0, 0)}
        self.assertEqual(expected, self.hours())
        self.leasing.resize(self.made, give_back=[two])
        self.until(40)
        self.until(49)
        self.until(50)
        self.assert_status(leases.STATUS.TERMINATED, self.made)
        after = {**expected, 3: (13, 13, 13)}
        self.assertEqual(after, self.hours())
        self.at(24 * 200)
        self.assertEqual(1, purge.purge_expired(self.engine))
        self.assertEqual(after, self.hours())
        self.assertEqual([], self.leasing.rows())

    def begun(self):
        """Return a node of the lease at two."""
        self.until(2)
        return self.leasing.reload(self.made).bookings[0].node_uuid

    def deployed(self, others):
        """Return the deployed hours of the first day.

        :param others: what happens while a pass stands still.
        """
        self.leasing.refresh()
        self.world.before_next_write(others)
        usage.record_deployments(self.engine)
        self.until(7)
        return self.hours()[1][2]

    def test_pass_that_stood_still_ends_no_later_deployment(self):
        """From two to four, and from four to seven."""
        node = self.begun()
        self.deploy(self.made, node)
        self.until(3)
        self.undeploy(self.made, node)

        def others():
            self.until(4)
            self.deploy(self.made, node)
            self.until(5)
        self.assertEqual(5, self.deployed(others))

    def test_pass_that_stood_still_begins_no_deployment_that_is_over(self):
        node = self.begun()
        self.ironic.deploy(node, world.new_uuid())

        def others():
            self.until(3)
            self.ironic.free(node)
            self.until(4)
        self.assertEqual(1, self.deployed(others))

    def test_pass_that_stood_still_begins_none_of_a_deleted_booking(self):
        """Such a booking had no row that could have shown that it is over."""
        node = self.begun()
        self.ironic.deploy(node, world.new_uuid())

        def others():
            self.at(3)
            self.world.change(node, provision_state='available',
                              instance_uuid=None)
            self.leasing.end(self.made)
            self.work()
            self.assertEqual([], self.leasing.rows())
        self.assertEqual(0, self.deployed(others))

    def test_each_project_and_each_class(self):
        self.leasing.hosts(1, resource_class='tin')
        self.leasing.create(2, 4, leasing.wish_of('tin'), project_id='other')
        self.assertEqual(22, self.hours(last=_FIRST)[1][0])
        rows = self.told(every=True, last=_FIRST).rows
        self.assertEqual(
            [('other', 'tin', 2 * HOUR), ('ours', 'gold', 22 * HOUR)],
            [(row.project_id, row.resource_class, row.promised)
             for row in rows])
        self.assertEqual(24 * HOUR, self.told(every=True,
                                              last=_FIRST).total.promised)
        self.assertEqual([], self.told('nobody').rows)

    def test_compute_hosts_are_not_counted(self):
        self.leasing.compute_hosts(1)
        self.leasing.create(1, 4, leasing.instances(1), project_id='other')
        self.until(1)
        self.until(5)
        self.assertEqual([], self.told('other').rows)

    def test_what_is_now(self):
        self.until(1)
        self.deploy(self.made, min(self.leasing.nodes(self.made)))
        with self.engine.database.read() as connection:
            self.assertEqual({'gold': (2, 1)}, periods.count_now(
                connection, self.world.clock()))

    def test_too_much_is_refused_before_it_is_made(self):
        day = datetime.timedelta(days=1)
        for first, last in ((_FIRST, _FIRST - day),
                            (_FIRST, _FIRST + 366 * day)):
            self.assertRaises(errors.InvalidValue, self.told, first=first,
                              last=last)
        self.patch(usage, 'MOST_ROWS', 9)
        refused = self.assertRaises(errors.InvalidValue, self.told)
        self.assertIn('10 rows', str(refused))
        self.told(by=[values.Group.CLASS])


@servers.also_postgresql
class TestMany(_Usage):
    """Leases come, use their hosts, change and end, at random."""

    def test_what_is_told_is_what_a_watch_by_the_quarter_hour_saw(self):
        """Whoever writes down each quarter of an hour who has what."""
        chance = random.Random(5)
        nodes = self.leasing.hosts(4, resource_class='gold')
        saw = collections.Counter()
        made = []
        for quarter in range(4 * 40):
            hour = quarter / 4
            self.at(hour)
            if quarter % 4 == 0:
                self.pass_by()
                self._act(chance, made, hour)
                self.pass_by()
            rows = [row for row in self.leasing.rows()
                    if row['starts_at'] <= self.world.clock.now
                    < row['expires_at'] and row['state'] != 'ending']
            day = self.world.clock.now.day
            for row in rows:
                saw[day, 'bound'] += 1
                saw[day, 'deployed'] += self.ironic.there[
                    row['node_uuid']].provision_state == 'active'
        self.at(40)
        self.pass_by()
        told = self.told(by=[values.Group.DAY],
                         last=self.world.clock.now.date())
        self.assertEqual(
            {key: count for key, count in saw.items() if count},
            {(row.day.day, name): round(4 * getattr(row, name) / HOUR)
             for row in told.rows for name in ('bound', 'deployed')
             if getattr(row, name)})
        self.assertGreater(sum(saw.values()), 200)
        self.assertLess(told.total.deployed, told.total.bound)
        self.assertEqual(set(nodes), set(self.ironic.there))

    def _act(self, chance, made, hour):
        """Do one thing, on a full hour."""
        live = [lease for lease in made
                if self.lease(lease).status is leases.STATUS.ACTIVE]
        if len(live) < 2:
            try:
                made.append(self.leasing.create(
                    None, hour + chance.choice((2, 5, 9)),
                    leasing.wish(chance.choice((1, 2)))))
            except errors.LeaseRefused:
                return
            return
        lease = self.lease(chance.choice(live))
        node = chance.choice(sorted(self.leasing.nodes(lease)))
        state = self.ironic.there[node].provision_state
        match chance.choice(('use', 'use', 'shorten', 'give back')):
            case 'use' if state == 'available':
                self.deploy(lease, node)
            case 'use':
                self.undeploy(lease, node)
            case 'shorten' if lease.end > leasing.at(hour + 1):
                self.leasing.change(lease, end=hour + 1)
            case 'give back' if len(self.leasing.nodes(lease)) > 1:
                self.leasing.resize(lease, give_back=[node])
