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

"""Guarded requests for nodes that leases have, or have been promised."""

import contextlib

from ironic_reservations import errors
from ironic_reservations.engine import announce
from ironic_reservations.engine import hard_requests
from ironic_reservations.engine import hosts
from ironic_reservations.engine.in_flight import admission
from ironic_reservations.engine.in_flight import allocation_requests
from ironic_reservations.engine.leases import end as lease_end
from ironic_reservations.engine.reservations import find
from ironic_reservations.lifecycle import admit
from ironic_reservations.model import leases
from ironic_reservations.model import reasons
from ironic_reservations.model import time_text
from ironic_reservations.planner import pick
from tests import leasing
from tests import servers
from tests import world
from tests.inprocess.engine import timelines


class _Guarded(timelines.TestCase):

    def admit(self, node, proof=None, act=admit.Act.USE, **known):
        return admission.admit(self.engine, node, proof, act=act, **known)

    def deploy(self, node, proof=None):
        """Deploy a node as the guard and Ironic do it."""
        opened = self.admit(node, proof)
        self.world.ironic.deploy(node)
        admission.close(self.engine, opened, True, self.world.shown(node))

    def undeploy(self, node):
        self.world.ironic.undeploy(node)
        self.leasing.refresh()

    def hold(self, *nodes, **given):
        """Allocate a node of gold, of those if there are some."""
        return allocation_requests.hold(self.engine, pick.NodeRequest(
            world.new_uuid(), nodes or None, 'gold'), world.ALL_NODES, **given)

    def refused(self, error, node, proof=None, **known):
        """Have a request refused, without a word about who has the node."""
        before = leasing.tables_as_text(self.world)
        refused = self.assertRaises(error, self.admit, node, proof, **known)
        self.assertEqual(403, refused.status)
        self.assertEqual(before, leasing.tables_as_text(self.world))
        told = f'{refused} {refused.details}'
        for row in self.leasing.rows():
            for secret in (row['lease_reservation_id'], row['uuid'],
                           row['project_id']):
                if secret and secret != proof:
                    self.assertNotIn(secret, told)
        return str(refused)


