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

"""What reservations of instances ask for comes back from the database."""

import dataclasses
import json

import sqlalchemy as sa

from ironic_reservations.db import connection as db_connection
from ironic_reservations.db import instance_reservations as db_instances
from ironic_reservations.db import leases as db_leases
from ironic_reservations.db import tables
from ironic_reservations.model import flavors
from ironic_reservations.model import instance_flavors
from ironic_reservations.model import instance_reservations
from tests import leasing
from tests import servers
from tests import world

FLAVOR = flavors.Flavor(4, 2048, 20, 3, 512, extra_specs={
    'resources:CUSTOM_GOLD': '1', 'trait:CUSTOM_FAST': 'required',
    'trait:CUSTOM_OLD': 'forbidden', 'resources_net:CUSTOM_NIC': '2',
    'resources_gpu:VGPU': '1', 'group_policy': 'none',
    'hw:boot': "it's \u20ac"})
REQUEST = flavors.read(FLAVOR)


@servers.also
class TestInstanceReservations(world.TestCase):

    def setUp(self):
        super().setUp()
        self.leasing = leasing.Leasing(self.new_world())
        self.nodes = self.leasing.hosts(2)
        self.lease = self.leasing.create(1, 5, leasing.wish(),
                                         leasing.wish())
        self.database = self.leasing.engine.database
        one, other = self.lease.reservations
        self.sized = instance_reservations.InstanceReservation(
            one.resource_id, one.id, 2, 1024, 10, 5, False)
        self.flavored = instance_reservations.InstanceReservation(
            other.resource_id, other.id, 4, 2048, 20, 3,
            flavor_id=other.id, source_flavor_id='4' * 255, request=REQUEST,
            flavor=FLAVOR)

    def write(self, *made):
        self.leasing.world.derived.stop()
        with self.database.write() as connection:
            db_instances.insert_many(connection, made)

    def read(self):
        with self.database.read() as connection:
            return db_instances.read_of_leases(connection, [self.lease.id])

    def test_all_comes_back_as_it_was_written(self):
        self.write(self.sized, self.flavored)
        self.assertEqual({each.reservation_id: each for each in (
            self.sized, self.flavored)}, self.read())

    def test_what_was_asked_for_is_known_without_the_flavor(self):
        wanted = dataclasses.replace(self.flavored, flavor=None)
        self.write(wanted)
        self.assertEqual({wanted.reservation_id: wanted}, self.read())

    def test_largest_flavor_that_is_taken_comes_back(self):
        """A text of MariaDB holds 64 KiB."""
        specs = {f'resources_{number:063}:CUSTOM_A': '1'
                 for number in range(128)}
        flavor = flavors.Flavor(1, 1, 1, extra_specs={
            **specs, 'group_policy': 'none', 'hw:note': ''})
        left = 32_768 - len(json.dumps(flavor.extra_specs)) - 100 * 130
        flavor.extra_specs['hw:note'] = 'x' * left
        wanted = dataclasses.replace(
            self.flavored, flavor=flavor,
            request=instance_flavors.request(flavor))
        self.write(wanted)
        self.assertEqual({wanted.reservation_id: wanted}, self.read())
        with self.database.read() as connection:
            text = connection.scalar(sa.select(
                tables.instance_reservations.c.request))
        self.assertLess(len(text), 2 ** 16)
        flavor.extra_specs['hw:note'] += 'x'
        self.assertRaises(flavors.FlavorRefused, instance_flavors.request,
                          flavor)

    def test_affinity_is_one_of_three(self):
        self.leasing.world.derived.stop()
        for affinity in (True, False, None):
            wanted = dataclasses.replace(self.sized, affinity=affinity)
            with self.database.write() as connection:
                db_instances.delete_many(
                    connection, db_instances.read_of_leases(
                        connection, [self.lease.id]).values())
                db_instances.insert_many(connection, [wanted])
            self.assertIs(affinity,
                          self.read()[wanted.reservation_id].affinity)

    def test_one_is_read_by_its_reservation(self):
        self.write(self.sized)
        with self.database.read() as connection:
            self.assertEqual(self.sized, db_instances.read(
                connection, self.sized.reservation_id))
            self.assertIsNone(db_instances.read(
                connection, self.flavored.reservation_id))
            self.assertEqual({}, db_instances.read_of_leases(connection, []))

    def test_what_changes_is_written(self):
        self.write(self.sized, self.flavored)
        after = dataclasses.replace(self.flavored, amount=7, affinity=None,
                                    request=None, flavor=None,
                                    flavor_id='new')
        with self.database.write() as connection:
            db_instances.update(connection, self.flavored, after)
        self.assertEqual({each.reservation_id: each for each in (
            self.sized, after)}, self.read())

    def test_what_is_promised_by_now_is_not_overwritten(self):
        """Nor is a row that has gone: the change would be lost unseen."""
        self.write(self.sized)
        wanted = dataclasses.replace(self.sized, vcpus=1)
        for stale in ({'amount': 4}, {'vcpus': 3}, {'memory_mb': 1},
                      {'disk_gb': 1}, {'reservation_id': 'another'},
                      {'id': 'another'}):
            seen = dataclasses.replace(self.sized, **stale)
            self.assertRaises(db_connection.Conflict, self.update, seen,
                              wanted)
        self.assertEqual({self.sized.reservation_id: self.sized}, self.read())

    def update(self, before, after):
        with self.database.write() as connection:
            db_instances.update(connection, before, after)

    def test_what_has_gone_is_not_deleted_again(self):
        self.write(self.sized)
        self.assertRaises(db_connection.Conflict, self.delete, self.sized,
                          self.flavored)
        self.assertEqual([self.sized.reservation_id], list(self.read()))

    def delete(self, *gone):
        with self.database.write() as connection:
            db_instances.delete_many(connection, gone)

    def test_reservation_asks_once(self):
        self.write(self.sized)
        self.assertRaises(
            db_connection.Conflict, self.write,
            dataclasses.replace(self.sized, id='another'))

    def test_rows_of_another_lease_stay_when_one_goes(self):
        other = self.leasing.create(6, 7).reservations[0]
        kept = dataclasses.replace(self.sized, id=other.resource_id,
                                   reservation_id=other.id)
        self.write(self.sized, self.flavored, kept)
        self.delete(self.sized, self.flavored)
        self.assertEqual({}, self.read())
        with self.database.read() as connection:
            self.assertEqual({kept.reservation_id: kept},
                             db_instances.read_of_leases(
                                 connection, [each.id for each in
                                              self.leasing.all()]))
            self.assertEqual([self.lease.id], [each.id for each in (
                db_leases.read(connection, [self.lease.id]))])

    def test_nothing_to_write_is_no_statement(self):
        self.write()
        self.assertEqual({}, self.read())
