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

"""What a refusal offers is accepted as it is, whatever a project may have."""

import contextlib

import hypothesis
from hypothesis import strategies as st

from ironic_reservations import errors
from ironic_reservations.engine.leases import change as lease_change
from ironic_reservations.model import leases
from ironic_reservations.model import limits
from tests import examples
from tests import leasing
from tests import world
from tests.inprocess.engine import timelines

EXAMPLES = examples.drawn(20)
_THEIRS = 'theirs'


class TestOffers(timelines.TestCase):

    def limited(self, **options):
        self.begin(leases__project_limits=True, **{
            f'leases__{key}': value for key, value in options.items()})
        self.leasing.hosts(4, resource_class='silver')

    def others(self, start, end, hosts):
        """Lease hosts for those who may exceed limits."""
        self.leasing.create(start, end, leasing.wish(hosts),
                            project_id=_THEIRS, allowed=limits.NONE)

    def offered(self, *args):
        """Return the offers of a refusal by kind, each accepted as it is."""
        return {offer['kind']: self.leasing.post(offer, dry_run=True)
                for offer in self.leasing.refused(*args).details['offers']}

    def test_nothing_is_offered_where_the_project_has_its_hosts(self):
        """Neither before, where it has them, nor right after."""
        self.limited(max_hosts_per_project=2)
        self.leasing.create(1, 2, leasing.wish(2))
        self.others(2, 3, 3)
        self.leasing.create(3, 4, leasing.wish(2))
        offered = self.offered(2, 3, leasing.wish(2))
        self.assertNotIn('earlier', offered)
        self.assertEqual((leasing.at(4), leasing.at(5)), (
            offered['later'].start, offered['later'].end))

    def test_later_window_that_the_fleet_does_not_have_is_passed_by(self):
        """After what the project has, others are there."""
        self.limited(max_hosts_per_project=2)
        for begin in (1, 3, 5):
            self.others(begin, begin + 1, 3)
        self.leasing.create(2, 3, leasing.wish(2))
        self.leasing.create(4, 5, leasing.wish(2))
        offered = self.offered(1, 2, leasing.wish(2))
        self.assertEqual(leasing.at(6), offered['later'].start)

    def test_extension_is_offered_as_far_as_the_project_may(self):
        """Not as far as the fleet has room."""
        for limit in ({'max_host_hours_per_project': 3},
                      {'max_hosts_per_project': 1}):
            self.limited(**limit)
            lease = self.leasing.create(1, 2)
            self.others(4, 5, 4)
            if 'max_hosts_per_project' in limit:
                self.leasing.create(3, 3.5)
            refusal = self.refuse(lease, end=4.5)
            until = leasing.at(3 if 'max_hosts_per_project' in limit else 4)
            self.assertEqual([until.strftime('%Y-%m-%d %H:%M')], [
                offer['lease']['end_date']
                for offer in refusal.details['offers']])
            self.world.clock.now = leasing.at(0.25)
            changed = lease_change.change(self.engine, lease.id,
                                          leases.LeaseChange(end=until))
            self.assertEqual(until, changed.end)


_TIMES = st.tuples(st.sampled_from((1, 2, 3)), st.sampled_from((1, 1, 2)))
_HOSTS = st.builds(leasing.wish, st.integers(1, 3), st.integers(1, 3))
_WISHES = st.lists(st.one_of(
    _HOSTS, _HOSTS,
    st.builds(leasing.wish, st.integers(1, 2),
              properties=st.just(leasing.of_class('gold'))),
    st.builds(leasing.instances, st.integers(1, 3))), min_size=1, max_size=2)
_OURS = st.tuples(_TIMES, _WISHES, st.just(leasing.PROJECT))
#: Of those who may exceed limits.
_OTHERS = st.tuples(_TIMES, st.lists(
    st.builds(leasing.wish, st.integers(2, 4)), min_size=1, max_size=1),
    st.just(_THEIRS))
_LIMITS = st.fixed_dictionaries({
    'max_hosts_per_project': st.sampled_from((2, 3)),
    'max_instances_per_project': st.sampled_from((0, 3)),
    'max_host_hours_per_project': st.sampled_from((0, 6)),
    'max_instance_hours_per_project': st.sampled_from((0, 6)),
    'max_duration': st.sampled_from((0, 7200)),
    'max_horizon': st.sampled_from((0, 5 * 3600))})


_PLAIN = ((1, 1), [leasing.wish(2)], leasing.PROJECT)


class TestEveryOffer(world.TestCase):

    @hypothesis.settings(max_examples=EXAMPLES, deadline=None,
                         suppress_health_check=list(hypothesis.HealthCheck))
    @hypothesis.given(allowed=_LIMITS, asked=_OURS, promised=st.lists(
        st.one_of(_OURS, _OTHERS), min_size=2, max_size=5))
    @hypothesis.example(
        allowed={'max_hosts_per_project': 2}, asked=_PLAIN, promised=[
            ((1, 1), [leasing.wish(3)], _THEIRS),
            ((2, 1), [leasing.wish(2)], leasing.PROJECT)])
    def test_is_accepted_as_it_is(self, allowed, asked, promised):
        """Whatever is promised to whom, and whatever is asked for."""
        around = world.World(leases__project_limits=True, **{
            f'leases__{key}': value for key, value in allowed.items()})
        around.setUp()
        with contextlib.ExitStack() as stack:
            stack.callback(around.cleanUp)
            ground = leasing.Leasing(around)
            for name in ('gold', 'silver'):
                ground.hosts(2, resource_class=name,
                             properties=leasing.sizes(4))
            for lease in promised:
                self.ask(ground, *lease, dry_run=False)
            plain = [((start, 1), [leasing.wish(hosts)], leasing.PROJECT)
                     for start in (1, 2, 3) for hosts in (2, 3)]
            for lease in (asked, *plain):
                for offer in self.ask(ground, *lease):
                    hypothesis.note(offer)
                    ground.post(offer, dry_run=True)

    def ask(self, ground, times, wishes, project, dry_run=True):
        """Ask for a lease, and return what is offered instead."""
        start, length = times
        try:
            ground.create(
                start, start + length, *wishes, project_id=project,
                dry_run=dry_run,
                allowed=limits.NONE if project == _THEIRS else None)
        except (errors.LeaseRefused, errors.LeaseLimit) as exc:
            return exc.details['offers']
        return []