class TestProof(_Guarded):
    """The id of the lease reservation is the proof, while the lease lasts."""

    def setUp(self):
        super().setUp()
        (self.node,) = self.leasing.hosts()
        self.lease = self.leasing.create(1, 3)
        self.proof = self.lease.reservations[0].id

    def test_proof_of_the_lease_lets_through(self):
        self.leasing.clock_passes(1)
        opened = self.admit(self.node, self.proof)
        self.assertEqual((self.node, None), (opened.node_uuid,
                                             opened.reservation_uuid))
        self.refused(errors.ProofRequired, self.node)

    def test_first_use_without_a_proof_binds_the_node(self):
        """By a project that needs none; as with the proof."""
        self.leasing.hosts()
        mine = self.leasing.create(1, 3, project_id='mine')
        self.leasing.clock_passes(1)
        node = self.home(mine)
        self.refused(errors.ProofRequired, node, bearer=admit.Bearer(
            'theirs', uses_leases=True))
        opened = self.admit(node, bearer=admit.Bearer(
            'mine', uses_leases=True))
        self.assertEqual((mine.reservations[0].id, True),
                         (opened.lease_reservation_id, opened.uses))
        self.assertEqual(['bound'], [
            row['state'] for row in self.leasing.rows()
            if row['node_uuid'] == node])

    def test_another_proof_does_not(self):
        (other,) = self.leasing.hosts()
        elsewhere = self.leasing.create(1, 3)
        self.assertEqual(other, self.home(elsewhere))
        held = self.world.reserve(self.world.enrol()[0])
        self.leasing.clock_passes(1)
        (row,) = [row for row in self.leasing.rows()
                  if row['node_uuid'] == self.node]
        for proof in (elsewhere.reservations[0].id, held.uuid,
                      world.new_uuid(), self.lease.id, row['uuid']):
            self.refused(errors.ProofInvalid, self.node, proof)
        self.refused(errors.ProofRequired, self.node)
        self.refused(errors.ProofRequired, self.node,
                     vouched_instance=world.new_uuid())

    def test_not_before_the_start(self):
        """It says when, to the one who has the proof."""
        told = self.refused(errors.ProofInvalid, self.node, self.proof)
        self.assertIn(time_text.moment(leasing.at(1)), told)
        told = self.refused(errors.ProofInvalid, self.node, world.new_uuid())
        self.assertNotIn(time_text.moment(leasing.at(1)), told)

    def test_not_after_the_end(self):
        """Whether or not anybody has begun to take the node back."""
        self.leasing.clock_passes(1)
        self.world.clock.now = leasing.at(3)
        for _ in range(2):
            for proof, error in ((self.proof, errors.ProofInvalid),
                                 (world.new_uuid(), errors.ProofInvalid),
                                 (None, errors.ProofRequired)):
                told = self.refused(error, self.node, proof)
                self.assertIn('is over', told)
            self.leasing.take_back(self.lease)
        self.leasing.clean_up()
        self.refused(errors.ProofInvalid, self.node, self.proof)
        self.admit(self.node)

    def test_lease_that_was_taken_back_lets_nobody_in(self):
        self.leasing.clock_passes(1)
        lease_end.end(self.engine, self.lease.id)
        self.refused(errors.ProofInvalid, self.node, self.proof)
        self.refused(errors.ProofRequired, self.node)

    def test_instance_can_be_taken_off_a_lease_that_is_over(self):
        """That is what is being done with the node anyway."""
        self.leasing.clock_passes(1)
        self.refused(errors.ProofRequired, self.node, act=admit.Act.FREE)
        self.leasing.take_back(self.lease)
        self.refused(errors.ProofRequired, self.node, act=admit.Act.STAY)
        self.admit(self.node, act=admit.Act.FREE)

    def test_deployed_again_and_again_as_long_as_it_lasts(self):
        """Nothing else has to move for it."""
        self.leasing.create(4, 5)
        self.leasing.clock_passes(1)
        for hours in (1, 1.5, 2, 2.9):
            self.leasing.clock_passes(hours)
            self.deploy(self.node, self.proof)
            self.leasing.refresh()
            self.assertEqual({self.node}, self.leasing.nodes(self.lease))
            self.undeploy(self.node)
        self.world.clock.now = leasing.at(3)
        self.refused(errors.ProofInvalid, self.node, self.proof)

    def test_first_use_binds_what_nobody_has_bound_yet(self):
        """From then on the node is not exchanged for another."""
        self.leasing.hosts(3)
        self.world.clock.now = leasing.at(1)
        self.refused(errors.ProofRequired, self.node)
        self.deploy(self.node, self.proof)
        (row,) = [row for row in self.leasing.rows()
                  if row['lease_reservation_id'] == self.proof]
        self.assertEqual(('bound', self.node), (row['state'],
                                                row['node_uuid']))

    def test_lease_that_ends_in_between_lets_nobody_in(self):
        self.leasing.clock_passes(1)
        self.world.before_next_write(
            lambda: lease_end.end(self.engine, self.lease.id))
        self.assertRaises(errors.ProofInvalid, self.admit, self.node,
                          self.proof)

    def test_node_that_is_moved_in_between_lets_nobody_in(self):
        self.leasing.hosts()
        self.world.before_next_write(lambda: self.deploy(self.node))
        self.world.clock.now = leasing.at(0.5)
        self.refused(errors.ProofInvalid, self.node, self.proof)

    def test_nodes_of_leases_are_not_among_the_eligible(self):
        self.assertEqual(frozenset(), find.reserved_node_uuids(self.engine))
        self.world.clock.now = leasing.at(1)
        hidden = []
        for step in (self.leasing.bind,
                     lambda: self.leasing.take_back(self.lease),
                     self.leasing.clean_up):
            hidden.append(find.reserved_node_uuids(self.engine))
            step()
        self.assertEqual([frozenset({self.node})] * 3, hidden)
        self.assertEqual(frozenset(), find.reserved_node_uuids(self.engine))


