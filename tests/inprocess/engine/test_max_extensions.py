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

"""A lease that has started is extended so often, and not once more."""

import hypothesis
from hypothesis import strategies as st

from ironic_reservations import errors
from ironic_reservations.engine.leases import change
from ironic_reservations.model import leases
from ironic_reservations.model import limits
from ironic_reservations.model import time_text
from tests import examples
from tests import leasing
from tests import servers
from tests.inprocess.engine import timelines


class _Extended(timelines.TestCase):

    options = {'leases__project_limits': True, 'leases__max_extensions': 2}

    def start(self):
        self.begin(**self.options)
        self.leasing.hosts(2)
        self.made = self.leasing.create(1, 3)


@servers.also
class TestMaxExtensions(_Extended):
    """A lease from one until three; two extensions."""

    def setUp(self):
        super().setUp()
        self.start()

    def refused(self, **changes):
        before = self.leasing.reload(self.made)
        refusal = self.assertRaises(errors.LeaseLimit, self.leasing.change,
                                    self.made, **changes)
        self.assertEqual(before, self.leasing.reload(self.made))
        return refusal

    def test_twice_and_not_a_third_time(self):
        self.leasing.clock_passes(2)
        self.leasing.change(self.made, end=4)
        self.leasing.change(self.made, end=5)
        refused = self.refused(end=6)
        self.assertEqual(('max_extensions', 2, 2), tuple(
            refused.details[key] for key in ('limit', 'allowed', 'used')))
        self.assertIn(time_text.moment(leasing.at(5)), str(refused))
        self.leasing.create(5, 6)

    def test_before_the_start_it_is_no_extension(self):
        for end in (4, 5, 6):
            self.leasing.change(self.made, end=end)
        self.leasing.clock_passes(2)
        self.leasing.change(self.made, end=7)

    def test_all_else_is_allowed_and_wins_nothing_back(self):
        self.leasing.clock_passes(2)
        self.leasing.change(self.made, end=5)
        self.leasing.change(self.made, end=4)
        self.leasing.change(self.made, end=5)
        self.leasing.change(self.made, end=5)
        self.leasing.change(self.made, name='longer')
        self.leasing.resize(self.made, 2, 2)
        self.leasing.change(self.made, end=4)
        self.refused(end=5)

    def test_what_was_refused_for_another_cause_does_not_count(self):
        self.leasing.create(4, 5, leasing.wish(2), project_id='theirs')
        self.leasing.clock_passes(2)
        for _ in range(3):
            self.refuse(self.made, end=5)
        self.assertEqual(0, self.leasing.reload(self.made).extensions)

    def test_two_at_once_are_two(self):
        self.leasing.clock_passes(2)
        self.leasing.change(self.made, end=3.5)
        other = self.another()
        self.world.before_next_write(
            lambda: other.change(self.made, end=4))
        self.refused_after_other(end=5)

    def refused_after_other(self, **changes):
        self.assertRaises(errors.LeaseLimit, self.leasing.change, self.made,
                          **changes)
        self.assertEqual(2, self.leasing.reload(self.made).extensions)

    def test_who_may_exceed_limits_is_not_held_to_it(self):
        self.leasing.clock_passes(2)
        for end in (4, 5, 6):
            change.change(self.engine, self.made.id, leases.LeaseChange(
                end=leasing.at(end)), allowed=limits.NONE)
        self.refused(end=7)


class TestWhateverIsAsked(_Extended):

    @examples.settings(20)
    @hypothesis.given(ends=st.lists(st.integers(3, 8), max_size=8))
    def test_as_many_longer_ends_as_allowed(self, ends):
        """However they are mixed with shorter ones."""
        self.start()
        self.leasing.clock_passes(2)
        end, extended = 3, 0
        for wanted in ends:
            longer = wanted > end
            if longer and extended == 2:
                self.assertRaises(errors.LeaseLimit, self.leasing.change,
                                  self.made, end=wanted)
                continue
            self.leasing.change(self.made, end=wanted)
            end, extended = wanted, extended + longer
        made = self.leasing.reload(self.made)
        self.assertEqual((leasing.at(end), extended),
                         (made.end, made.extensions))
