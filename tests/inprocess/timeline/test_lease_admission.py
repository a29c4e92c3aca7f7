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

"""Which leases are let in: exactly those that some assignment serves."""


import hypothesis
from hypothesis import strategies as st

from ironic_reservations import errors
from ironic_reservations.engine.leases import heal as lease_heal
from ironic_reservations.planner import bookings
from tests import leasing
from tests import strategies
from tests import world
from tests.inprocess.timeline import grounds
from tests.judges import checker
from tests.judges import oracle


class _Ground(grounds.Ground):
    """Hosts, leases on them, and what the oracle makes of both."""

    def there(self):
        """Return what the rows say, as the planner would call it."""
        now = self.world.clock()
        wanted = {}
        for lease in self.leasing.all():
            for each in lease.reservations:
                wanted[each.id] = each.resource_properties
        return [bookings.Booking(
            f'{row["lease_reservation_id"]}/{row["place"]}',
            grounds.hours(row['starts_at']), grounds.hours(row['expires_at']),
            self.nodes.index(row['node_uuid']),
            self.eligible(wanted[row['lease_reservation_id']]),
            row['starts_at'] > now) for row in self.leasing.rows()]

    def case(self, ask):
        """Return the case that the oracle decides."""
        now = grounds.hours(self.world.clock())
        hosts = (None,) * len(self.nodes)
        return oracle.Case(hosts, tuple(self.there()), tuple(
            bookings.Demand(str(number), now if ask.start is None
                            else grounds.hours(ask.start),
                            grounds.hours(ask.end), wish.least, wish.most,
                            self.eligible(wish.resource_properties))
            for number, wish in enumerate(ask.reservations)))

    def ask(self, ask):
        """Ask for a lease, check the answer, and return the hosts granted.

        :returns: ``None`` and the offers, where it was refused.
        """
        case = self.case(ask)
        made = self.asked(case, ask)
        if isinstance(made, errors.LeaseRefused):
            return None, made.details['offers']
        ids = [each.id for each in made.reservations]
        named = tuple(bookings.Demand(
            ids[number], each.start, each.end, each.least, each.most,
            each.eligible) for number, each in enumerate(case.demands))
        after = [bookings.Booking(
            each.id, each.start, each.end, each.node, each.eligible,
            each.start > grounds.hours(self.world.clock())
            or each.id.partition('/')[0] in ids) for each in self.there()]
        assert not checker.faults(case.there, named, after,
                                  [None] * len(self.nodes))
        self.check()
        return [len(each.bookings) for each in made.reservations], made


class TestAdmission(world.TestCase):

    @grounds.SETTINGS
    @hypothesis.given(st.lists(st.sampled_from(('gold', 'silver')),
                               min_size=1, max_size=4),
                      st.lists(strategies.lease_asks(), max_size=6))
    def test_admission_is_what_can_be_assigned(self, classes, asks):
        """Never a false no, never two owners, and as many as there are."""
        with _Ground(classes) as ground:
            for ask in asks:
                ground.ask(ask)

    @grounds.SETTINGS
    @hypothesis.given(
        st.lists(st.sampled_from(('', 'gold', 'silver')), min_size=2,
                 max_size=5),
        st.lists(st.sampled_from(('gold', 'silver')), min_size=1,
                 max_size=5))
    def test_healing_gives_each_a_host_of_its_own(self, wanted, spare):
        """Whatever breaks at once; who finds no other stays where it is."""
        with _Ground([name or 'gold' for name in wanted]) as ground:
            for name in wanted:
                ground.leasing.create(1, 3, leasing.wish(
                    properties=name and leasing.of_class(name)))
            broken = list(ground.nodes)
            ground.nodes += [ground.leasing.hosts(resource_class=name)[0]
                             for name in spare]
            ground.classes += spare
            for node in broken:
                ground.leasing.break_node(node)
            healed = lease_heal.heal(ground.leasing.engine)
            ground.check()
            assert healed == sum(ground.nodes[each.node] not in broken
                                 for each in ground.there())
            for each in ground.there():
                assert each.eligible >> each.node & 1, each

    @grounds.SETTINGS
    @hypothesis.given(
        st.lists(st.sampled_from(('gold', 'silver')), min_size=1,
                 max_size=4),
        st.lists(strategies.lease_asks(), min_size=3, max_size=6))
    def test_every_offer_is_accepted_as_it_is(self, classes, asks):
        """Through the body of the refusal, posted unchanged."""
        with _Ground(classes) as ground:
            for ask in asks:
                granted, said = ground.ask(ask)
                if granted is not None:
                    continue
                ground.accept(said)

    @grounds.SETTINGS
    @hypothesis.given(st.integers(1, 4), st.lists(
        st.tuples(strategies.lease_asks(classes=()), st.booleans()),
        max_size=6))
    def test_alike_hosts_are_refused_only_where_all_are_taken(self, count,
                                                              asks):
        """Accepted if and only if the depth stays within the number."""
        with _Ground(['gold'] * count) as ground:
            for ask, hour_passes in asks:
                now = grounds.hours(ground.world.clock())
                if hour_passes:
                    now += 1
                    ground.leasing.clock_passes(now)
                self._ask_alike(ground, strategies.later(ask, now), count)

    def _ask_alike(self, ground, ask, count):
        rows = ground.leasing.rows()
        start = ask.start or ground.world.clock()
        instants = {start, *(row['starts_at'] for row in rows
                             if start < row['starts_at'] < ask.end)}
        depth = max(sum(row['starts_at'] <= instant < row['expires_at']
                        for row in rows) for instant in instants)
        wanted = sum(wish.least for wish in ask.reservations)
        granted, _ = ground.ask(ask)
        self.assertEqual(depth + wanted <= count, granted is not None)

    @grounds.SETTINGS
    @hypothesis.given(
        st.lists(st.sampled_from(('gold', 'silver')), min_size=2,
                 max_size=4).flatmap(lambda classes: st.tuples(
                     st.just(classes), st.permutations(classes))),
        st.lists(strategies.lease_asks(at_once=False), min_size=2,
                 max_size=5))
    def test_order_in_which_hosts_were_added_does_not_matter(self, orders,
                                                             asks):
        """Neither for who is let in nor for how many hosts he gets.

        As long as none has started: it stays where it is from then on.
        """
        told = []
        for classes in orders:
            with _Ground(classes) as ground:
                told.append([ground.ask(ask)[0] for ask in asks])
        self.assertEqual(*told)