class TestReplan(_Guarded):
    """By default, a node may be used if every lease can be kept."""

    def test_deploy_without_a_reservation_moves_the_promise(self):
        lease, node = self.promised()
        self.deploy(node)
        self.assertNotEqual(node, self.home(lease))
        self.leasing.refresh()
        self.leasing.refused(0.5, 3, leasing.wish(2))

    def test_all_that_the_node_is_promised_to_moves(self):
        (node,) = self.leasing.hosts()
        made = [self.leasing.create(start, start + 1)
                for start in (1, 2, 5, 9)]
        (other,) = self.leasing.hosts()
        self.deploy(node)
        self.assertEqual([other] * 4, [self.home(lease) for lease in made])

    def test_node_that_a_lease_needs_is_refused_with_its_own_code(self):
        """And with the time from when on, and what to do."""
        _, node = self.promised(1)
        for act in (admit.Act.USE, admit.Act.TAKE):
            told = self.refused(errors.NodePromised, node, act=act)
            self.assertIn(time_text.moment(leasing.at(1)), told)
        refused = self.assertRaises(errors.NodePromised, self.admit, node)
        self.assertEqual(
            {'node_uuid': node, 'since': leasing.at(1).isoformat()},
            refused.details)

    def test_node_that_is_free_for_a_while_is_promised_all_the_same(self):
        """Nobody knows when it would be undeployed."""
        (node,) = self.leasing.hosts()
        self.leasing.create(1000, 1001)
        self.refused(errors.NodePromised, node)

    def test_reservation_is_over_sooner_than_what_is_deployed_with_it(self):
        """So its proof is not enough where a lease needs the node later."""
        _, node = self.promised(1)
        held = self.world.reserve(node)
        self.refused(errors.NodePromised, node, held.uuid)
        self.leasing.hosts()
        opened = self.admit(node, held.uuid)
        self.assertEqual(held.uuid, opened.reservation_uuid)

    def test_what_is_in_use_already_may_be_changed(self):
        """Nothing more is taken from anybody by that."""
        _, node = self.promised(1)
        for act in (admit.Act.STAY, admit.Act.FREE):
            admission.close(self.engine, self.admit(node, act=act), False)

    def test_lease_that_comes_in_between_is_moved_too(self):
        (node,) = self.leasing.hosts()
        made = []

        def others():
            made.append(self.leasing.create(1, 3))
            self.leasing.hosts()
        self.world.before_next_write(others)
        self.admit(node)
        self.assertNotEqual(node, self.home(made[0]))

    def test_lease_that_starts_in_between_has_the_node(self):
        lease, node = self.promised()
        self.world.clock.now = leasing.at(0.9)
        self.world.before_next_write(lambda: self.leasing.clock_passes(1))
        self.assertRaises(errors.ProofRequired, self.admit, node)

    def test_lease_that_has_begun_in_between_has_the_node_at_once(self):
        """Also where nobody has bound it yet."""
        lease, node = self.promised()
        self.world.clock.now = leasing.at(0.9)

        def wait():
            self.world.clock.now = leasing.at(1)
        self.world.before_next_write(wait)
        self.assertRaises(errors.ProofRequired, self.admit, node)
        self.assertEqual(node, self.home(lease))

    def test_lease_cannot_be_made_on_a_node_that_is_being_taken(self):
        (node,) = self.leasing.hosts()
        self.world.before_next_write(lambda: self.admit(node))
        self.assertRaises(errors.LeaseRefused, self.leasing.create, 0, 1)

    def test_deploy_of_an_unleased_host_is_as_cheap_as_it_was(self):
        sent = []
        for enrol in (self.world.enrol, self.leasing.hosts):
            (node,) = enrol(1)
            with self.statements() as seen:
                self.admit(node)
            sent.append([statement for statement, _ in seen])
        self.assertEqual(*sent)
        self.assertLessEqual(len(sent[0]), 8)


