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

"""Leases that are over are forgotten, and what they had is not."""

import dataclasses
import datetime
from unittest import mock

import sqlalchemy as sa

from ironic_reservations import errors
from ironic_reservations.db import leases as db_leases
from ironic_reservations.db import tables
from ironic_reservations.engine import sweep
from ironic_reservations.engine.leases import find
from ironic_reservations.engine.leases import purge
from ironic_reservations.features.usage import lease_usage
from ironic_reservations.model import leases as values
from tests import servers
from tests.inprocess.reconciler import leases

_LEFT = (tables.leases, tables.lease_reservations, tables.lease_events,
         tables.instance_reservations, tables.reservations)


@servers.also
class TestPurge(leases.TestCase):
    """A lease from one until four that has ended, on the only node."""

    def setUp(self):
        super().setUp()
        self.node, = self.leasing.hosts(resource_class='gold')
        self.made = self.leasing.create(1, 4)
        for hours in (1, 4, 4.1):
            self.at(hours)
            self.leasing.refresh()
            self.work()
        self.assert_status(leases.STATUS.TERMINATED, self.made)

    def days(self, days):
        self.at(4.1 + 24 * days)

    def purged(self, days):
        """Return how many leases are forgotten after so many days."""
        self.days(days)
        return purge.purge_expired(self.engine)

    def usage(self):
        with self.engine.database.read() as connection:
            return [dict(row) for row in connection.execute(
                sa.select(tables.lease_usage)).mappings()]

    def rows(self):
        with self.engine.database.read() as connection:
            return sum(connection.scalar(
                sa.select(sa.func.count()).select_from(table))
                for table in _LEFT)

    def test_lease_is_kept_for_ninety_days(self):
        """The sweep leaves it until then, and deletes all of it after."""
        self.days(89.9)
        sweep.sweep(self.engine)
        self.assert_status(leases.STATUS.TERMINATED, self.made)
        self.days(90.1)
        sweep.sweep(self.engine)
        self.assertEqual(0, self.rows())
        self.assertRaises(errors.LeaseNotFound, find.get, self.engine,
                          self.made.id)

    def test_zero_keeps_leases_for_ever(self):
        """Whatever the clock says."""
        self.engine.conf.set_override('retention', 0, 'leases')
        self.assertEqual(0, self.purged(5000))
        self.assert_status(leases.STATUS.TERMINATED, self.made)

    def test_live_lease_is_never_forgotten(self):
        """One that lasts longer than leases are kept stays."""
        live = self.leasing.create(5, 24 * 365)
        self.assertEqual(1, self.purged(200))
        self.assertEqual([live.id], [each.id for each in
                                     find.page(self.engine)])

    def test_what_it_had_is_written_when_its_nodes_are_free(self):
        """Once, before the lease is forgotten, and as it is after that."""
        row, = self.usage()
        expected = {
            'reservation_id': self.made.reservations[0].id,
            'lease_id': self.made.id, 'resource_class': 'gold',
            'project_id': self.made.project_id, 'amount': 1, 'bookings': 1,
            'promised_seconds': 3 * 3600, 'bound_seconds': 3 * 3600,
            'starts_at': self.made.start, 'ended_at': self.made.end}
        self.assertEqual(expected, {key: row[key] for key in expected})
        self.purged(91)
        self.assertEqual([row], self.usage())

    def test_second_node_of_a_reservation_is_added(self):
        """One row for each class, however many bookings at whatever time."""
        lease = self.made
        again = values.NodeBooking(
            1, lease.reservations[0].id, 0, 'x', lease.start,
            lease.end + datetime.timedelta(hours=1))
        with self.engine.database.write() as connection:
            connection.execute(
                sa.update(tables.lease_usage).values(resource_class=''))
            lease_usage.add(connection, lease, [again])
        row, = self.usage()
        self.assertEqual(
            (2, 7 * 3600, 3 * 3600, again.ends_at),
            tuple(row[key] for key in ('bookings', 'promised_seconds',
                                       'bound_seconds', 'ended_at')))

    def test_process_that_dies_leaves_all_or_nothing(self):
        """What one transaction does is done, or is left for the next."""
        self.days(91)
        before = self.rows(), self.usage()

        def dies(*args):
            raise KeyboardInterrupt
        with mock.patch.object(db_leases, 'delete_many', dies):
            self.assertRaises(KeyboardInterrupt, purge.purge_expired,
                              self.engine)
        self.assertEqual(before, (self.rows(), self.usage()))
        self.assertEqual(1, purge.purge_expired(self.engine))
        self.assertEqual((0, before[1]), (self.rows(), self.usage()))

    def test_of_two_at_once_one_deletes(self):
        """The second finds it changed, and counts nothing twice.

        It stopped there, and the command with it: older leases were left.
        """
        self.days(91)
        whole = db_leases.delete_many

        def beaten(connection, over):
            tried.append(over)
            return whole(connection, over if len(tried) > 1 else [
                dataclasses.replace(each, generation=each.generation - 1)
                for each in over])
        tried = []
        with mock.patch.object(db_leases, 'delete_many', beaten):
            self.assertEqual(1, purge.purge_expired(self.engine))
        self.assertEqual(1, len(self.usage()))

    def test_one_that_has_a_node_still_is_left(self):
        """With any status; a whole batch of them is not in the way."""
        self.execute(sa.insert(tables.reservations).values(
            uuid='left', node_uuid=self.node, created_at=self.made.start,
            starts_at=self.made.start, expires_at=self.made.end,
            state='ending', place=9,
            lease_reservation_id=self.made.reservations[0].id))
        self.assertEqual(0, self.purged(91))
        self.assert_status(leases.STATUS.TERMINATED, self.made)
        self.over('later')
        now = self.engine.clock()
        self.assertEqual([1, 0], [
            purge.purge(self.engine, now, 1) for _ in range(2)])
        self.assert_status(leases.STATUS.TERMINATED, self.made)

    def over(self, *ids):
        """Write leases that are over and have no reservations."""
        self.execute(*(sa.insert(tables.leases).values(
            id=each, generation=1, name='x', starts_at=self.made.start,
            ends_at=self.made.end, status='TERMINATED', degraded=False,
            created_at=self.made.created_at,
            updated_at=self.made.end + datetime.timedelta(days=1),
            attempts=0) for each in ids))

    def test_batch_bounds_what_a_transaction_deletes(self):
        """Three are over; two are forgotten, then the last."""
        self.over('a', 'b')
        self.days(91)
        now = self.engine.clock()
        self.assertEqual([2, 1, 0], [
            purge.purge(self.engine, now, 2) for _ in range(3)])
