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

"""What hosts are promised, counted from the rows, whatever happens to them.

Leases begin, end, and give back late; hosts get smaller, larger, go into
maintenance and out of it, and become others; leases are renewed, made larger
and smaller.  Counted by hand from the rows, no host is promised to more than
it has but where a fact from outside made it so, which is flagged; and nothing
that is accepted makes that any worse.
"""


import hypothesis
from hypothesis import stateful
from hypothesis import strategies as st

from ironic_reservations import errors
from ironic_reservations.engine.lease_cycle import health as lease_health
from ironic_reservations.engine.leases import heal as lease_heal
from tests import examples
from tests import leasing
from tests import world

VCPUS = 8
HOUR = 3600
MINUTE = 1 / 60
EXAMPLES = examples.drawn(60 // 6)


class Capacity(stateful.RuleBasedStateMachine):
    """Tenants, an operator, and a reconciler that comes by when it does."""

    def __init__(self):
        super().__init__()
        self.world = world.World(leases__cleaning_time=0,
                                 reservations__max_ttl=100 * HOUR)
        self.world.setUp()
        self.world.useFixture(world.SameUuids())
        self.leasing = leasing.Leasing(self.world)
        self.engine = self.world.engine
        self.shared = self.leasing.compute_hosts(2, vcpus=VCPUS)
        self.nodes = self.leasing.hosts(2, resource_class='gold')
        self.vcpus = dict.fromkeys(self.shared, VCPUS)
        self.leases = []

    def teardown(self):
        self.world.cleanUp()

    @property
    def hour(self):
        return (self.world.clock.now - world.NOON).total_seconds() / HOUR

    # Counted by hand.

    def rows(self):
        """Return (host, start, end, amount, begun) of what is to be had."""
        sizes = {lease_reservation.id: lease_reservation.instances.vcpus
                 for lease in self.leasing.all()
                 for lease_reservation in lease.reservations
                 if lease_reservation.instances}
        now = self.world.clock.now
        found = []
        for row in self.leasing.rows():
            start = row['starts_at'] or row['created_at']
            if row['expires_at'] <= now:
                continue
            # NOTE: on a node of Ironic, whatever it is is all of it.
            amount = (sizes[row['lease_reservation_id']]
                      if row['node_uuid'] in self.vcpus else 1)
            found.append((row['node_uuid'], start, row['expires_at'], amount,
                          row['lease_reservation_id']))
        return found

    def excess(self):
        """Count by how much hosts are promised to more than they have."""
        rows = self.rows()
        now = self.world.clock.now
        found = {}
        for host in (*self.shared, *self.nodes):
            there = [row for row in rows if row[0] == host]
            for at in {max(row[1], now) for row in there}:
                used = sum(row[3] for row in there if row[1] <= at < row[2])
                over = used - self.vcpus.get(host, 1)
                if over > 0:
                    found[host, at] = over
        return found

    def accepted(self, act):
        """Do something that may be refused, and count before and after."""
        before = self.usage()
        try:
            act()
        except (errors.LeaseRefused, errors.LeaseFrozen, errors.InvalidValue,
                errors.NoNodeAvailable):
            assert before == self.usage(), 'refused, and yet something is new'
            return
        self.assert_no_worse(before)

    def usage(self):
        """Return what is promised of each host, as rows."""
        return sorted(self.rows())

    def assert_no_worse(self, before):
        """Each instant of each host is as full as it may be, or no fuller."""
        after = self.usage()
        instants = {row[1] for row in (*before, *after)}
        instants.add(self.world.clock.now)
        for host in (*self.shared, *self.nodes):
            for at in instants:
                if at < self.world.clock.now:
                    continue
                old, new = (sum(row[3] for row in rows if row[0] == host
                                and row[1] <= at < row[2])
                            for rows in (before, after))
                assert new <= max(old, self.vcpus.get(host, 1)), (
                    f'{host} at {at}: {new} instead of {old}')

    # Tenants.

    numbers = st.integers(0, 5)
    starts = st.sampled_from((1 + MINUTE, 0, 1, MINUTE, 2))
    hours = st.sampled_from((1, 2, 3))
    sizes = st.sampled_from((2, 3, 5, 8))

    @stateful.initialize(size=sizes)
    def some_are_there(self, size):
        self.create_instances(0, 1, size, 2, None)
        self.create_instances(1 + MINUTE, 2, VCPUS, 2, None)
        self.clock(0, False)

    @stateful.precondition(lambda self: len(self.leases) < 8)
    @stateful.rule(after=starts, hours=hours, vcpus=sizes,
                   amount=st.integers(1, 3),
                   affinity=st.sampled_from((None, None, True, False)))
    def create_instances(self, after, hours, vcpus, amount, affinity):
        self.accepted(lambda: self.leases.append(self.leasing.create(
            None if not after else self.hour + after,
            self.hour + after + hours,
            leasing.instances(amount, vcpus, affinity=affinity))))

    @stateful.precondition(lambda self: len(self.leases) < 8)
    @stateful.rule(after=starts, hours=hours, gold=st.booleans())
    def create_hosts(self, after, hours, gold):
        self.accepted(lambda: self.leases.append(self.leasing.create(
            None if not after else self.hour + after,
            self.hour + after + hours, leasing.wish(
                properties=leasing.of_class('gold') if gold else ''))))

    @stateful.precondition(lambda self: self.leases)
    @stateful.rule(number=numbers, more=st.sampled_from((-1, -MINUTE, 1, 2)))
    def renew(self, number, more):
        lease = self.leases[number % len(self.leases)]
        end = (self.leasing.reload(lease).end - world.NOON).total_seconds()
        self.accepted(lambda: self.leasing.change(
            lease, end=end / HOUR + more))

    @stateful.precondition(lambda self: self.leases)
    @stateful.rule(number=numbers, amount=st.integers(1, 4))
    def resize(self, number, amount):
        lease = self.leases[number % len(self.leases)]
        if lease.reservations[0].instances:
            self.accepted(lambda: self.leasing.resize_instances(lease, amount))

    @stateful.precondition(lambda self: self.leases)
    @stateful.rule(number=numbers)
    def end(self, number):
        self.leasing.end(self.leases.pop(number % len(self.leases)))

    @stateful.rule(index=st.integers(0, 1), hours=hours)
    def reserve(self, index, hours):
        self.accepted(lambda: self.world.reserve(self.nodes[index],
                                                 ttl=hours * HOUR))

    # The clock, and what others do by it.

    @stateful.rule(hours=st.sampled_from((MINUTE / 6, MINUTE, 1, 2)),
                   back=st.booleans())
    def clock(self, hours, back):
        """What is over is taken back in time, or late."""
        self.world.clock.now = leasing.at(self.hour + hours)
        for lease in self.leasing.all():
            if lease.end <= self.world.clock.now and (
                    lease.status is leasing.ACTIVE):
                self.leasing.take_back(lease)
        if back:
            self.leasing.clean_up()
        self.leasing.bind()
        over = {lease.id for lease in self.leasing.all()
                if lease.status.over or lease.end <= self.world.clock.now}
        self.leases = [lease for lease in self.leases if lease.id not in over]

    @stateful.precondition(lambda self: self.leases)
    @stateful.rule(number=numbers, after=starts, hours=hours, vcpus=sizes)
    def late(self, number, after, hours, vcpus):
        """A lease ends, nobody has taken anything back, and another asks."""
        lease = self.leasing.reload(self.leases[number % len(self.leases)])
        self.clock((lease.end - self.world.clock.now).total_seconds() / HOUR,
                   False)
        self.create_instances(after, hours, vcpus, 1, None)

    @stateful.rule()
    def give_back(self):
        self.leasing.clean_up()

    # The operator, and chance.

    @stateful.rule(index=st.integers(0, 1), vcpus=st.sampled_from((4, 8, 12)))
    def resize_host(self, index, vcpus):
        uuid = self.shared[index]
        self.vcpus[uuid] = vcpus
        self.leasing.resize_host(uuid, vcpus)

    @stateful.rule(index=st.integers(0, 3), maintenance=st.booleans())
    def maintain(self, index, maintenance):
        uuid = (*self.shared, *self.nodes)[index]
        if uuid in self.vcpus:
            self.leasing.change_host(uuid, maintenance=maintenance)
        else:
            self.world.change(uuid, maintenance=maintenance)

    @stateful.rule(index=st.integers(0, 1), gold=st.booleans())
    def rename(self, index, gold):
        self.world.change(self.nodes[index], resource_class=(
            'gold' if gold else 'silver'))

    # The reconciler.

    @stateful.rule()
    def heal(self):
        """Nothing goes back and forth."""
        self.accepted(lambda: lease_heal.heal(self.engine))
        there = self.usage()
        assert lease_heal.heal(self.engine) == 0
        assert there == self.usage(), 'it went back and forth'

    @stateful.rule()
    def watch(self):
        """What is too much is flagged, and once."""
        lease_health.check(self.engine)
        flagged = {each.id for lease in self.leasing.all() if lease.degraded
                   for each in lease.reservations if each.missing_resources}
        rows = self.rows()
        for (host, at), over in self.excess().items():
            there = {row[4] for row in rows
                     if row[0] == host and row[1] <= at < row[2]}
            assert there & flagged or None in there, (host, at, over)
        shown = leasing.tables_as_text(self.world)
        lease_health.check(self.engine)
        assert shown == leasing.tables_as_text(self.world), 'written twice'

    @stateful.rule()
    def look(self):
        """What this process knows is so."""
        assert not self.leasing.stale()


# NOTE: a subclass, so that the test bears the name of this module, where it
# is looked for.
class TestCapacity(Capacity.TestCase):

    settings = hypothesis.settings(
        max_examples=EXAMPLES, stateful_step_count=20, deadline=None)