class TestMoved(_Guarded):
    """A lease that is moved before its start has its nodes all the time."""

    def setUp(self):
        super().setUp()
        (self.node,) = self.leasing.hosts()
        self.lease = self.leasing.create(2, 4)

    def test_node_is_the_leases_once_it_has_been_moved_to_now(self):
        """Nobody has bound it yet."""
        self.leasing.change(self.lease, start=0)
        self.refused(errors.ProofRequired, self.node)
        self.admit(self.node, self.lease.reservations[0].id)

    def test_node_stays_promised_for_its_new_window(self):
        for start, end in ((5, 7), (1, 2), (3, 9)):
            self.leasing.change(self.lease, start=start, end=end)
            told = self.refused(errors.NodePromised, self.node)
            self.assertIn(time_text.moment(leasing.at(start)), told)

    def test_deploy_that_comes_right_before_the_move_is_refused(self):
        """The window that it had is its own until it has another."""
        def deploy():
            self.refused(errors.NodePromised, self.node)
        self.world.before_next_write(deploy)
        moved = self.leasing.change(self.lease, start=5, end=7)
        self.assertEqual(leasing.at(5), moved.start)
        self.assertEqual(self.node, self.home(self.lease))

    def test_deploy_that_is_let_through_in_between_takes_the_old_host(self):
        """The move is planned again, with the host that is left."""
        def deploy():
            (self.other,) = self.leasing.hosts()
            self.admit(self.node)
        self.world.before_next_write(deploy)
        self.leasing.change(self.lease, start=0)
        self.assertEqual(self.other, self.home(self.lease))
        self.refused(errors.ProofRequired, self.other)
        self.assert_sound()

    def test_move_that_comes_right_before_a_deploy_has_the_node(self):
        self.leasing.hosts()
        self.world.before_next_write(
            lambda: self.leasing.change(self.lease, start=0))
        self.assertRaises(errors.ProofRequired, self.admit, self.node)


@servers.also
class TestAllow(_Guarded):

    options = {'leases__without_reservation': 'allow'}

    def setUp(self):
        super().setUp()
        self.told = []
        world.hear(self.engine, notify_lease=(
            lambda event, lease, reason=None: self.told.append(
                (event, lease.id, lease.degraded, reason))))

    def assert_sound(self, there):
        """Assert that nothing is outdated; a host may be promised twice."""
        self.assertEqual({}, there.stale())

    def flags(self, lease):
        read = self.leasing.reload(lease)
        return read.degraded, read.reservations[0].missing_resources

    def test_lease_that_cannot_be_kept_is_flagged(self):
        """And whoever listens is told."""
        lease, node = self.promised(1)
        self.told.clear()
        self.deploy(node)
        self.assertEqual((True, True), self.flags(lease))
        self.assertEqual([(announce.LEASE_UPDATE, lease.id, True,
                           announce.DEGRADED)], self.told)

    def test_lease_that_can_be_kept_moves_and_is_not_flagged(self):
        self.leasing.hosts(2)
        lost, kept = self.leasing.create(1, 3), self.leasing.create(1, 3)
        later = self.leasing.create(4, 5)
        node = self.home(lost)
        self.deploy(node)
        self.assertEqual((True, True), self.flags(lost))
        self.assertEqual([(False, False)] * 2,
                         [self.flags(kept), self.flags(later)])
        self.assertEqual({self.home(kept)}, {self.home(later)})

    def test_proof_of_a_reservation_is_enough(self):
        lease, node = self.promised(1)
        self.deploy(node, self.world.reserve(node).uuid)
        self.assertEqual((True, True), self.flags(lease))

    def test_leased_node_is_not_to_be_had_all_the_same(self):
        (node,) = self.leasing.hosts()
        self.leasing.create(0, 3)
        self.refused(errors.ProofRequired, node)

    def test_who_was_allowed_in_is_not_the_leases(self):
        """Not even by its proof: what is deployed there is another's."""
        lease, node = self.promised(1)
        held = self.world.reserve(node)
        self.deploy(node, held.uuid)
        self.world.clock.now = leasing.at(1)
        self.refused(errors.ProofInvalid, node, lease.reservations[0].id,
                     act=admit.Act.STAY)
        self.admit(node, held.uuid, act=admit.Act.STAY)

    def test_lease_is_broken_where_an_allocation_finds_nothing_else(self):
        (node,) = self.leasing.hosts(1, resource_class='gold')
        lease = self.leasing.create(1, 3)
        self.assertEqual(node, self.hold().node_uuid)
        self.assertTrue(self.leasing.reload(lease).degraded)


