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


"""A hanging process, conductor or request takes nobody's node.

In each of these cases, somebody had deployed a node that somebody else had
reserved.
"""

import dataclasses

from ironic_reservations import errors
from ironic_reservations.api.controllers.v1 import reservations
from ironic_reservations.api.types import basic
from ironic_reservations.clouds import in_process
from ironic_reservations.clouds import ironic as ironic_client
from ironic_reservations.engine import mirror
from ironic_reservations.engine import sweep
from ironic_reservations.engine.in_flight import admission
from ironic_reservations.engine.in_flight import uncertain
from ironic_reservations.engine.reservations import find
from ironic_reservations.engine.reservations import release
from ironic_reservations.guard import acts
from ironic_reservations.guard import inward
from ironic_reservations.guard import tickets as guard_tickets
from ironic_reservations.model import reasons
from ironic_reservations.reconciler import loops
from tests import guarded
from tests import servers
from tests import world

TIMEOUT = 120
LONG = TIMEOUT * 5


class StandsStillTestCase(guarded.TestCase):

    options = {'guard__in_flight_timeout': TIMEOUT}

    def passes(self):
        """Run the tasks that the reconciler repeats."""
        nodes = loops.Reconciler(self.engine).nodes
        requests = uncertain.Uncertain(self.engine, self.engine.ironic)
        for _ in range(3):
            for task in nodes.tasks:
                task.due_at = 0.0
            nodes.one_pass()
            requests.settle_overdue()
            self.world.clock.advance(30)

    def reserve(self):
        return self.world.reserve(self.node)

    def reasons(self):
        refused = self.assertRaises(errors.NoNodeAvailable, self.reserve)
        return [reason['code'] for reason in refused.details['reasons']]

    def assert_mine(self, held):
        """Check that a node belongs to the holder of its promise."""
        self.assertEqual(('available', 'reserved'), (
            self.there().provision_state, self.world.state_of(held)))


@servers.also
class TestGuardPaused(StandsStillTestCase):
    """An API process hangs right before it sends a request."""

    def setUp(self):
        super().setUp()
        self.made = []
        real = admission.admit

        def admit(*args, **known):
            through = real(*args, **known)
            self.patch(admission, 'admit', real)
            self.stands_still()
            return through
        self.patch(admission, 'admit', admit)

    def stands_still(self):
        """Let the time pass, and let somebody reserve the node."""
        self.world.clock.advance(LONG)
        self.passes()
        sweep.sweep(self.engine)
        self.made.append(self.reserve())

    def assert_late(self, *proof):
        self.assertRaises(errors.HandedOverLate, self.deploy, *proof)
        self.assertEqual([], self.ironic.done)
        self.assert_mine(self.made[0])
        self.assertEqual([], self.world.in_flight())

    def stands_still_for(self, seconds):
        self.stands_still = lambda: self.world.clock.advance(seconds)

    def test_stranger(self):
        """Somebody reserves the node while the deploy hangs."""
        self.assert_late()

    def test_proof_of_a_reservation_that_ends_meanwhile(self):
        self.assert_late(self.world.reserve(self.node, ttl=10).uuid)

    def test_proof_stays_good_where_nothing_was_sent(self):
        self.made.append(self.reserve())
        self.stands_still_for(TIMEOUT / 2)
        self.assert_late(self.made[0].uuid)
        self.assertEqual(202, self.deploy(self.made[0].uuid).status)

    def test_less_than_half_of_the_time_is_in_time(self):
        self.stands_still_for(TIMEOUT / 2 - 1)
        self.assertEqual(202, self.deploy().status)


