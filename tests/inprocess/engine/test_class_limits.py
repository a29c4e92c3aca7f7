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

"""What a project may have of a resource class."""

import datetime
import json

import hypothesis
from hypothesis import strategies as st
from oslo_context import context as oslo_context

from ironic_reservations import errors
from ironic_reservations import policies
from ironic_reservations.api.controllers import rest
from ironic_reservations.engine import availability
from ironic_reservations.features.limits import class_admission
from ironic_reservations.features.limits import configured
from ironic_reservations.features.limits import lease_limits
from ironic_reservations.model import condition_text
from ironic_reservations.model import limits
from ironic_reservations.model import requirements
from ironic_reservations.planner import allowance
from tests import examples
from tests import leasing
from tests import world
from tests.inprocess.engine import timelines

_GOLD = leasing.of_class('gold')
_NOT_GOLD = '["!=", "$resource_class", "gold"]'


class TestHosts(timelines.TestCase):
    """Two of four hosts of gold at once; five hours of silver ahead."""

    options = {'leases__project_limits': True,
               'leases__max_hosts_per_class': {'gold': 2},
               'leases__max_host_hours_per_class': {'silver': 5}}

    def setUp(self):
        super().setUp()
        self.leasing.hosts(4, resource_class='gold')
        self.leasing.hosts(4, resource_class='silver')
        self.leasing.hosts(4, resource_class='tin')

    def refused(self, *args, **kwargs):
        with self.unchanged():
            return self.assertRaises(
                errors.LeaseLimit, self.leasing.create, *args, **kwargs)

    def accepted(self, refusal, kind):
        """Post the offer of a kind as it is."""
        return self.leasing.post(self.offer(refusal, kind))

    def test_no_more_at_once_of_a_class_and_of_others_as_before(self):
        """The answer says of which, and what would work."""
        first = self.leasing.create(1, 3, leasing.wish(properties=_GOLD))
        refusal = self.refused(2, 4, leasing.wish(2, properties=_GOLD))
        self.assertEqual(
            ('max_hosts_per_class', 'gold', 2, 1, 2),
            tuple(refusal.details[key] for key in (
                'limit', 'resource_class', 'allowed', 'used', 'asked')))
        self.assertIn(_NOT_GOLD, str(refusal))
        self.assertEqual(1, len(self.accepted(refusal, 'fewer').bookings))
        self.leasing.create(2, 4, leasing.wish_of('tin', 4))
        self.leasing.create(3, 4, leasing.wish(properties=_GOLD))
        self.assertRaises(errors.LeaseLimit, self.leasing.resize, first, 3, 3)
        self.leasing.create(1, 3, leasing.wish(2, properties=_GOLD),
                            project_id='theirs')

    def test_no_class_is_offered_beyond_its_limit(self):
        """Gold has the most hosts that are free, and was offered."""
        self.leasing.hosts(4, resource_class='gold')
        tin = leasing.wish_of('tin', 3)
        self.leasing.create(1, 2, tin, project_id='theirs')
        self.leasing.create(1, 2, leasing.wish(1, properties=_GOLD))
        refusal = self.leasing.refused(1, 2, tin)
        self.assertIn('silver',
                      self.offer(refusal, 'other_class')['detail'])
        self.accepted(refusal, 'other_class')

    def test_hours_ahead_of_a_class(self):
        silver = leasing.wish_of('silver')
        self.leasing.create(1, 5, silver)
        refusal = self.refused(5, 7, silver)
        self.assertEqual(('max_host_hours_per_class', 'silver'), (
            refusal.details['limit'], refusal.details['resource_class']))
        self.assertEqual(leasing.at(6), self.accepted(refusal, 'shorter').end)

    def test_what_names_no_class_counts_for_each(self):
        """Or it could be gold by another name, now or when it is moved."""
        self.leasing.create(1, 2, leasing.wish(2, properties=_GOLD))
        for properties in (
                '', '[">=", "$vcpus", "1"]',
                '["in", "$resource_class", ["gold", "tin"]]',
                '["or", ["==", "$resource_class", "tin"],'
                ' ["!=", "$name", "x"]]',
                '["not", ["==", "$name", "x"]]'):
            self.refused(1, 2, leasing.wish(properties=properties))
        self.leasing.create(1, 2, leasing.wish(4, properties=(
            f'["and", {_NOT_GOLD}, ["!=", "$resource_class", "silver"]]')))

    def test_several_reservations_of_a_lease_count_together(self):
        self.refused(1, 2, leasing.wish(1, properties=_GOLD),
                     leasing.wish(2, properties=_GOLD))
        lease = self.leasing.create(1, 2, leasing.wish(1, 4, _GOLD),
                                    leasing.wish(1, 4, _GOLD))
        self.assertEqual(2, len(lease.bookings))

    def test_who_may_exceed_limits_is_not_counted(self):
        conf = self.world.conf
        for allowed in (limits.NONE, rest.Controller(
                self.engine, policies.Enforcer(conf, 'keystone')).limits_of(
                oslo_context.RequestContext(roles=('member',),
                                            system_scope='all'),
                'leases', leasing.PROJECT)):
            self.leasing.create(1, 2, leasing.wish(2, properties=_GOLD),
                                allowed=allowed)

    def test_two_at_once_do_not_exceed_it(self):
        """Though they want different hosts: the later one is planned anew."""
        other = self.another()
        self.world.before_next_write(lambda: other.create(
            1, 2, leasing.wish(2, properties=_GOLD)))
        self.assertRaises(errors.LeaseLimit, self.leasing.create, 1, 2,
                          leasing.wish(properties=_GOLD))
        self.assertEqual([2], [len(lease.bookings)
                               for lease in self.leasing.all()])

    def test_two_wider_properties_at_once_do_not_exceed_it(self):
        """Leases that have started keep their hosts, and may be of gold."""
        tin = leasing.wish_of('tin', 2)
        first, second = (self.leasing.create(None, 3, tin) for _ in range(2))
        self.leasing.bind()
        other = self.another()
        self.world.before_next_write(lambda: self._widen(other, first))
        self.assertRaises(errors.LeaseLimit, self._widen, self.leasing, second)
        self._widen(self.leasing, first)

    def _widen(self, leasing_by, lease):
        """Have a lease of tin be one of tin or gold."""
        leasing_by.resize(
            lease, properties='["!=", "$resource_class", "silver"]')

    def test_slots_are_those_that_would_be_accepted(self):
        """Of the class that is asked for, by its name or by properties."""
        self.leasing.create(1, 3, leasing.wish(2, properties=_GOLD))
        caller = availability.Caller(leasing.PROJECT, configured.of(
            self.world.conf, 'leases'))
        for more, start in (({'resource_class': 'gold'}, 3),
                            ({'resource_properties': _GOLD}, 3),
                            ({'resource_class': 'gold',
                              'resource_properties': '["==", "$vcpus", "8"]'},
                             None),
                            ({'resource_class': 'tin'}, 1)):
            found = availability.count_free(
                self.engine, leasing.at(1), leasing.at(6), count=1,
                duration=3600, slots=1, caller=caller, **more)
            self.assertEqual([] if start is None else [leasing.at(start)],
                             list(found.slots), more)

    def test_slots_of_a_class_of_properties_at_their_limits(self):
        """The class is not put into them: they may be as large as may be."""
        self.leasing.create(1, 3, leasing.wish(2, properties=_GOLD))
        caller = availability.Caller(leasing.PROJECT, configured.of(
            self.world.conf, 'leases'))
        other = ['!=', '$id', 'x']
        deep = ['==', '$id', 'x']
        for _ in range(condition_text.MAX_DEPTH - 1):
            deep = ['not', deep]
        long = json.dumps(other)
        long = long.replace('x', 'x' * (condition_text.MAX_LENGTH + 1
                                        - len(long)))
        for text in (
                json.dumps(deep), long, '["!=", "$id", 1e999]',
                json.dumps(['and', *[other] * requirements.MAX_TERMS],
                           separators=(',', ':'))):
            for name, start in (('gold', 3), ('tin', 1)):
                self.assertEqual((leasing.at(start),), availability.count_free(
                    self.engine, leasing.at(1), leasing.at(6),
                    count=1, duration=3600, slots=1, caller=caller,
                    resource_class=name, resource_properties=text).slots,
                    (name, text[:40]))


