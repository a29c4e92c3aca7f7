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

"""Leases in any order of events: of users, operators, nodes and the clock.

Two processes serve in turn, each with what it knows; either may be started
anew at any moment.
"""

import contextlib
import datetime
import functools

from hypothesis import stateful
from hypothesis import strategies as st

from ironic_reservations import errors
from ironic_reservations.engine import hosts
from ironic_reservations.engine import mirror
from ironic_reservations.engine import sweep
from ironic_reservations.engine.lease_cycle import health as lease_health
from ironic_reservations.engine.leases import change as lease_change
from ironic_reservations.engine.leases import create as lease_create
from ironic_reservations.engine.leases import end as lease_end
from ironic_reservations.engine.reservations import release
from ironic_reservations.engine.reservations import renew
from ironic_reservations.model import leases
from ironic_reservations.reconciler import lease_workers
from tests import leasing
from tests import strategies
from tests import world

CLASSES = ('gold', 'gold', 'silver')
HOUR = datetime.timedelta(hours=1)


def _if_any(name):
    """Have a rule do nothing while there is none of what it is about.

    NOTE: this is no precondition, since which nodes are free depends on uuids
    that are drawn at random, and what Hypothesis draws must not.
    """
    def decorate(act):
        @functools.wraps(act)
        def guarded(self, **drawn):
            if getattr(self, name):
                act(self, **drawn)
        return guarded
    return decorate