class TestRequire(_Guarded):

    options = {'leases__without_reservation': 'require'}

    def test_host_is_used_with_a_reservation_or_a_lease_only(self):
        node, other = sorted(self.leasing.hosts(2))
        self.refused(errors.ReservationRequired, node)
        self.admit(node, act=admit.Act.STAY)
        self.deploy(other, self.world.reserve(other).uuid)

    def test_lease_is_one(self):
        (node,) = self.leasing.hosts()
        lease = self.leasing.create(0, 1)
        self.admit(node, lease.reservations[0].id)

    def test_other_nodes_are_free_for_all(self):
        (node,) = self.world.enrol()
        self.admit(node)

    def test_allocations_leave_hosts_alone(self):
        first, *_ = self.leasing.hosts(2, resource_class='gold')
        (other,) = self.world.enrol(resource_class='gold')
        for nodes in ((), (first, other)):
            opened = self.hold(*nodes)
            self.assertEqual(other, opened.node_uuid)
            admission.close(self.engine, opened, False)
        for nodes, count in (((first,), {'node_uuid': first}),
                             ((), {'nodes': 2})):
            self.world.ironic.change(other, maintenance=True)
            refused = self.assertRaises(errors.NoNodeAvailable, self.hold,
                                        *nodes)
            told = [reason for reason in refused.details['reasons']
                    if reason['code'] == reasons.RESERVATION_REQUIRED]
            self.assertEqual(count.items(), count.items() & told[0].items())


