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

"""A million hosts in a request cost more than a second, on twelve hosts.

Work is bounded by what the fleet is.  What is counted is what is done, not
how long it takes.
"""

import json

from ironic_reservations import errors
from ironic_reservations.planner import bookings
from ironic_reservations.planner import planning
from ironic_reservations.planner import plans
from ironic_reservations.planner import timeline
from tests import leasing
from tests import world

_MILLION = 10**6


class _Named(str):
    """The id of a demand, which counts the names that are made of it."""

    made = 0

    def __format__(self, spec):
        type(self).made += 1
        return str.__format__(self, spec)


class TestMillionHosts(world.TestCase):

    def test_names_are_made_of_what_was_found_alone(self):
        """A million were made, to leave them out of the blockers."""
        now = timeline.Timeline.of([None] * 12, [bookings.Booking(
            'b', 0, 10, 3, 0xfff, False)])
        for least, kind in ((13, plans.Refusal), (_MILLION, plans.Refusal),
                            (1, plans.Plan)):
            _Named.made = 0
            self.assertIsInstance(planning.plan(now, [bookings.Demand(
                _Named('d'), 0, 10, least, _MILLION, 0xfff)]), kind)
            self.assertLess(_Named.made, 100)

    def test_a_lease_asks_for_as_much_as_can_be_found_out(self):
        """Each comparison is made for each host, in each reservation."""
        there = leasing.Leasing(self.new_world())
        there.hosts(1)

        def wish(name, terms=120):
            return leasing.wish(properties=json.dumps(
                ['or', *(['==', f'${name}{number}', '1']
                         for number in range(terms))]))
        many = [wish(name) for name in 'abcde']
        refused = self.assertRaises(errors.InvalidValue, there.create, 1, 2,
                                    *many)
        self.assertIn('600 comparisons', str(refused))
        # What is asked for twice is found out once.
        self.assertRaises(errors.LeaseRefused, there.create, 1, 2,
                          *[many[0]] * 20)