@servers.also
class TestInsideOfIronic(StandsStillTestCase):
    """A process hangs after its last check of the clock."""

    def setUp(self):
        super().setUp()
        self.made = []

    def meanwhile(self, method, *actions):
        """Call a function while Ironic has a request; by default, reserve."""
        def happens():
            self.world.clock.advance(LONG)
            self.passes()
            for action in actions or [lambda: self.made.append(
                    self.reserve())]:
                action()
        self.ironic.before[method] = [happens]

    def assert_overtaken(self, act, *known, told=''):
        """Check that the client and the holder are notified."""
        refused = self.assertRaises(errors.Overtaken, act, *known)
        self.assertIn(told, str(refused))
        self.assertIsNone(self.there().instance_uuid)
        self.passes()
        self.assert_mine(self.made[0])

    def test_stranger_is_taken_back(self):
        self.meanwhile('PUT')
        self.assert_overtaken(self.deploy, told='is being undone')
        self.world.clock.advance(LONG)
        self.passes()
        self.assertEqual([], self.world.in_flight())

    def test_instance_is_taken_off_again(self):
        self.meanwhile('PATCH')
        self.assert_overtaken(self.bind, world.new_uuid())

    def before_the_guard_looks(self, happens):
        """Call a function once Ironic has answered a request."""
        real = acts.Acts._read_again

        def read_again(*args):
            happens()
            return real(*args)
        self.patch(acts.Acts, '_read_again', read_again)

    def test_poll_sees_the_deploy_before_the_guard_does(self):
        """The poll ended the reservation, and the stranger kept the node."""
        self.meanwhile('PUT')
        self.before_the_guard_looks(lambda: (
            mirror.refresh_changed(self.engine),
            mirror.refresh_node(self.engine, self.node),
            mirror.refresh_all(self.engine)))
        self.assert_overtaken(self.deploy, told='is being undone')

    def test_poll_sees_the_instance_before_the_guard_does(self):
        self.meanwhile('PATCH')
        self.before_the_guard_looks(self.world.refresh)
        self.assert_overtaken(self.bind, world.new_uuid())

    def test_what_the_new_owner_did_stays(self):
        """The node has been used since, and nothing shows by whom."""
        def used():
            self.made.append(self.reserve())
            self.world.use(self.made[0])
            self.ironic.answers['PUT'] = [202]
        self.meanwhile('PUT', used)
        refused = self.assertRaises(errors.Overtaken, self.deploy)
        self.assertIn('could not be undone', str(refused))
        self.assertEqual(('active', 'in_use'), (
            self.there().provision_state, self.world.state_of(self.made[0])))

    def test_own_proof_that_is_still_good_is_in_use(self):
        held = self.world.reserve(self.node, ttl=LONG * 10)
        self.meanwhile('PUT', lambda: self.assertEqual(
            'reserved', self.world.state_of(held)))
        self.assertEqual(202, self.deploy(held.uuid).status)
        self.assertEqual('in_use', self.world.state_of(held))

    def test_nobodys_node_is_the_requests(self):
        self.meanwhile('PUT', lambda: None)
        self.assertEqual(202, self.deploy().status)

    def test_allocation_is_deleted(self):
        self.meanwhile('POST')
        self.assert_overtaken(self.allocate, world.new_uuid())
        self.assertEqual({}, self.world.ironic.allocations)


@servers.also
class TestTakingBackStandsStill(StandsStillTestCase):
    """A process hangs before it frees a node for its holder."""

    def setUp(self):
        super().setUp()
        self.standing_still, self.late = [], True
        gate = guard_tickets.Gate(self.ironic)

        def late(environ, start_response):
            if inward.TICKET_KEY in environ and self.late:
                self.happens()
            return gate(environ, start_response)
        usual, self.engine = self.engine, dataclasses.replace(
            self.engine, ironic=ironic_client.Ironic(
                in_process.InProcess(late)))
        gate.engine = self.engine
        self.guard = self.guard_of(self.ironic)
        self.engine = usual

    def happens(self):
        for action in self.standing_still:
            action()
        self.standing_still.clear()

    def overtaken(self, *, then):
        """Let a deploy come so late that somebody else has the node.

        :param then: the acts of the holder before the node is freed.
        """
        held = []

        def reserved():
            self.world.clock.advance(LONG)
            self.passes()
            held.append(self.world.reserve(self.node, ttl=LONG * 10))
        self.ironic.before['PUT'] = [reserved]
        self.standing_still.append(lambda: then(held[0]))
        self.assertRaises(errors.Overtaken, self.deploy)
        self.assertEqual([], self.standing_still)
        return held[0]

    def frees(self):
        """Undeploy the node, as its holder may."""
        self.world.ironic.change(self.node, provision_state='available',
                                 instance_uuid=None)

    def assert_stays(self, held):
        """Check that the holder, who had to try again, has the node."""
        for _ in range(2):
            self.world.clock.advance(LONG)
            self.passes()
        self.assertEqual(202, self.deploy(held.uuid).status)
        self.passes()
        self.assertEqual(('active', 'in_use', []), (
            self.there().provision_state, self.world.state_of(held),
            self.world.in_flight()))

    def deploys(self, held):
        self.frees()
        self.assertRaises(errors.Contention, self.deploy, held.uuid)

    def test_holder_deploys_before_it_is_sent(self):
        self.assert_stays(self.overtaken(then=self.deploys))

    def test_holder_deploys_before_it_is_handed_over(self):
        real = guard_tickets.tickets.take

        def take(*args):
            taken = real(*args)
            self.happens()
            return taken
        self.patch(guard_tickets.tickets, 'take', take)
        self.late = False
        self.assert_stays(self.overtaken(then=self.deploys))

    def test_conductor_comes_late(self):
        """The conductor frees the node when nobody expects it any more."""
        def answers(held):
            self.ironic.answers['PUT'] = [500]
        held = self.overtaken(then=answers)
        self.deploys(held)
        self.ironic.late.pop()
        self.assert_stays(held)


