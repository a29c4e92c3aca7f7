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


"""Leases of instances that share compute hosts."""


from ironic_reservations import errors
from ironic_reservations.engine.lease_cycle import health as lease_health
from ironic_reservations.engine.leases import heal as lease_heal
from ironic_reservations.model import inventories
from ironic_reservations.model import leases
from tests import leasing
from tests.inprocess.engine import compute_leases


class TestSharing(compute_leases.ComputeTestCase):

    def test_more_instances_than_hosts(self):
        hosts = self.leasing.compute_hosts(2)
        made = self.leasing.create(1, 2, leasing.instances(8, 2))
        self.assertEqual(dict.fromkeys(hosts, 4), self.places(made))

    def test_affinity_is_one_host_and_the_contrary_is_all_different(self):
        self.leasing.compute_hosts(3)
        together = self.leasing.create(1, 2, leasing.instances(
            4, 2, affinity=True))
        apart = self.leasing.create(2, 3, leasing.instances(
            3, 2, affinity=False))
        self.assertEqual([4], list(self.places(together).values()))
        self.assertEqual([1, 1, 1], list(self.places(apart).values()))
        refused = self.leasing.refused(2, 3, leasing.instances(
            4, 1, affinity=False))
        self.assertIn('needs 4 hosts', str(refused))

    def test_windows_back_to_back_share_nothing(self):
        """No margin: nobody cleans a host because an instance has left."""
        self.leasing.compute_hosts(1)
        for start in (1, 2, 3):
            self.leasing.create(start, start + 1, leasing.instances(4, 2))

    def test_whole_hosts_are_nodes_of_ironic(self):
        self.leasing.compute_hosts(3)
        reason, = self.leasing.refused(1, 2).details['reasons']
        self.assertEqual('no_host_is_open', reason['code'])
        self.assertIn('as a whole: to use the 3 compute hosts',
                      reason['detail'])
        node, = self.leasing.hosts(1)
        self.assertEqual({node}, self.leasing.nodes(self.leasing.create(1, 2)))

    def test_instances_leave_a_node_to_whom_needs_it_whole(self):
        """They go where there is a share for them."""
        node, = self.leasing.hosts(1, properties=leasing.sizes(8, 65536))
        first = self.leasing.create(1, 2, leasing.instances(1, 2))
        self.assertEqual({node}, self.leasing.nodes(first))
        shared, = self.leasing.compute_hosts(1)
        whole = self.leasing.create(1, 2)
        self.assertEqual({node}, self.leasing.nodes(whole))
        self.assertEqual({shared: 1}, self.places(first))

    def test_refusal_says_what_each_host_lacks_and_when(self):
        host, = self.leasing.compute_hosts(1)
        self.leasing.create(1, 3, leasing.instances(3, 2))
        refused = self.leasing.refused(2, 4, leasing.instances(2, 2))
        reason, = refused.details['reasons']
        self.assertEqual(('shortage', 1), (reason['code'],
                                           reason['hosts_short']))
        self.assertEqual([{
            'host': str(self.leasing.host_id(host)), 'room': 1, 'short': [{
                'resource_class': 'VCPU', 'amount': 2,
                'start_date': leasing.at(2).isoformat(),
                'end_date': leasing.at(3).isoformat()}]}], reason['hosts'])
        self.assertEqual(['later', 'fewer'], [
            offer['kind'] for offer in refused.details['offers']])
        for offer in refused.details['offers']:
            self.leasing.post(offer, dry_run=True)

    def test_who_was_outrun_takes_another_host(self):
        """All pack the same one; so the next attempt is made elsewhere."""
        self.leasing.compute_hosts(2)
        other = self.another()
        meanwhile = []
        self.world.before_next_write(lambda: meanwhile.append(
            other.create(1, 2, leasing.instances(1, 2))))
        made = self.leasing.create(1, 2, leasing.instances(1, 2))
        self.assertNotEqual(self.places(meanwhile[0]), self.places(made))

    def test_what_others_use_is_not_to_be_had(self):
        host, = self.leasing.compute_hosts(1)
        self.set_vcpus(host, used=5)
        self.leasing.create(1, 2, leasing.instances(1, 3))
        self.leasing.refused(1, 2, leasing.instances(1, 1))


