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

"""What the operator allows: how long, how far ahead, how many."""

from ironic_reservations import errors
from ironic_reservations.engine.leases import create as lease_create
from tests import leasing
from tests import world


class _Limits(world.TestCase):

    def limited(self, **options):
        self.leasing = leasing.Leasing(self.new_world(**{
            f'leases__{key}': value for key, value in options.items()}))
        self.leasing.hosts(4, resource_class='silver')

    def assert_limit(self, act, *args, **kwargs):
        before = leasing.tables_as_text(self.leasing.world)
        self.assertRaises(errors.LeaseLimit, act, *args, **kwargs)
        self.assertEqual(before, leasing.tables_as_text(self.leasing.world))


class TestWindow(_Limits):

    def test_longer_lease_than_the_longest_is_refused(self):
        """When it is made, and when it is made longer."""
        self.limited(max_duration=7200)
        self.assert_limit(self.leasing.create, 1, 3.01)
        self.assert_limit(self.leasing.create, None, 2.01)
        lease = self.leasing.create(1, 3)
        self.assert_limit(self.leasing.change, lease, end=3.01)
        self.assert_limit(self.leasing.change, lease, start=0.9)
        self.leasing.change(lease, start=2, end=4)

    def test_lease_further_ahead_than_the_furthest_is_refused(self):
        """Its end counts."""
        self.limited(max_horizon=7200)
        self.assert_limit(self.leasing.create, 1, 2.01)
        lease = self.leasing.create(1, 2)
        self.assert_limit(self.leasing.change, lease, end=2.01)
        self.leasing.world.clock.now = leasing.at(0.5)
        self.leasing.change(lease, end=2.5)

    def test_limit_that_is_lowered_leaves_what_was_promised(self):
        """A lease that is too long by now can be renamed and shortened."""
        self.limited()
        lease = self.leasing.create(1, 4)
        self.leasing.world.conf.set_override('max_duration', 7200, 'leases')
        self.leasing.change(lease, name='renamed')
        self.assert_limit(self.leasing.change, lease, end=3.5)
        self.leasing.change(lease, end=3)

    def test_no_offer_is_beyond_the_limits(self):
        """What is offered can be had."""
        self.limited(max_horizon=5 * 3600, max_duration=4 * 3600)
        self.leasing.create(1, 4, leasing.wish(4))
        for end, kinds in ((3, {'earlier', 'later'}), (4, set())):
            offers = self.leasing.refused(2, end).details['offers']
            self.assertEqual(kinds, {offer['kind'] for offer in offers})
            for offer in offers:
                lease_create.create(self.leasing.engine, leasing.posted(
                    offer, self.leasing.world.clock()), dry_run=True)


class TestCount(_Limits):

    def test_project_has_as_many_leases_as_it_may(self):
        """Each project for itself, and those without one together."""
        self.limited(max_leases_per_project=1)
        for project in ('ours', 'theirs', None):
            lease = self.leasing.create(1, 2, project_id=project)
            self.assert_limit(self.leasing.create, 3, 4, project_id=project)
            self.leasing.end(lease)
            self.leasing.create(3, 4, project_id=project)

    def test_leases_that_are_over_do_not_count(self):
        """Neither those that are being taken back."""
        self.limited(max_leases_per_project=1)
        self.leasing.create(0, 1)
        self.leasing.bind()
        self.assert_limit(self.leasing.create, 2, 3)
        self.leasing.clock_passes(1)
        self.leasing.create(2, 3)

    def test_retry_of_the_last_lease_is_no_further_lease(self):
        """What was served is served again."""
        self.limited(max_leases_per_project=1)
        made = self.leasing.create(1, 2, key='k')
        self.assertEqual(made.id, self.leasing.create(1, 2, key='k').id)

    def test_dry_run_says_that_the_limit_is_reached(self):
        """Before anybody relies on the answer."""
        self.limited(max_leases_per_project=1)
        self.leasing.create(1, 2)
        self.assert_limit(lease_create.create, self.leasing.engine,
                          leasing.ask(1, 2), dry_run=True)

    def test_two_at_once_do_not_exceed_the_number_of_leases(self):
        """Though they want different hosts at different times."""
        self.limited(max_leases_per_project=1)
        self.leasing.hosts(1, resource_class='gold')
        other = leasing.Leasing(self.leasing.world,
                                self.leasing.world.another_engine())
        self.leasing.world.before_next_write(lambda: other.create(
            5, 6, leasing.wish(properties=leasing.of_class('gold'))))
        self.assertRaises(
            errors.LeaseLimit, self.leasing.create, 1, 2,
            leasing.wish(4, properties='["!=", "$resource_class", "gold"]'))
        self.assertEqual(1, len(self.leasing.all()))
