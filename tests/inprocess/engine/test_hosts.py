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

"""Hosts: which nodes are leased, and what an operator says of them."""

from ironic_reservations import errors
from ironic_reservations.engine import hosts
from ironic_reservations.model import leases
from tests import leasing
from tests import world
from tests.inprocess.engine import timelines


class TestHosts(timelines.TestCase):

    def host(self):
        """Return the node of a new host, and its id."""
        (node,) = self.leasing.hosts()
        return node, self.leasing.host_id(node)

    def not_found(self, act, *args):
        """Return the refusal of what is about a host that is not there."""
        return self.assertRaises(errors.HostNotFound, act, self.engine, *args)

    def test_node_becomes_a_host_whether_it_is_mirrored_or_not(self):
        """What the mirror has not seen yet is asked of Ironic."""
        for mirrored in (True, False):
            (node,) = self.world.enrol(mirrored=mirrored,
                                       resource_class='gold')
            made = hosts.add(self.engine, node, {'rack': 'a'})
            read = hosts.get(self.engine, made.id)
            self.assertEqual(
                (node, 'gold', True, {'rack': 'a'}),
                (read.node.uuid, read.node.resource_class, read.reservable,
                 dict(read.capabilities)))

    def test_machine_that_was_replaced_is_not_the_one_of_its_name(self):
        """The name is the new node's; the old host is named by its id."""
        (old,) = self.leasing.hosts(name='rack-7')
        self.world.enrol()
        gone = hosts.find(self.engine, 'rack-7')
        self.world.ironic.remove(old)
        self.world.refresh()
        self.assertEqual(gone.id, hosts.find(self.engine, 'rack-7').id)
        (new,) = self.world.enrol(name='rack-7')
        refused = self.not_found(hosts.find, 'rack-7')
        for told in (new, old, f'Host {gone.id} is of a node'):
            self.assertIn(told, str(refused))
        self.assertEqual(gone.id, hosts.find(self.engine, old).id)
        self.assertEqual(gone.id, hosts.find(self.engine, str(gone.id)).id)
        made = hosts.add(self.engine, 'rack-7', {})
        self.assertEqual(new, made.node.uuid)
        self.assertEqual(made.id, hosts.find(self.engine, 'rack-7').id)

    def test_name_of_several_hosts_names_none(self):
        """A node of Ironic and a compute host may have the same."""
        self.leasing.hosts(name='rack-7')
        self.leasing.compute_hosts(name='rack-7')
        refused = self.assertRaises(errors.InvalidValue, hosts.find,
                                    self.engine, 'rack-7')
        self.assertIn('2 hosts have the name rack-7: ', str(refused))

    def test_node_that_changed_since_it_was_mirrored_can_be_leased_at_once(
            self):
        """What Ironic has just said of it is not thrown away."""
        (node,) = self.world.enrol(provision_state='enroll')
        self.world.clock.advance(1)
        self.world.ironic.change(node, provision_state='available',
                                 resource_class='gold',
                                 traits=frozenset({'CUSTOM_GPU'}))
        hosts.add(self.engine, node, {})
        lease = self.leasing.create(1, 2, leases.LeaseReservationRequest(
            1, 1, '["and", ["==", "$resource_class", "gold"], '
            '["==", "$traits", "CUSTOM_GPU"]]'))
        self.assertEqual({node}, self.leasing.nodes(lease))

    def test_all_nodes_of_a_class_become_hosts_at_once(self):
        """Those that are hosts already stay as they are."""
        (there,) = self.leasing.hosts(resource_class='gold')
        new = self.world.enrol(2, resource_class='gold')
        self.world.enrol(1, resource_class='silver')
        made = hosts.add_class(self.engine, 'gold', {'rack': 'a'})
        self.assertEqual(set(new), {host.node.uuid for host in made})
        self.assertEqual([], hosts.add_class(self.engine, 'gold', {}))
        self.assertEqual({}, dict(hosts.find(self.engine, there).capabilities))
        self.assertEqual(3, len(hosts.page(self.engine)))

    def test_nodes_that_do_not_exist_are_no_hosts(self):
        """Neither one nor a class of them."""
        self.not_found(hosts.add, world.new_uuid(), {})
        self.not_found(hosts.add_class, 'gold', {})

    def test_host_is_added_once(self):
        """A second time is told, and two at once are one."""
        (node,) = self.leasing.hosts()
        self.assertRaises(errors.HostExists, hosts.add, self.engine, node, {})
        (other,) = self.world.enrol()
        process = self.world.another_engine()
        self.world.before_next_write(lambda: hosts.add(process, other, {}))
        self.assertRaises(errors.HostExists, hosts.add, self.engine, other, {})
        self.assertEqual(2, len(hosts.page(self.engine)))

    def test_each_node_of_one_conductor_is_a_host_of_its_own(self):
        """Blazar: adds the first Ironic node of a nova-compute only; the
        next is refused, and leaks what was made for it.
        """
        nodes = self.world.enrol(3, resource_class='gold')
        made = [hosts.add(self.engine, node, {'rack': 'a'}) for node in nodes]
        self.assertEqual(nodes, [host.node.uuid for host in made])
        self.assertEqual(3, len({host.id for host in made}))
        with self.unchanged():
            for node in nodes:
                self.assertRaises(errors.HostExists, hosts.add, self.engine,
                                  node, {'rack': 'b'})
        self.assertEqual(set(nodes), self.leasing.nodes(
            self.leasing.create(1, 2, leasing.wish(3))))

    def test_host_is_found_by_its_id_and_by_its_node(self):
        """By the uuid and by the name."""
        (node,) = self.leasing.hosts(name='node-1')
        host = hosts.page(self.engine)[0]
        for ident in (str(host.id), node, 'node-1'):
            self.assertEqual(host, hosts.find(self.engine, ident))
        for ident in ('99', world.new_uuid(), 'node-2', '²', '9' * 30):
            self.not_found(hosts.find, ident)

    def test_capabilities_are_said_changed_and_taken_back(self):
        """Leases find what is said now, not what was."""
        _, ident = self.host()
        rack = leasing.wish(properties='["==", "$rack", "a"]')
        self.leasing.refused(1, 2, rack)
        hosts.change(self.engine, ident, {'rack': 'a', 'floor': '1'})
        self.leasing.create(1, 2, rack)
        hosts.change(self.engine, ident, {'rack': None})
        self.assertEqual({'floor': '1'}, dict(hosts.get(
            self.engine, ident).capabilities))
        self.leasing.refused(2, 3, rack)

    def test_capability_cannot_be_called_like_what_ironic_tells(self):
        """Nobody says of a host what it is not."""
        _, ident = self.host()
        for said in ({'resource_class': 'gold'}, {'': 'x'}, {'x' * 65: 'x'},
                     {'x': 'x' * 10001}):
            self.assertRaises(errors.InvalidValue, hosts.change, self.engine,
                              ident, said)

    def test_host_with_leases_cannot_be_removed(self):
        """Unless others serve them first."""
        _, ident = self.host()
        lease = self.leasing.create(1, 2)
        self.assertRaises(errors.HostInUse, hosts.remove, self.engine, ident)
        self.leasing.end(lease)
        hosts.remove(self.engine, ident)
        self.not_found(hosts.get, ident)
        self.leasing.refused(1, 2)

    def test_id_of_a_host_is_never_given_again(self):
        """A number that a client has kept names nothing else."""
        node, first = self.host()
        hosts.remove(self.engine, first)
        self.assertNotEqual(first, hosts.add(self.engine, node, {}).id)
        self.leasing.create(1, 2)

    def test_lease_promised_while_its_host_is_being_removed(self):
        """Whoever comes second is refused."""
        _, ident = self.host()
        other = self.another()
        self.world.before_next_write(lambda: other.create(1, 2))
        self.assertRaises(errors.HostInUse, hosts.remove, self.engine, ident)
        _, ident = self.host()
        self.world.before_next_write(lambda: hosts.remove(other.engine, ident))
        self.leasing.refused(1, 2)

    def test_host_removed_while_it_is_being_changed(self):
        """What is gone is not found, however late that is noticed."""
        _, ident = self.host()
        process = self.world.another_engine()
        self.world.before_next_write(lambda: hosts.remove(process, ident))
        self.not_found(hosts.change, ident, {'rack': 'a'})

    def test_host_that_is_unknown_cannot_be_changed_or_removed(self):
        """Nothing is made by the way."""
        self.not_found(hosts.change, 7, {'rack': 'a'})
        self.not_found(hosts.remove, 7)

    def test_allocations_say_which_lease_has_which_host(self):
        """By the lease, by the reservation and by the host."""
        self.leasing.hosts(2)
        one = self.leasing.create(1, 2)
        two = self.leasing.create(1, 3)
        (node,) = self.leasing.nodes(one)
        key = two.reservations[0].id

        def told(**asked):
            return {(host.node.uuid, lease) for host, rows in
                    hosts.allocations(self.engine, **asked)
                    for _, lease in rows}
        (other,) = self.leasing.nodes(two)
        self.assertEqual({(node, one.id), (other, two.id)}, told())
        self.assertEqual({(node, one.id)}, told(lease_id=one.id))
        self.assertEqual({(other, two.id)}, told(reservation_id=key))
        self.assertEqual({(node, one.id)}, told(
            host=hosts.find(self.engine, node)))

    def test_private_properties_are_the_operators_alone(self):
        """Hidden from others, until they are shown again."""
        _, ident = self.host()
        hosts.change(self.engine, ident, {'rack': 'a', 'price': '7'})
        hosts.set_private(self.engine, 'price', True)
        self.assertEqual(['rack'], [each.name for each in hosts.properties(
            self.engine, with_private=False)])
        self.assertEqual(['price', 'rack'], [
            each.name for each in hosts.properties(self.engine,
                                                   with_private=True)])
        hosts.set_private(self.engine, 'price', False)
        self.assertEqual(2, len(hosts.properties(self.engine, False)))
        self.assertRaises(errors.PropertyNotFound, hosts.set_private,
                          self.engine, 'floor', True)

    def test_property_that_no_host_has_any_more_stays_as_it_is(self):
        """A refused request changes nothing."""
        _, ident = self.host()
        hosts.change(self.engine, ident, {'rack': 'a'})
        hosts.change(self.engine, ident, {'rack': None})
        self.assertRaises(errors.PropertyNotFound, hosts.set_private,
                          self.engine, 'rack', True)
        hosts.change(self.engine, ident, {'rack': 'b'})
        self.assertEqual(['rack'], [each.name for each in hosts.properties(
            self.engine, with_private=False)])

    def test_pages_of_hosts_follow_each_other(self):
        """In the order of their ids."""
        self.leasing.hosts(5)
        whole = hosts.page(self.engine)
        first = hosts.page(self.engine, limit=2)
        rest = hosts.page(self.engine, marker=first[-1].id)
        self.assertEqual(whole, first + rest)