@servers.also
class TestOldAnswer(StandsStillTestCase):
    """A process hangs with an answer of Ironic."""

    def deployed_after(self, call, of=None):
        """Let a deploy come between an answer of Ironic and its use.

        :param of: the object that has the call; by default the client of
            Ironic.
        """
        of = of or self.world.ironic
        real = getattr(of, call)

        def asked(*args):
            answer = real(*args)
            self.patch(of, call, real)
            self.world.clock.advance(1)
            self.assertEqual(202, self.deploy().status)
            self.world.clock.advance(1)
            return answer
        self.patch(of, call, asked)

    def assert_not_free(self):
        self.assertEqual('active', self.there().provision_state)
        self.assertNotEqual(
            'available', self.world.mirrored()[self.node]['provision_state'])

    def test_of_what_became_of_a_request(self):
        self.ironic.answers['PUT'] = [500]
        self.deploy()
        requests = uncertain.Uncertain(self.engine, self.engine.ironic)
        self.world.clock.advance(LONG)
        requests.settle_overdue()
        self.world.clock.advance(30)
        self.deployed_after('settled')
        requests.settle_overdue()
        self.assertEqual([], self.world.in_flight())
        self.assert_not_free()

    def test_of_the_look_after_a_request(self):
        """The answer showed a node as free that had been deployed since."""
        self.deployed_after('_read_again', acts.Acts)
        self.assertEqual(200, self.guard.patch(guarded.environ(
            'PATCH', f'/v1/nodes/{self.node}',
            [{'op': 'remove', 'path': '/instance_uuid'}]), self.node).status)
        self.assertEqual([], self.world.in_flight())
        self.assert_not_free()

    def test_of_a_poll(self):
        self.deployed_after('nodes')
        # The state is unknown, but not free.
        self.ironic.before['PUT'] = [lambda: self.ironic.hidden.add(self.node)]
        mirror.refresh_all(self.engine)
        self.assert_not_free()


@servers.also
class TestReusedId(StandsStillTestCase):

    def test_slow_request_closes_nobody_elses(self):
        """The next request has the id of its row."""
        seen = []

        def meanwhile():
            self.world.clock.advance(LONG)
            self.passes()
            held = self.reserve()
            admission.admit(self.engine, self.node, held.uuid)
            self.ironic.answers['PUT'] = [409]
            seen.extend(self.world.in_flight())
        self.ironic.before['PUT'] = [meanwhile]
        self.deploy()
        self.assertEqual(1, len(seen))
        self.assertEqual(seen, self.world.in_flight())


