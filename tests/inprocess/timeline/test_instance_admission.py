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

"""Which leases of hosts and of instances are let in, together."""


import hypothesis
from hypothesis import strategies as st

from ironic_reservations import errors
from ironic_reservations.engine.leases import change as lease_change
from ironic_reservations.engine.leases import create as lease_create
from ironic_reservations.model import inventories
from ironic_reservations.model import leases
from ironic_reservations.planner import bookings
from ironic_reservations.planner import host_sets
from tests import leasing
from tests import world
from tests.inprocess.timeline import grounds
from tests.judges import checker
from tests.judges import oracle

_CPUS = (2, 8)


@st.composite
def wishes(draw):
    """Hosts, or instances of a size that some or all nodes have."""
    if draw(st.booleans()):
        return leasing.wish(draw(st.integers(1, 2)))
    return leasing.instances(
        draw(st.sampled_from((1, 1, 2, 3))), draw(st.sampled_from(_CPUS)), 512,
        5, draw(st.sampled_from((None, False, True))))


asks = st.builds(
    lambda start, length, wanted: leasing.ask(start, start + length,
                                              *wanted),
    st.integers(1, 6), st.integers(1, 4),
    st.lists(wishes(), min_size=1, max_size=2))


def _hours(instant):
    return int(grounds.hours(instant))


class _Ground(grounds.Ground):
    """Nodes of two sizes, compute hosts, leases, and what the oracle says."""

    def __init__(self, hosts):
        super().__init__()
        self.hosts = hosts
        self.nodes = [
            self.leasing.hosts(properties=leasing.sizes(cpus))[0]
            if kind == 'node' else self.leasing.compute_hosts(vcpus=cpus)[0]
            for kind, cpus in hosts]
        self.capacities = tuple(
            None if kind == 'node' else
            {'VCPU': cpus, 'MEMORY_MB': 65536, 'DISK_GB': 1000}
            for kind, cpus in hosts)

    def eligible(self, wanted):
        return host_sets.mask(
            number for number, (kind, cpus) in enumerate(self.hosts)
            if (kind == 'node' if wanted is None else wanted.vcpus <= cpus))

    def there(self, movable=frozenset()):
        """Return what the rows say, as the pool would call it."""
        now = self.world.clock()
        found = []
        for lease in self.leasing.all():
            for each in lease.reservations:
                for row in each.bookings:
                    found.append(self._promise(each, row,
                                               row.starts_at > now
                                               or each.id in movable))
        return found

    def _promise(self, each, row, movable):
        name = f'{each.id}/{row.place}'
        where = (_hours(row.starts_at), _hours(row.ends_at),
                 self.nodes.index(row.node_uuid),
                 self.eligible(each.instances))
        if each.instances is None:
            return bookings.Booking(name, *where, movable)
        return bookings.Booking(
            name, *where, movable, amounts=each.instances.need.amounts,
            group=each.id, affinity=each.instances.affinity)

    def demand(self, name, wish, start, end):
        wanted = wish.instances
        if wanted is None:
            return bookings.Demand(name, start, end, wish.least, wish.most,
                                   self.eligible(None))
        return bookings.Demand(
            name, start, end, wish.most, wish.most, self.eligible(wanted),
            amounts=inventories.of_sizes(*wanted.sizes),
            affinity=wanted.affinity)

    def ask(self, ask):
        """Ask for a lease, check the answer, and return the refusal."""
        before = self.there()
        start, end = _hours(ask.start), _hours(ask.end)
        case = oracle.Case(self.capacities, tuple(before), tuple(
            self.demand(str(number), wish, start, end)
            for number, wish in enumerate(ask.reservations)))
        possible = oracle.exists(case, [
            each.least for each in case.demands])
        try:
            made = lease_create.create(self.engine, ask)
        except errors.LeaseRefused as exc:
            assert not possible, 'refused, and it could be served'
            assert all(reason['proved'] for reason in exc.details['reasons'])
            assert self.there() == before
            self.check()
            return exc
        assert possible, 'there is no room for it'
        demands = [self.demand(each.id, wish, start, end) for each, wish
                   in zip(made.reservations, ask.reservations, strict=True)]
        self.sound(before, demands, self.there())
        return None

    def sound(self, before, demands, after):
        wrong = checker.faults(before, demands, after, self.capacities)
        assert not wrong, wrong
        self.check()

    def check(self):
        super().check()
        for lease in self.leasing.all():
            for each in () if lease.status.over else lease.reservations:
                have = sum(row.state is not leasing.ENDING
                           for row in each.bookings)
                assert each.least <= have <= each.most
                assert each.instances is None or (
                    each.instances.amount == have)


_nodes = st.lists(st.tuples(st.sampled_from(('node', 'node', 'compute')),
                            st.sampled_from(_CPUS)),
                  min_size=1, max_size=4)


class TestAdmission(world.TestCase):

    @grounds.SETTINGS
    @hypothesis.given(_nodes, st.lists(asks, max_size=5))
    def test_admission_is_what_can_be_assigned(self, hosts, wanted):
        """Never a false no, never two owners, of hosts and instances."""
        with _Ground(hosts) as ground:
            for ask in wanted:
                ground.ask(ask)

    @grounds.SETTINGS
    @hypothesis.given(_nodes, st.lists(asks, min_size=3, max_size=5))
    def test_every_offer_is_accepted_as_it_is(self, hosts, wanted):
        """Through the body of the refusal, posted unchanged."""
        with _Ground(hosts) as ground:
            for ask in wanted:
                refused = ground.ask(ask)
                ground.accept(refused.details['offers'] if refused else ())

    @grounds.SETTINGS
    @hypothesis.given(_nodes, st.lists(asks, min_size=2, max_size=4),
                      st.data())
    def test_changes_leave_all_else_whole(self, hosts, wanted, data):
        """Amounts, sizes and windows, before the start and after it."""
        with _Ground(hosts) as ground:
            for ask in wanted:
                ground.ask(ask)
            for _ in range(3):
                there = ground.leasing.all()
                if there:
                    self._change(ground, data, data.draw(
                        st.sampled_from(there)))
                if data.draw(st.booleans()):
                    ground.leasing.clock_passes(
                        _hours(ground.world.clock()) + 1)
                    ground.check()

    def _change(self, ground, data, lease):
        before = leasing.tables_as_text(ground.world)
        each = data.draw(st.sampled_from(lease.reservations))
        count = data.draw(st.integers(1, 3))
        changes = {}
        if data.draw(st.booleans()):
            changes['end'] = leasing.at(_hours(lease.end)
                                        + data.draw(st.integers(-1, 2)))
        change = leases.LeaseChange(
            reservations=(leases.LeaseReservationChange(each.id, amount=count)
                          if each.instances else leases.LeaseReservationChange(
                              each.id, count, count),),
            **changes)
        try:
            lease_change.change(ground.leasing.engine, lease.id, change)
        except (errors.LeaseRefused, errors.LeaseFrozen,
                errors.InvalidValue):
            self.assertEqual(before, leasing.tables_as_text(ground.world))
        ground.check()