class Leases(stateful.RuleBasedStateMachine):
    """Tenants, operators, nodes that fail, and time that passes."""

    def __init__(self):
        super().__init__()
        self.world = world.World()
        self.world.setUp()
        self.leasing = leasing.Leasing(self.world)
        self.nodes = [self.leasing.hosts(resource_class=name)[0]
                      for name in CLASSES]
        self.ids = {node: self.leasing.host_id(node) for node in self.nodes}
        self.engines = [self.world.engine, self.world.another_engine()]
        self.promised = {}  # by id: what the last answer said of a lease
        self.ended = set()  # ids of those that were deleted
        self.bound = {}     # by the id of a row: the node it has begun on
        self.held = []      # reservations that were given

    def teardown(self):
        self.world.cleanUp()

    @property
    def now(self):
        return self.world.clock.now

    numbers = st.integers(0, 5)
    served_by = st.integers(0, 1)
    #: What a change that is refused may be refused for.
    ordinary = (errors.LeaseRefused, errors.LeaseFrozen, errors.InvalidValue)

    def lease(self, number):
        """Return one of the leases that were promised."""
        return self.leasing.reload(self.promised[
            list(self.promised)[number % len(self.promised)]])

    # Tenants.

    @stateful.rule(ask=strategies.lease_asks(), engine=served_by)
    def create(self, ask, engine):
        asked = strategies.later(ask, (self.now - world.NOON) / HOUR)
        try:
            made = lease_create.create(self.engines[engine], asked)
        except errors.LeaseRefused as exc:
            self.try_offers(exc, engine)
            return
        self.promised[made.id] = made

    def try_offers(self, refused, engine):
        for offer in refused.details['offers']:
            lease_create.rehearse(self.engines[engine],
                                  leasing.posted(offer, self.now))

    def change(self, number, engine, **changes):
        lease = self.lease(number)
        before = leasing.tables_as_text(self.world)
        try:
            changed = lease_change.change(
                self.engines[engine], lease.id, leases.LeaseChange(**changes))
        except self.ordinary:
            assert before == leasing.tables_as_text(self.world), (
                'refused, and changed')
            return
        self.promised[lease.id] = changed

    @stateful.rule(number=numbers, engine=served_by,
                   hours=st.sampled_from((1, 2, -1, 0.5, -0.5)))
    @_if_any('promised')
    def extend_or_shorten(self, number, engine, hours):
        self.change(number, engine, end=self.lease(number).end + hours * HOUR)

    @stateful.rule(number=numbers, engine=served_by,
                   hours=st.sampled_from((1, 2, -1, 0.5)))
    @_if_any('promised')
    def move(self, number, engine, hours):
        lease = self.lease(number)
        self.change(number, engine, start=lease.start + hours * HOUR,
                    end=lease.end + hours * HOUR)

    @stateful.rule(number=numbers, engine=served_by, least=st.integers(1, 3),
                   more=st.integers(0, 1))
    @_if_any('promised')
    def grow_or_shrink(self, number, engine, least, more):
        self.change(number,
                    engine,
                    reservations=(leases.LeaseReservationChange(
                        self.lease(number).reservations[0].id, least,
                        least + more),))

    @stateful.rule(number=numbers, engine=served_by, some=st.booleans())
    @_if_any('promised')
    def give_back(self, number, engine, some):
        reservation = self.lease(number).reservations[0]
        there = sorted(booking.node_uuid for booking in reservation.bookings
                       if booking.state is not leasing.ENDING)
        self.change(number,
                    engine,
                    reservations=(leases.LeaseReservationChange(
                        reservation.id,
                        give_back=tuple(there[:1] if some else there[-2:])),))

    @stateful.rule(number=numbers, engine=served_by)
    @_if_any('promised')
    def heal(self, number, engine):
        self.change(number, engine, heal=True)

    @stateful.rule(number=numbers, engine=served_by)
    @_if_any('promised')
    def cancel(self, number, engine):
        lease = self.lease(number)
        lease_end.end(self.engines[engine], lease.id)
        del self.promised[lease.id]
        self.ended.add(lease.id)

    @stateful.rule(number=numbers)
    def deploy(self, number):
        """Whoever has a node for a lease uses it."""
        begun = [row['node_uuid'] for row in self.leasing.rows()
                 if row['state'] == 'bound']
        for node in begun[number:number + 1]:
            shown = self.world.ironic.there[node]
            if shown.provision_state == 'available':
                self.world.ironic.deploy(node, world.new_uuid())

    # Those who reserve nodes without a lease.

    @stateful.rule(ttl=st.sampled_from((600, 3600, 7200)))
    def reserve(self, ttl):
        with contextlib.suppress(errors.NoNodeAvailable):
            self.held.append(self.world.reserve(*self.nodes, ttl=ttl))

    @stateful.rule(number=numbers, act=st.sampled_from(
        ('renew', 'release', 'use', 'free')))
    @_if_any('held')
    def go_on_with_a_reservation(self, number, act):
        held = self.held[number % len(self.held)]
        try:
            if act == 'renew':
                renew.renew(self.world.engine, held.uuid, ttl=7200)
            elif act == 'release':
                release.release(self.world.engine, held.uuid)
            elif act == 'use':
                if self.free_in_ironic(held.node_uuid):
                    self.world.use(held)
            elif self.world.state_of(held) == 'in_use':
                self.world.ironic.undeploy(held.node_uuid)
                mirror.refresh_all(self.world.engine)
        except errors.ReservationError as exc:
            assert exc.status in (403, 404, 409), exc

    def free_in_ironic(self, node):
        shown = self.world.ironic.there[node]
        return (shown.provision_state == 'available'
                and not shown.maintenance and shown.instance_uuid is None)

    # Operators, and nodes that fail.

    @stateful.rule(index=st.integers(0, 2), reservable=st.booleans(),
                   engine=served_by)
    def close_or_open(self, index, reservable, engine):
        hosts.change(self.engines[engine], self.ids[self.nodes[index]], {},
                     reservable=reservable)

    @stateful.rule(index=st.integers(0, 2), broken=st.booleans(),
                   seen=st.booleans())
    def break_or_mend(self, index, broken, seen):
        self.world.ironic.change(self.nodes[index], maintenance=broken)
        if seen:
            mirror.refresh_all(self.world.engine)

    @stateful.rule(index=st.integers(0, 2), engine=served_by)
    def remove_and_add(self, index, engine):
        node = self.nodes[index]
        try:
            hosts.remove(self.engines[engine], self.ids[node])
        except errors.HostInUse:
            assert any(row['node_uuid'] == node and not row['immediate']
                       for row in self.leasing.rows())
            return
        self.ids[node] = hosts.add(self.engines[engine], node, {}).id

    # Time, processes, and the reconciler.

    @stateful.rule(hours=st.sampled_from((0.01, 0.5, 1, 2)),
                   works=st.booleans(), watches=st.booleans(),
                   engine=served_by)
    def time_passes(self, hours, works, watches, engine):
        self.world.clock.now += hours * HOUR
        if works:
            self.work(engine)
        if watches:
            self.watch(engine)

    @stateful.rule(engine=served_by)
    def work(self, engine):
        lease_workers.LeaseWorkers(self.engines[engine]).one_pass()

    @stateful.rule(engine=served_by)
    def watch(self, engine):
        mirror.refresh_all(self.engines[engine])
        lease_health.check(self.engines[engine])
        sweep.sweep(self.engines[engine])

    @stateful.rule(engine=served_by)
    def process_starts_anew(self, engine):
        other = self.world.another_engine()
        if engine == 0:
            self.world.engine = other
        self.engines[engine] = other
        self.leasing.engine = self.world.engine

    # What always holds.

    @stateful.invariant()
    def no_node_is_promised_twice(self):
        assert not self.leasing.overlaps()

    @stateful.invariant()
    def what_is_known_is_what_is_read(self):
        for engine in self.engines:
            assert not leasing.Leasing(self.world, engine).stale()

    @stateful.invariant()
    def what_has_begun_stays_where_it_is(self):
        for row in self.leasing.rows():
            if row['immediate'] is None and (
                    row['state'] != 'planned' or row['lessee']):
                assert self.bound.setdefault(
                    row['id'], row['node_uuid']) == row['node_uuid']

    @stateful.invariant()
    def every_answer_is_in_the_tables(self):
        there = {lease.id: lease for lease in self.leasing.all()}
        assert set(self.promised) <= set(there), 'a lease was lost'
        assert set(there) <= set(self.promised) | self.ended
        for key, answer in self.promised.items():
            read = there[key]
            assert (read.start, read.end, read.name) == (
                answer.start, answer.end, answer.name)
            if read.status.over or read.end <= self.now:
                continue
            for each, told in zip(read.reservations, answer.reservations,
                                  strict=True):
                assert (each.least, each.most) == (told.least, told.most)
                kept = [booking for booking in each.bookings
                        if booking.state is not leasing.ENDING]
                assert each.least <= len(kept) <= each.most
                assert len({booking.node_uuid for booking in kept}) == len(
                    kept)
                assert {booking.ends_at for booking in kept} == {read.end}
