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

"""The first gaps are those that an examination of all hosts would choose."""

from unittest import mock

import hypothesis
from hypothesis import strategies as st
import testtools

from ironic_reservations.planner import bookings
from ironic_reservations.planner import fit
from ironic_reservations.planner import gaps
from ironic_reservations.planner import host_sets
from ironic_reservations.planner import timeline

HOSTS = 6
ALL = host_sets.everything(HOSTS)
CAPACITIES = [None] * 4 + [{'VCPU': 4}] * 2

hosts = st.integers(0, ALL)


@st.composite
def rows(draw):
    """Return a host and its promises; the last two hosts are partly shared.
    """
    node = draw(st.integers(0, HOSTS - 1))
    cuts = sorted(draw(st.sets(st.integers(0, 20), max_size=8)))
    row = []
    for start, end in zip(cuts[::2], cuts[1::2], strict=False):
        margin = draw(st.integers(0, 1))
        if end - margin > start:
            row.append(bookings.Booking(
                f'{node}/{start}', start, end - margin, node, ALL,
                margin=margin, amounts=(('VCPU', 1),) if node > 3 and draw(
                    st.booleans()) else None))
    return node, row


@st.composite
def demands(draw):
    """Return a demand for whole hosts."""
    start = draw(st.integers(-2, 20))
    most = draw(st.integers(1, HOSTS))
    return bookings.Demand('new', start, start + draw(st.integers(1, 8)), 0,
                           most, draw(hosts), draw(st.integers(0, 1)),
                           draw(hosts))


def chosen(now, demand):
    """Choose hosts by an examination of all bookings of all hosts."""
    found = []
    draft = timeline.Draft.of(now)
    for node in host_sets.members(demand.eligible):
        windows = [(each.start, draft.until(each, node))
                   for each in now.rows[node]]
        if any(start < demand.until and demand.start < until
               for start, until in windows):
            continue
        since = max((until for _, until in windows
                     if until <= demand.start), default=-(1 << 80))
        found.append((not demand.preferred >> node & 1, -since, node))
    return [(node, 1) for _, _, node in sorted(found)][:demand.most]


class TestGaps(testtools.TestCase):

    @hypothesis.given(
        st.lists(rows(), max_size=12), demands(),
        st.sampled_from([0, 1, 3, 64]), st.sampled_from([0, 1, 64]),
        st.sampled_from([1, 7, 1 << 40]))
    def test_hosts_are_those_that_a_look_at_all_would_choose(
            self, changes, demand, stale, looks, span):
        with (mock.patch.object(timeline, '_STALE', stale),
              mock.patch.object(fit, '_GAPS', looks),
              mock.patch.object(gaps, '_SPAN', span)):
            now = timeline.Timeline.of(CAPACITIES)
            for node, row in changes:
                draft = timeline.Draft.of(now)
                draft.draw(node, row)
                before, now = now, draft.timeline()
                self.assertEqual(
                    [each for each in range(HOSTS)
                     if now.rows[each] is not before.rows[each]],
                    list(timeline.differing(now, before)))
                draft = timeline.Draft.of(now)
                self.assertEqual(chosen(now, demand), fit.fit(
                    draft, demand, mock.Mock(
                        eligible=demand.eligible, amounts=None),
                    demand.most))

    def test_of_many_hosts_few_are_looked_at(self):
        """Otherwise a request for one host would cost as much as all hosts."""
        count = 5000
        now = timeline.Timeline.of([None] * count, [
            bookings.Booking(str(node), 0, 1 + node % 50, node, 1)
            for node in range(count)])
        draft = timeline.Draft.of(now)
        demand = bookings.Demand('new', 30, 40, 1, 1,
                                 host_sets.everything(count))
        with mock.patch.object(timeline.Draft, 'free', autospec=True,
                               side_effect=timeline.Draft.free) as free:
            self.assertEqual([(29, 1)], fit.fit(
                draft, demand, mock.Mock(eligible=demand.eligible,
                                         amounts=None), 1))
        self.assertEqual(1, free.call_count)