@servers.also
class TestConductorPaused(StandsStillTestCase):
    """A conductor hangs for longer than the API waits for it."""

    def unanswered(self, proof=None):
        """Send a deploy whose outcome is not known."""
        self.ironic.answers['PUT'] = [500]
        self.assertEqual(500, self.deploy(proof).status)

    def held_up(self):
        """Return the reservation whose proof was sent."""
        held = self.reserve()
        self.unanswered(held.uuid)
        return held

    def is_silent_for_long(self):
        """Let the conductor not answer for a long time."""
        self.world.ironic.conductor_silent = True
        self.world.clock.advance(LONG)
        self.passes()
        self.world.ironic.conductor_silent = False

    def test_stranger(self):
        self.unanswered()
        self.assertEqual([reasons.BUSY], self.reasons())
        self.is_silent_for_long()
        self.assertEqual([reasons.BUSY], self.reasons())
        self.ironic.late.pop()()
        self.passes()
        self.assertEqual([reasons.WRONG_STATE], self.reasons())
        self.assertEqual([], self.world.in_flight())

    def test_proof(self):
        held = self.held_up()
        self.is_silent_for_long()
        self.assertEqual('starting', self.world.state_of(held))
        self.ironic.late.pop()()
        self.passes()
        self.assertEqual('in_use', self.world.state_of(held))

    def test_nobody_is_told_that_it_never_ends(self):
        """The reservation is in use after Ironic's answer, not before."""
        held = self.world.reserve(self.node, ttl=TIMEOUT)
        self.unanswered(held.uuid)
        self.assertEqual(('reserved', held.expires_at.isoformat()),
                         self.shown(held))
        self.world.clock.advance(LONG)
        self.passes()
        self.assertRaises(errors.ReservationNotFound, self.shown, held)

    def shown(self, held):
        """Return the reservation as clients see it."""
        told = reservations.shaper(basic.FIELDS['state'], '')(
            find.get(self.engine, held.uuid))
        return told['state'], told['expires_at']

    def test_nothing_became_of_it(self):
        held = self.held_up()
        self.world.clock.advance(60)
        self.passes()
        self.assert_mine(held)
        self.assertEqual([], self.world.in_flight())

    def test_it_is_looked_at_twice(self):
        """The first check comes a moment too early."""
        held = self.held_up()
        self.world.clock.advance(60)
        self.world.ironic.interrupt('settled', lambda: None)
        self.world.ironic.interrupt('settled', self.ironic.late[0])
        self.passes()
        self.assertEqual('in_use', self.world.state_of(held))

    def test_holder_tries_again(self):
        held = self.held_up()
        self.assertEqual(202, self.deploy(held.uuid).status)
        self.assertEqual('in_use', self.world.state_of(held))

    def test_exception_is_no_answer(self):
        def fails():
            raise RuntimeError('the connection is gone')
        self.ironic.before['PUT'] = [fails]
        self.assertRaises(RuntimeError, self.deploy)
        self.world.clock.advance(TIMEOUT)
        self.assertEqual([reasons.BUSY], self.reasons())
        self.assertEqual('uncertain', self.world.in_flight()[0]['state'])

    def test_node_that_is_deleted_settles_it(self):
        self.unanswered()
        self.world.enrol()
        self.world.ironic.remove(self.node)
        self.world.clock.advance(LONG)
        self.passes()
        mirror.refresh_all(self.engine)
        self.assertNotIn(self.node, self.world.mirrored())
        self.assertEqual([], self.world.in_flight())

    def test_node_that_is_locked_is_not_settled(self):
        self.unanswered()
        self.world.ironic.refuses.add(self.node)
        self.world.clock.advance(LONG)
        self.passes()
        self.assertEqual([reasons.BUSY], self.reasons())


@servers.also
class TestAllocations(StandsStillTestCase):

    def becomes(self, state, node_uuid=None):
        self.world.ironic.allocations[self.instance] = (
            ironic_client.Allocation(state, node_uuid))

    def test_conductor_that_comes_back_late(self):
        """A restarted conductor continues a request that its API had accepted.
        """
        self.assertEqual(201, self.allocate(self.instance).status)
        self.world.clock.advance(LONG)
        self.passes()
        self.assertEqual([reasons.BUSY], self.reasons())
        self.world.ironic.change(self.node, instance_uuid=self.instance)
        self.becomes('active', self.node)
        self.passes()
        self.assertEqual(([reasons.INSTANCE_BOUND], []), (
            self.reasons(), self.world.in_flight()))

    def test_error_or_its_end_frees_the_node_at_once(self):
        for ends in (lambda: self.becomes('error'),
                     self.world.ironic.allocations.clear):
            self.allocate(self.instance)
            ends()
            self.passes()
            release.release(self.engine, self.reserve().uuid)

    def setUp(self):
        super().setUp()
        self.instance = world.new_uuid()

    def unanswered(self):
        """Send an allocation whose outcome is not known."""
        self.ironic.answers['POST'] = [500]
        self.allocate(self.instance)
        self.passes()

    def test_older_allocation_of_the_uuid_is_not_this_one(self):
        """Its node was free for others while Ironic had not answered yet."""
        busy = []

        def meanwhile():
            self.passes()
            busy.append(self.reasons())
        for older in (('active', world.new_uuid()), ('error',)):
            self.becomes(*older)
            self.ironic.before['POST'] = [meanwhile]
            self.allocate(self.instance)
            self.world.ironic.allocations.clear()
            self.passes()
        self.assertEqual(([[reasons.BUSY]] * 2, []),
                         (busy, self.world.in_flight()))

    def test_unknown_outcome_is_looked_at_twice(self):
        self.unanswered()
        self.assertEqual([reasons.BUSY], self.reasons())
        self.world.clock.advance(LONG)
        self.passes()
        self.assertEqual(self.node, self.reserve().node_uuid)

    def test_unknown_outcome_that_comes_late(self):
        self.unanswered()
        self.ironic.late.pop()()
        self.world.clock.advance(LONG)
        self.passes()
        self.assertEqual([reasons.BUSY], self.reasons())