class TestAllocations(_Guarded):

    def test_allocations_that_take_long_to_plan_are_counted(self):
        """At each instant two of three nodes are free, but none always is."""
        nodes = self.world.enrol(3, resource_class='gold')
        for count, node in enumerate(nodes):
            hosts.add(self.engine, node, {'rack': str(count)})
            self.leasing.create(
                1 + count, 2 + count, leasing.wish(
                    properties=f'["==", "$rack", "{count}"]'))
        engine = self.engine
        most = engine.conf.api.max_hard_requests
        with contextlib.ExitStack() as others:
            for _ in range(most):
                self.assertRaises(errors.NoNodeAvailable, self.hold)
                others.enter_context(
                    engine.hard_requests.bounded(engine.conf, None))
                hard_requests.limits().request.check(True)
            self.assertRaises(errors.PlannerBusy, self.hold)
        self.assertRaises(errors.NoNodeAvailable, self.hold)

    def test_allocation_never_lands_on_a_leased_node(self):
        """However it asks, whatever the state of the lease."""
        (node,) = self.leasing.hosts(1, resource_class='gold')
        lease = self.leasing.create(0, 3)
        for step in (self.leasing.bind,
                     lambda: self.leasing.take_back(lease), lambda: None):
            for listed in ((), (node,)):
                refused = self.assertRaises(errors.NoNodeAvailable,
                                            self.hold, *listed)
                self.assertEqual([reasons.LEASED], [
                    reason['code'] for reason in refused.details['reasons']])
            step()

    def test_promised_node_is_taken_last(self):
        self.leasing.hosts(3, resource_class='gold')
        lease = self.leasing.create(100, 103)
        promised = self.home(lease)
        everything = tuple(sorted(self.world.mirrored(),
                                  key=lambda uuid: uuid != promised))
        first, second = (self.hold(*listed).node_uuid
                         for listed in ((), everything))
        self.assertEqual({first, second, promised}, set(everything))
        refused = self.assertRaises(errors.NoNodeAvailable, self.hold)
        self.assertEqual({'busy': 2, 'promised': 1}, {
            reason['code']: reason['nodes']
            for reason in refused.details['reasons']})

    def test_lease_moves_aside_where_nothing_else_is_left(self):
        for listed in (False, True):
            (node,) = self.leasing.hosts(1, resource_class='gold')
            self.leasing.create(100, 103, leasing.wish_of('gold'))
            self.assertRaises(errors.NoNodeAvailable, self.hold,
                              *[node] * listed)
            (spare,) = self.leasing.hosts(1, resource_class='gold')
            held = self.world.reserve(spare)
            self.assertEqual(node, self.hold(*[node] * listed).node_uuid)
            self.assertEqual(spare, held.node_uuid)
            self.world.clock.advance(1000)
            self.world.ironic.change(node, instance_uuid=world.new_uuid())
            self.world.change(spare, maintenance=True)

    def test_reservation_that_a_lease_cannot_make_room_for_is_refused(self):
        (node,) = self.leasing.hosts(1, resource_class='gold')
        self.leasing.create(1, 3)
        held = self.world.reserve(node)
        self.assertRaises(errors.NodePromised, self.hold, proof=held.uuid)

    def test_lease_gives_one_of_its_own_nodes(self):
        self.leasing.hosts(4, resource_class='gold')
        lease = self.leasing.create(0, 3, leasing.wish(2))
        proof = lease.reservations[0].id
        mine = self.leasing.nodes(lease)
        given = {self.hold(proof=proof).node_uuid for _ in range(2)}
        self.assertEqual(mine, given)
        self.assertEqual({'bound'}, {row['state'] for row
                                     in self.leasing.rows()})
        self.assertRaises(errors.NoNodeAvailable, self.hold, proof=proof)

    def test_lease_gives_a_node_of_the_list_or_none(self):
        self.leasing.hosts(4, resource_class='gold')
        lease = self.leasing.create(0, 3, leasing.wish(2))
        proof = lease.reservations[0].id
        mine = sorted(self.leasing.nodes(lease))
        others = sorted(set(self.world.mirrored()) - set(mine))
        self.assertEqual(mine[1], self.hold(others[0], mine[1],
                                            proof=proof).node_uuid)
        self.assertRaises(errors.ProofInvalid, self.hold, *others, proof=proof)

    def test_lease_gives_nothing_before_or_after_its_time(self):
        self.leasing.hosts(1, resource_class='gold')
        lease = self.leasing.create(1, 3)
        proof = lease.reservations[0].id
        self.assertRaises(errors.ProofInvalid, self.hold, proof=proof)
        self.leasing.clock_passes(1)
        self.world.clock.now = leasing.at(3)
        self.assertRaises(errors.ProofInvalid, self.hold, proof=proof)


class TestMirror(_Guarded):
    """What becomes of a leased node in Ironic changes nothing of it."""

    def test_leased_node_that_is_deployed_and_freed_stays_leased(self):
        (node,) = self.leasing.hosts()
        lease = self.leasing.started(0, 3)
        for change in ({'provision_state': 'deploying'},
                       {'provision_state': 'active',
                        'instance_uuid': world.new_uuid()},
                       {'provision_state': 'cleaning',
                        'instance_uuid': None},
                       {'provision_state': 'available'},
                       {'maintenance': True}, {'maintenance': False}):
            self.world.change(node, **change)
            self.assertEqual(
                [(node, leases.BookingState.BOUND)],
                [(booking.node_uuid, booking.state)
                 for booking in self.leasing.reload(lease).bookings])
            self.refused(errors.ProofRequired, node)