_CLASSES = ('gold', 'silver', '4')
_TERMS = st.one_of(
    st.tuples(st.sampled_from(('==', '!=', '>=', '<')),
              st.just('$resource_class'), st.sampled_from((*_CLASSES, '4.0'))),
    st.tuples(st.just('in'), st.just('$resource_class'),
              st.lists(st.sampled_from(_CLASSES), min_size=1, max_size=2)),
    st.tuples(st.sampled_from(('==', '!=', '<')), st.just('$rack'),
              st.sampled_from(('1', '2'))))
_CONDITIONS = st.recursive(_TERMS, lambda inner: st.one_of(
    st.tuples(st.just('not'), inner),
    st.tuples(st.sampled_from(('and', 'or')), inner, inner)), max_leaves=6)


class TestAdmits(world.TestCase):

    @hypothesis.given(condition=_CONDITIONS, name=st.sampled_from(_CLASSES),
                      rack=st.sampled_from((None, '1', '2', '3')))
    def test_no_host_is_missed(self, condition, name, rack):
        """Whatever host a lease could get counts for its class."""
        text = json.dumps(condition)
        known = {'resource_class': name}
        if rack is not None:
            known['rack'] = rack
        if requirements.parse('', text).matches(known):
            for texts in (('', text), (text, '')):
                self.assertIn(name, class_admission.of(*texts, _CLASSES))


