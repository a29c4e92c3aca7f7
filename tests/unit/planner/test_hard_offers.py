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

"""Counter-offers to requests that are hard to decide."""

import random

import fixtures
import testtools

from ironic_reservations.planner import bookings
from ironic_reservations.planner import budget
from ironic_reservations.planner import offers
from ironic_reservations.planner import planning
from ironic_reservations.planner import plans
from ironic_reservations.planner import search
from ironic_reservations.planner import timeline

_HOSTS = 24
_NO_MOVES = budget.Limits(search=0, eject=0)


def _crowded():
    """Return a full timeline of hosts of four classes.

    Each booking accepts hosts of some classes, so it is hard to determine
    which ones can move, and where.
    """
    chance = random.Random(0)
    classes = [sum(1 << host for host in range(first, _HOSTS, 4))
               for first in range(4)]
    now = timeline.Timeline.of([None] * _HOSTS, [])
    for number in range(120):
        eligible = sum(chance.sample(classes, chance.choice((1, 2, 3, 4))))
        start = chance.randrange(2000)
        end = start + chance.choice((50, 110, 230, 470, 900))
        count = chance.randrange(1, _HOSTS // 4 + 1)
        planned = planning.plan(now, [bookings.Demand(
            f'lease-{number}', start, end, count, count, eligible)],
            _NO_MOVES, False)
        if isinstance(planned, plans.Plan):
            now = planned.timeline
    return now


class TestHardOffers(testtools.TestCase):

    def test_offers_are_searched_no_longer_than_hard_requests(self):
        """Many starts are tried, each with a short exact search."""
        now, spent = _crowded(), []

        real = search.search

        def counted(draft, unit, pinned, steps):
            before = steps.spent
            try:
                return real(draft, unit, pinned, steps)
            finally:
                spent.append(steps.spent - before)
        self.useFixture(fixtures.MockPatchObject(search, 'search', counted))
        for start, end, count, eligible in ((1039, 1509, 5, 0xeeeeee),
                                            (1558, 1788, 4, 0xbbbbbb)):
            demand = bookings.Demand('x', start, end, count, count, eligible)
            refused = planning.plan(now, [demand], explained=False)
            self.assertIs(plans.Cause.SEARCH_LIMIT, refused.cause)
            del spent[:]
            offers.offers(now, [demand], 0, 4000)
            self.assertLess(sum(spent), 3 * planning.LIMITS.search)