class TestChange(compute_leases.ComputeTestCase):

    def test_amount_grows_and_shrinks_before_and_after_the_start(self):
        host, = self.leasing.compute_hosts(1)
        made = self.leasing.create(None, 2, leasing.instances(2, 2))
        self.leasing.resize_instances(made, 4)
        self.assertEqual({host: 4}, self.places(made))
        self.assertRaises(errors.LeaseRefused,
                          self.leasing.resize_instances, made, 5)
        self.leasing.resize_instances(made, 1)
        self.leasing.create(3, 4, leasing.instances(4, 2))

    def test_started_instances_stay_and_grow_beside_each_other(self):
        """With affinity on the one host that they have."""
        self.leasing.compute_hosts(3)
        made = self.leasing.create(None, 2, leasing.instances(
            2, 2, affinity=True))
        there = self.places(made)
        self.leasing.clock_passes(0.5)
        self.leasing.resize_instances(made, 4)
        self.assertEqual(dict.fromkeys(there, 4), self.places(made))
        self.assertRaises(errors.LeaseRefused,
                          self.leasing.resize_instances, made, 5)

    def test_extension_moves_those_that_have_not_started(self):
        first, second = self.leasing.compute_hosts(2)
        made = self.leasing.create(None, 2, leasing.instances(1, 8))
        later = self.leasing.create(2, 3, leasing.instances(1, 8))
        self.leasing.clock_passes(0.5)
        self.leasing.change(made, end=3)
        self.assertEqual({first: 1, second: 1}, {**self.places(made),
                                                 **self.places(later)})

    def test_extension_moves_an_affinity_group_as_one(self):
        """Its instances are not torn apart by another tenant's extension.

        Where no host has room for all of them, the extension is refused.
        """
        self.configure(allow_extension_on_closed_hosts=True)
        (host,) = self.leasing.compute_hosts(1, vcpus=8)
        first = self.leasing.create(0, 10, leasing.instances(1, 7))
        group = self.leasing.create(
            10, 20, leasing.instances(2, 1, affinity=True))
        self.leasing.clock_passes(0.5)
        self.leasing.compute_hosts(2, vcpus=1)
        self.leasing.change_host(host, reservable=False)
        self.refuse(first, end=15)
        self.assertEqual({host}, self.leasing.nodes(group))
        (large,) = self.leasing.compute_hosts(1, vcpus=2)
        self.leasing.change(first, end=15)
        self.assertEqual({large}, self.leasing.nodes(group))


class TestHealing(compute_leases.ComputeTestCase):

    def assert_sound(self, there):
        """Assert that nothing is outdated; a host may have become smaller."""
        self.assertEqual([], there.overlaps())
        self.assertEqual({}, there.stale())

    def test_host_that_shrinks_keeps_what_has_room(self):
        """The others go where there is room, those together, together."""
        first, = self.leasing.compute_hosts(1)
        begun = self.leasing.create(None, 9, leasing.instances(1, 4))
        together = self.leasing.create(1, 2, leasing.instances(
            2, 2, affinity=True))
        second, = self.leasing.compute_hosts(1)
        self.set_vcpus(first, total=5)
        self.assertEqual(2, lease_heal.heal(self.engine))
        self.assertEqual(({first: 1}, {second: 2}), (
            self.places(begun), self.places(together)))

    def test_nowhere_to_go_is_flagged(self):
        host, = self.leasing.compute_hosts(1)
        made = self.leasing.create(1, 2, leasing.instances(2, 4))
        self.set_vcpus(host, total=4)
        self.assertEqual(0, lease_heal.heal(self.engine))
        lease_health.check(self.engine)
        self.assertTrue(self.leasing.reload(
            made).reservations[0].missing_resources)

    def test_instances_that_are_together_leave_together(self):
        first, second = self.leasing.compute_hosts(2)
        made = self.leasing.create(1, 2, leasing.instances(
            2, 2, affinity=True))
        there, = self.places(made)
        row = self.leasing.reload(made).bookings[0]
        self.assertEqual(2, lease_heal.replace(
            self.engine, made.id, [row.id], [there]))
        self.assertEqual({second if there == first else first: 2},
                         self.places(made))

    def test_inventory_of_a_ratio_is_had_as_often(self):
        host, = self.leasing.compute_hosts(1)
        self.set_vcpus(host, allocation_ratio=4.0)
        made = self.leasing.create(1, 2, leasing.instances(16, 2))
        self.assertEqual({host: 16}, self.places(made))
        self.assertEqual(inventories.Inventory(8, allocation_ratio=4.0,
                                               max_unit=8), dict(
            self.host(host).node.inventories)['VCPU'])
        # One alone takes no more than the host has once.
        self.leasing.refused(3, 4, leasing.instances(1, 9))

    def test_share_without_room_proves_nothing_to_others(self):
        """It stays where it is; so nothing needs the room for it elsewhere.

        What was refused another tenant, with proof, was accepted once the
        share was gone, although it gained nothing by that.
        """
        gold, silver = (leasing.of_class(each) for each in ('gold', 'silver'))
        (shrunk,) = self.leasing.compute_hosts(1, 6, resource_class='gold')
        self.leasing.create(0, 10, leasing.instances(1, 4))
        stuck = self.leasing.create(
            5, 10, leasing.instances(1, 2, properties=gold))
        (wanted,) = self.leasing.compute_hosts(1, 4, resource_class='silver')
        moved = self.leasing.create(5, 10, leasing.instances(1, 1))
        self.assertEqual({wanted}, self.leasing.nodes(moved))
        (spare,) = self.leasing.compute_hosts(1, 2, resource_class='bronze')
        self.leasing.clock_passes(0.5)
        self.leasing.resize_host(shrunk, 4)
        self.assertEqual(0, lease_heal.heal(self.engine))
        made = self.leasing.create(
            5, 10, leasing.instances(1, 4, properties=silver))
        self.assertEqual([{wanted}, {spare}, {shrunk}], [
            self.leasing.nodes(each) for each in (made, moved, stuck)])

    def host(self, uuid) -> leases.Host:
        """Read a host."""
        snapshot = self.leasing.snapshot()
        return snapshot.host_state(snapshot.host_set.number(uuid)).host