@st.composite
def _requests(draw):
    begin = draw(st.integers(1, 5))
    return (begin, begin + draw(st.integers(1, 3)), draw(st.integers(1, 3)),
            draw(st.sampled_from(('', _GOLD, _NOT_GOLD))))


class TestNeverMore(world.TestCase):

    @examples.settings(20)
    @hypothesis.given(requests=st.lists(_requests(), min_size=2, max_size=8))
    def test_hosts_of_a_class_at_any_instant(self, requests):
        """As they are on the timeline, wherever the planner moved them."""
        around = world.World(
            leases__project_limits=True,
            leases__max_hosts_per_class={'gold': 2})
        around.setUp()
        self.addCleanup(around.cleanUp)
        there = leasing.Leasing(around)
        gold = set(there.hosts(4, resource_class='gold'))
        there.hosts(2, resource_class='tin')
        for begin, end, hosts, properties in requests:
            try:
                there.create(begin, end, leasing.wish(
                    hosts, properties=properties))
            except (errors.LeaseLimit, errors.LeaseRefused):
                continue
        held = [booking for lease in there.all() for booking in lease.bookings
                if booking.node_uuid in gold]
        for half in range(20):
            at = leasing.at(0) + datetime.timedelta(minutes=30 * half)
            self.assertGreaterEqual(2, sum(
                each.starts_at <= at < each.ends_at for each in held))


class TestCost(world.TestCase):

    def test_each_text_is_read_once_whatever_is_counted(self):
        """Not for each class, limit and start, nor where it is written."""
        texts = [json.dumps(['and', ['==', '$resource_class', 'gold'],
                             ['!=', '$name', f'{number} {world.new_uuid()}']])
                 for number in range(1500)]
        allowed = limits.Limits(
            max_hosts_per_class={'gold': 3, 'silver': 3},
            max_host_hours_per_class={'gold': 9000, 'silver': 9000})
        read = []
        found = condition_text.read
        self.patch(condition_text, 'read', lambda source, text: (
            read.append(text), found(source, text))[1])

        def project():
            return lease_limits.Project(allowed, [allowance.Held(
                leasing.at(2), leasing.at(3), True, '', text)
                for text in texts for _ in range(2)], 0, leasing.at(0))
        for start, there in ((1, True), (2, False), (3, True)):
            for _ in range(2):
                self.assertIs(there, project().permits(leasing.ask(
                    start, start + 1, leasing.wish(properties=_GOLD))))
        wanted = set(texts)
        self.assertEqual(len(texts), sum(text in wanted for text in read))
