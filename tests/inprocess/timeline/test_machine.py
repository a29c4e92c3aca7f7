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

"""The whole timeline against a small model, in any order of events."""

import dataclasses
import datetime

import hypothesis
from hypothesis import stateful
from hypothesis import strategies as st

from ironic_reservations import errors
from ironic_reservations.engine import mirror
from ironic_reservations.engine import sweep
from ironic_reservations.engine.in_flight import admission
from ironic_reservations.engine.reservations import find
from ironic_reservations.engine.reservations import release
from ironic_reservations.engine.reservations import renew
from ironic_reservations.model import node_reservation
from tests import examples
from tests import world

NODES = 2
TIMEOUT = 120

EXAMPLES = examples.drawn(60)


@dataclasses.dataclass
class Promise:
    """What the model knows of a reservation that was given.

    :ivar used: an accepted deploy has shown it, and its answer was seen.
    :ivar uncertain: a process died with it on the way.
    """

    uuid: str
    node: str
    instance: str
    expires_at: datetime.datetime
    used: bool = False
    uncertain: bool = False


class Timeline(stateful.RuleBasedStateMachine):
    """Clients, deployers, operators, crashes, polls and time."""

    def __init__(self):
        super().__init__()
        self.world = world.World(guard__in_flight_timeout=TIMEOUT)
        self.world.setUp()
        self.world.useFixture(world.SameUuids())
        self.nodes = self.world.enrol(NODES)
        self.promises = {}      # by uuid: given, and neither seen to end
        self.strangers = set()  # nodes that somebody deployed unreserved
        self.open = []          # [passage, promise or None]

    def teardown(self):
        self.world.cleanUp()

    # What the model says.

    @property
    def now(self):
        return self.world.clock.now

    def live(self, promise):
        return (promise.used or promise.uncertain
                or promise.expires_at > self.now
                or any(held is promise for _, held in self.open))

    def binding(self, node):
        return [promise for promise in self.promises.values()
                if promise.node == node and self.live(promise)]

    def free_in_ironic(self, node):
        shown = self.world.ironic.there.get(node)
        return (shown is not None and not shown.maintenance
                and shown.provision_state == 'available'
                and shown.instance_uuid is None)

    def reservable(self, node):
        return (self.free_in_ironic(node) and not self.binding(node)
                and not self.busy(node))

    def busy(self, node):
        return any(opened.node_uuid == node for opened, _ in self.open) or (
            node in self.left_behind)

    @stateful.initialize()
    def nothing_was_left_behind(self):
        self.left_behind = set()

    # Clients.

    numbers = st.integers(0, 3)
    orders = st.permutations(range(NODES)).flatmap(
        lambda order: st.integers(1, NODES).map(
            lambda length: order[:length]))

    @stateful.rule(order=orders, ttl=st.sampled_from((10, 60, 600)))
    def reserve(self, order, ttl):
        listed = [self.nodes[index] for index in order]
        free = [node for node in listed if self.reservable(node)]
        try:
            given = self.world.reserve(*listed, ttl=ttl)
        except errors.NoNodeAvailable:
            assert not free, 'refused, and a node was free'
            return
        # NOTE: the model does not know how reservations ended that the
        # reconciler ends; those that stand are checked in the invariants.
        self.forget_ended()
        assert self.free_in_ironic(given.node_uuid)
        assert not self.busy(given.node_uuid)
        assert not self.binding(given.node_uuid), 'two owners'
        assert not free or listed.index(given.node_uuid) <= listed.index(
            free[0]), 'the order of the list was not honoured'
        self.promises[given.uuid] = Promise(
            given.uuid, given.node_uuid, given.instance_uuid,
            given.expires_at)

    @stateful.precondition(lambda self: self.promises)
    @stateful.rule(number=numbers)
    def ask_again(self, number):
        promise = self.promise(number)
        if self.live(promise):
            again = self.world.reserve(
                *self.nodes, instance_uuid=promise.instance)
            assert again.uuid == promise.uuid

    @stateful.precondition(lambda self: self.promises)
    @stateful.rule(number=numbers, ttl=st.sampled_from((10, 60, 600)))
    def renew(self, number, ttl):
        promise = self.promise(number)
        try:
            renewed = renew.renew(self.world.engine, promise.uuid, ttl=ttl)
        except errors.ReservationNotFound:
            assert not self.live(promise), 'a live one was not found'
            return
        assert self.live(promise), 'a void one was renewed'
        promise.expires_at = renewed.expires_at

    @stateful.precondition(lambda self: self.promises)
    @stateful.rule(number=numbers)
    def release(self, number):
        promise = self.promise(number)
        try:
            release.release(self.world.engine, promise.uuid)
        except errors.ReservationNotFound:
            assert not self.live(promise), 'a live one was not found'
        del self.promises[promise.uuid]
        for request in self.open:
            if request[1] is promise:
                request[1] = None

    # Deployers, through the guard.

    #: What becomes of a request that the guard lets through.
    fates = st.sampled_from(('accepted', 'refused', 'died before Ironic',
                             'died after Ironic', 'under way'))

    @stateful.rule(index=st.integers(0, NODES - 1), fate=fates,
                   named=st.booleans(), tells=st.booleans())
    def request_without_proof(self, index, fate, named, tells):
        node = self.nodes[index]
        bound = self.binding(node)
        try:
            opened = admission.admit(self.world.engine, node)
        except errors.ProofRequired:
            assert bound, 'a free node was refused'
            return
        assert not bound, 'a reserved node was given away'
        self.open.append([opened, None])
        self.end_request(-1, fate, named, tells)

    @stateful.precondition(lambda self: self.promises)
    @stateful.rule(number=numbers, fate=fates, named=st.booleans(),
                   tells=st.booleans())
    def request_with_proof(self, number, fate, named, tells):
        promise = self.promise(number)
        live = self.live(promise)
        try:
            opened = admission.admit(self.world.engine, promise.node,
                                   promise.uuid)
        except errors.ProofInvalid:
            assert not live, 'a good proof was refused'
            return
        assert live, 'a stale proof was taken'
        self.open.append([opened, promise])
        self.end_request(-1, fate, named, tells)

    @stateful.precondition(lambda self: self.open)
    @stateful.rule(number=numbers, fate=fates, named=st.booleans(),
                   tells=st.booleans())
    def request_under_way_ends(self, number, fate, named, tells):
        self.end_request(number % len(self.open), fate, named, tells)

    def end_request(self, number, fate, named, tells):
        """Have Ironic answer, or the process die.

        :param named: whether the deployer puts its instance on the node.
        :param tells: whether the guard asks Ironic what came of it.
        """
        if fate == 'under way':
            return
        opened, promise = self.open.pop(number)
        accepted = (fate in ('accepted', 'died after Ironic')
                    and self.ironic_accepts(opened.node_uuid, promise, named))
        if fate.startswith('died'):
            self.dies(opened, promise)
            return
        admission.close(self.world.engine, opened, accepted,
                      self.world.shown(opened.node_uuid) if tells else None)
        if promise is not None:
            if accepted:
                promise.used = True
            else:
                self.may_have_been_settled(promise)

    def dies(self, opened, promise):
        if promise is not None and not promise.used:
            promise.uncertain = True
        self.left_behind.add(opened.node_uuid)

    def ironic_accepts(self, node, promise, named):
        if not self.free_in_ironic(node):
            return False
        if promise is None:
            self.strangers.add(node)
        instance = world.new_uuid() if promise is None else promise.instance
        self.world.ironic.deploy(node, instance if named else None)
        return True

    # Operators.

    @stateful.rule(index=st.integers(0, NODES - 1), on=st.booleans())
    def maintenance(self, index, on):
        if self.nodes[index] in self.world.ironic.there:
            self.world.ironic.change(self.nodes[index], maintenance=on)

    @stateful.rule(index=st.integers(0, NODES - 1))
    def undeploy(self, index):
        node = self.nodes[index]
        shown = self.world.ironic.there.get(node)
        if shown is not None and shown.provision_state == 'active':
            self.world.ironic.undeploy(node)
            self.strangers.discard(node)

    @stateful.rule(index=st.integers(0, NODES - 1))
    def delete_and_enrol_another(self, index):
        node = self.nodes[index]
        shown = self.world.ironic.there.get(node)
        if shown is not None and shown.provision_state == 'available':
            self.world.ironic.remove(node)
            (self.nodes[index],) = self.world.enrol(mirrored=False)

    # Time, polls and sweeps.

    @stateful.rule(
        seconds=st.sampled_from((TIMEOUT, 0, 1, 9, 10, 50)),
        passes=st.lists(st.sampled_from(('changes', 'all', 'sweep',
                                         'uncertain')), max_size=2))
    def time_passes(self, seconds, passes):
        self.world.clock.advance(seconds)
        self.too_late()
        for name in passes:
            getattr(self, f'poll_{name}')()

    def too_late(self):
        ends = {row['token']: row['expires_at']
                for row in self.world.in_flight()}
        for request in list(self.open):
            if ends.get(request[0].token, self.now) <= self.now:
                # NOTE: a request takes less than the time-out of its
                # passage; what takes longer has died.
                self.open.remove(request)
                self.dies(*request)

    def poll_uncertain(self):
        self.world.find_out()
        self.too_late()
        assert not self.world.in_flight(), 'nobody knows for ever'
        self.left_behind.clear()
        self.forget_ended()

    def poll_all(self):
        mirror.refresh_all(self.world.engine)
        self.forget_ended()

    def poll_changes(self):
        mirror.refresh_changed(self.world.engine)
        mirror.settle_starting(self.world.engine)
        self.forget_ended()

    def poll_sweep(self):
        before = set(self.world.reservations())
        sweep.sweep(self.world.engine)
        for uuid in before - set(self.world.reservations()):
            if uuid in self.promises:
                assert not self.live(self.promises.pop(uuid))

    # Bookkeeping.

    def promise(self, number):
        """Return one of the promises, the latest for 0."""
        return list(self.promises.values())[-1 - number % len(self.promises)]

    def may_have_been_settled(self, promise):
        """See what became of a proof whose carrier died."""
        state = self.world.state_of(promise)
        if state == 'in_use':
            promise.used = True
        if state != 'starting':
            promise.uncertain = False

    def taken(self, node):
        shown = self.world.ironic.there.get(node)
        return shown is not None and shown.provision_state != 'available'

    def forget_ended(self):
        """Take over what the reconciler has settled, if it had cause."""
        rows = self.world.reservations()
        for uuid, promise in list(self.promises.items()):
            row = rows.get(uuid)
            shown = self.world.ironic.there.get(promise.node)
            if row is None:
                del self.promises[uuid]
                if not self.live(promise) or shown is None:
                    continue
                if promise.used or promise.uncertain:
                    assert self.free_in_ironic(promise.node) or (
                        shown.maintenance
                        and shown.provision_state == 'available'), (
                        'a reservation in use has ended')
                else:
                    assert shown.provision_state != 'available', (
                        'a promise was broken without cause')
            elif promise.uncertain:
                self.may_have_been_settled(promise)

    # What always holds.

    @stateful.invariant()
    def rows_and_promises_agree(self):
        rows = self.world.reservations()
        live = {uuid for uuid, row in rows.items()
                if row['state'] != 'reserved' or row['expires_at'] > self.now}
        nodes = [rows[uuid]['node_uuid'] for uuid in live]
        assert len(nodes) == len(set(nodes)), 'two live ones on a node'
        engine = self.world.engine
        assert set(nodes) == find.reserved_node_uuids(engine)
        assert live == {held.uuid for held in find.page(
            engine, find.Query())}, 'a void one is shown, or a live one not'
        for promise in self.promises.values():
            if not self.live(promise):
                assert promise.uuid not in live, 'an expired one binds'
                continue
            assert promise.uuid in live, 'a live promise was lost'
            if rows[promise.uuid]['state'] == 'reserved':
                assert not promise.used, 'one in use may expire'
                assert not any(held is promise for _, held in self.open), (
                    'one may expire under a request')
                assert not self.taken(promise.node), (
                    'one whose node was deployed may expire')

    @stateful.invariant()
    def nodes_that_strangers_deployed_are_not_promised_anew(self):
        for node in self.strangers:
            for row in self.world.reservations().values():
                if row['node_uuid'] == node:
                    # It was made before the operator's or the stranger's
                    # way round the guard, and is void.
                    assert row['state'] == 'reserved'
                    assert row['expires_at'] <= self.now


class TestTimeline(Timeline.TestCase):
    """Any order of events keeps the promises."""

    settings = hypothesis.settings(
        max_examples=EXAMPLES, stateful_step_count=40, deadline=None,
        suppress_health_check=list(hypothesis.HealthCheck))


class TestModel(world.TestCase):

    def test_states_of_the_model_are_those_of_the_rows(self):
        self.assertEqual(['reserved', 'starting', 'in_use'],
                         [state.value for state in node_reservation.State])
