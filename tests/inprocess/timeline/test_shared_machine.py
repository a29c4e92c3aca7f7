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

"""Leases, reservations and deploys on one timeline, in any order of events."""


import contextlib

import hypothesis
from hypothesis import stateful
from hypothesis import strategies as st

from ironic_reservations import errors
from ironic_reservations.engine.in_flight import admission
from ironic_reservations.engine.in_flight import allocation_requests
from ironic_reservations.engine.reservations import release
from ironic_reservations.engine.reservations import renew
from ironic_reservations.model import instants
from ironic_reservations.model import node_condition
from ironic_reservations.model import reasons
from ironic_reservations.planner import bookings
from ironic_reservations.planner import host_states
from ironic_reservations.planner import pick
from tests import examples
from tests import leasing
from tests import world
from tests.judges import oracle

HOSTS = 3
HOUR = 3600
#: More leases than this are more than the oracle can try.
LEASES = 6

EXAMPLES = examples.drawn(60 // 3)


class Timeline(stateful.RuleBasedStateMachine):
    """Tenants with and without leases, and the clock."""

    def __init__(self):
        super().__init__()
        self.world = world.World(reservations__max_ttl=100 * HOUR)
        self.world.setUp()
        self.world.useFixture(world.SameUuids())
        self.leasing = leasing.Leasing(self.world)
        self.engine = self.world.engine
        # Two that are alike, one that is not, and one that is no host.
        self.nodes = [
            *self.leasing.hosts(HOSTS - 1, resource_class='gold'),
            *self.leasing.hosts(1, resource_class='silver'),
            *self.world.enrol(1, resource_class='gold')]
        self.leases = []
        self.held = []
        self.strangers = set()

    def teardown(self):
        self.world.cleanUp()

    @property
    def hour(self):
        return (self.world.clock.now - world.NOON).total_seconds() / HOUR

    def possible(self, node, seconds):
        """Tell whether all leases could be kept if a node were taken."""
        snapshot = self.leasing.snapshot()
        now = instants.instant(snapshot.now)
        end = (host_states.ALWAYS[1] if seconds is None
               else now + seconds * instants.SECOND)
        number = snapshot.host_set.number(node)
        return oracle.exists(oracle.Case(
            snapshot.timeline.capacities, tuple(snapshot.timeline.promised()),
            (bookings.Demand('taken', now, end, 1, 1, 1 << number),)), [1])

    numbers = st.integers(0, 5)
    indexes = st.integers(0, HOSTS)
    times = st.sampled_from((2, 1, 4, 24))
    #: In how many hours, for how many, on how many hosts, of which class.
    windows = st.tuples(st.sampled_from((1, 2, 3, 0)), times,
                        st.integers(1, 2), st.booleans())

    # Tenants with leases.

    @stateful.initialize(there=st.lists(windows, min_size=1, max_size=3))
    def some_are_there(self, there):
        # NOTE: where none is, nothing has to move.
        for each in there:
            self.create(each)

    @stateful.precondition(lambda self: len(self.leases) < LEASES)
    @stateful.rule(window=windows)
    def create(self, window):
        after, hours, count, gold = window
        start = None if not after else self.hour + after
        with contextlib.suppress(errors.LeaseRefused):
            self.leases.append(self.leasing.create(
                start, self.hour + after + hours,
                leasing.wish(count, properties=(
                    leasing.of_class('gold') if gold else ''))))

    @stateful.precondition(lambda self: self.leases)
    @stateful.rule(number=numbers)
    def end(self, number):
        lease = self.leases.pop(number % len(self.leases))
        self.leasing.end(lease)

    @stateful.precondition(lambda self: self.leases)
    @stateful.rule(number=numbers, more=st.sampled_from((-1, 1, 3)))
    def extend(self, number, more):
        lease = self.leases[number % len(self.leases)]
        with contextlib.suppress(errors.LeaseRefused, errors.LeaseFrozen,
                                 errors.InvalidValue):
            self.leasing.change(lease, end=(
                self.leasing.reload(lease).end - world.NOON
            ).total_seconds() / HOUR + more)

    @stateful.precondition(lambda self: self.leases)
    @stateful.rule(number=numbers)
    def deploy_with_the_lease(self, number):
        lease = self.leasing.reload(self.leases[number % len(self.leases)])
        now = self.world.clock.now
        for booking in lease.bookings:
            live = (booking.starts_at <= now < booking.ends_at
                    and booking.state is not leasing.ENDING)
            try:
                opened = admission.admit(self.engine, booking.node_uuid,
                                       booking.reservation_id)
            except errors.ProofInvalid:
                assert not live or self.late(booking), 'the proof is good'
                continue
            assert live, 'the lease has not started, or is over'
            self.answer(opened, None)

    def late(self, booking):
        """Tell whether the lease before has not let go of the node yet."""
        now = self.world.clock.now
        return any(
            row['node_uuid'] == booking.node_uuid
            and (row['state'] == 'ending' or row['state'] == 'bound'
                 and row['expires_at'] <= now)
            for row in self.leasing.rows())

    # Tenants without.

    def promised(self):
        now = self.world.clock.now
        return {row['node_uuid'] for row in self.leasing.rows()
                if row['starts_at'] and row['starts_at'] > now}

    def promised_first(self):
        """Return the nodes, those that somebody has to make room on first."""
        promised = self.promised()
        return sorted(self.nodes, key=lambda node: (
            node not in promised, not self.available(node),
            self.nodes.index(node)))

    @stateful.precondition(lambda self: self.promised())
    @stateful.rule(order=st.permutations(range(HOSTS + 1)),
                   length=st.integers(1, 2), hours=times)
    def reserve(self, order, length, hours):
        there = self.promised_first()
        listed = [there[index] for index in order[:length]]
        try:
            self.held.append(self.world.reserve(*listed, ttl=hours * HOUR))
        except errors.NoNodeAvailable as exc:
            for reason in exc.details['reasons']:
                if reason['code'] == reasons.PROMISED:
                    assert not self.possible(
                        reason['node_uuid'], hours * HOUR), (
                        'the leases could have been kept')

    @stateful.rule(hours=times)
    def reserve_by_class(self, hours):
        with contextlib.suppress(errors.NoNodeAvailable):
            self.held.append(self.world.reserve(resource_class='gold',
                                                ttl=hours * HOUR))

    @stateful.precondition(lambda self: self.held)
    @stateful.rule(number=numbers, hours=times)
    def renew(self, number, hours):
        held = self.held[number % len(self.held)]
        with contextlib.suppress(errors.ReservationNotFound,
                                 errors.ExtensionRefused):
            renew.renew(self.engine, held.uuid, ttl=hours * HOUR)

    @stateful.precondition(lambda self: self.held)
    @stateful.rule(number=numbers)
    def release(self, number):
        held = self.held.pop(number % len(self.held))
        with contextlib.suppress(errors.ReservationNotFound):
            release.release(self.engine, held.uuid)

    @stateful.precondition(lambda self: self.promised())
    @stateful.rule(index=indexes, accepted=st.sampled_from((
        False, False, True)))
    def deploy(self, index, accepted):
        node = self.promised_first()[index // 2]
        free = self.available(node)
        try:
            opened = admission.admit(self.engine, node)
        except errors.NodePromised:
            assert not free or not self.possible(node, None), (
                'the leases could have been kept')
        except errors.ProofRequired:
            pass
        else:
            self.answer(opened, node if accepted else None, accepted)

    @stateful.precondition(lambda self: self.held)
    @stateful.rule(number=numbers)
    def deploy_with_the_reservation(self, number):
        held = self.held[number % len(self.held)]
        try:
            opened = admission.admit(self.engine, held.node_uuid, held.uuid)
        except (errors.ProofInvalid, errors.NodePromised):
            return
        self.answer(opened, held.node_uuid)

    @stateful.rule(listed=st.booleans(), accepted=st.sampled_from((
        False, False, True)))
    def allocate(self, listed, accepted):
        try:
            opened = allocation_requests.hold(
                self.engine, pick.NodeRequest(
                    world.new_uuid(), tuple(self.nodes) if listed else None,
                    'gold'), world.ALL_NODES)
        except errors.NoNodeAvailable:
            return
        assert self.available(opened.node_uuid)
        self.answer(opened, opened.node_uuid, accepted)

    def available(self, node):
        shown = self.world.ironic.there[node]
        return (shown.provision_state == node_condition.AVAILABLE
                and shown.instance_uuid is None)

    def answer(self, opened, stranger, accepted=True):
        """Have Ironic deploy the node, if it is free."""
        node = opened.node_uuid
        accepted = accepted and self.available(node)
        if accepted:
            self.world.ironic.deploy(node, world.new_uuid())
            if stranger is not None:
                self.strangers.add(node)
        admission.close(self.engine, opened, accepted, self.world.shown(node))

    @stateful.rule()
    def undeploy(self):
        for node in self.nodes:
            if not self.available(node):
                self.free(node)
        self.leasing.refresh()

    def free(self, node):
        self.world.ironic.undeploy(node)
        self.strangers.discard(node)

    # The clock, and who goes by it.

    @stateful.rule(hours=st.sampled_from((1, 0, 0.5, 3)), bind=st.booleans(),
                   take_back=st.booleans(), clean=st.booleans())
    def time_passes(self, hours, bind, take_back, clean):
        self.world.clock.advance(hours * HOUR)
        if bind:
            self.leasing.bind()
        for lease in list(self.leases):
            if self.leasing.reload(lease).end <= self.world.clock.now and (
                    take_back):
                self.leasing.take_back(lease)
                self.leases.remove(lease)
        if clean:
            for row in self.leasing.rows():
                if row['state'] == 'ending' and not self.available(
                        row['node_uuid']):
                    self.free(row['node_uuid'])
            self.leasing.clean_up()
        self.leasing.refresh()

    # What always holds.

    @stateful.invariant()
    def nobody_shares_a_node(self):
        assert self.leasing.overlaps() == []

    @stateful.invariant()
    def what_is_known_is_so(self):
        assert self.leasing.stale() == {}

    @stateful.invariant()
    def nothing_is_promised_on_what_strangers_use(self):
        for row in self.leasing.rows():
            if row['node_uuid'] in self.strangers:
                assert not (row['state'] == 'planned' and
                            row['starts_at'] > self.world.clock.now), row


class TestTimeline(Timeline.TestCase):
    """Any order of events keeps every promise."""

    settings = hypothesis.settings(
        max_examples=EXAMPLES, stateful_step_count=30, deadline=None,
        suppress_health_check=list(hypothesis.HealthCheck))
