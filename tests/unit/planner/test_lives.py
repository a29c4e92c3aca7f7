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

"""Leases come, change, start and end, and no host is ever too full."""

import dataclasses

import hypothesis
from hypothesis import strategies as st
import testtools

from ironic_reservations.planner import bookings
from ironic_reservations.planner import host_sets
from ironic_reservations.planner import planning
from ironic_reservations.planner import plans
from ironic_reservations.planner import timeline
from tests import examples
from tests.judges import checker
from tests.judges import oracle

HOSTS = st.lists(st.none() | st.fixed_dictionaries({
    'VCPU': st.integers(3, 8), 'MEMORY_MB': st.integers(3, 8)}),
    min_size=2, max_size=5)


class _Life:
    """A pool over time; the holdings of a lease are found by its name."""

    def __init__(self, data):
        self.data = data
        self.capacities = tuple(data.draw(HOSTS))
        self.everything = host_sets.everything(len(self.capacities))
        self.pool = timeline.Timeline.of(self.capacities)
        self.now = 0
        self.demands = {}
        self.started = set()
        self.steps = 0

    def create(self):
        name = f'lease {self.steps}'
        start = self.now + self.data.draw(st.integers(1, 5))
        end = start + self.data.draw(st.integers(1, 5))
        margin = self.data.draw(st.sampled_from((0, 1)))
        if self.data.draw(st.sampled_from((True, False, False))):
            least = self.data.draw(st.integers(1, 2))
            demand = bookings.Demand(
                name, start, end, least, least + self.data.draw(
                    st.integers(0, 1)),
                self.data.draw(st.just(self.everything)
                               | st.integers(1, self.everything)), margin)
        else:
            size = tuple((key, self.data.draw(st.integers(1, 3)))
                         for key in ('MEMORY_MB', 'VCPU'))
            count = self.data.draw(st.integers(1, 4))
            demand = bookings.Demand(
                name, start, end, count, count,
                oracle.fitting(self.capacities, size), margin,
                amounts=size, affinity=self.data.draw(
                    st.sampled_from((None, True, False))))
        if self._plan(self.pool, [demand]):
            self.demands[name] = demand

    def _chosen(self):
        """Return a lease that is not over, if there is one."""
        names = [name for name, demand in self.demands.items()
                 if demand.end > self.now]
        return self.data.draw(st.sampled_from(names)) if names else None

    def _of(self, name):
        return [each for each in self.pool.promised()
                if each.id.rpartition('/')[0] == name]

    def change(self):
        """Extend or shorten a lease; a started one stays in its place."""
        name = self._chosen()
        if name is None:
            return
        demand = self.demands[name]
        own = self._of(name)
        end = max(demand.start, self.now) + self.data.draw(st.integers(1, 8))
        rest = self.pool.without(own)
        if name not in self.started:
            demand = dataclasses.replace(demand, end=end)
            if self._plan(rest, [demand]):
                self.demands[name] = demand
            return
        if end > demand.end:
            # Each booking stays in its place, so each is a demand of its own.
            wanted = [_staying(each, end) for each in own]
            if not self._plan(rest, wanted):
                return
            rest = self.pool.without([
                each for each in self.pool.promised()
                if each.id.startswith('stays ')])
        self.pool = rest.adding([dataclasses.replace(each, end=end)
                                 for each in own])
        self.demands[name] = dataclasses.replace(demand, end=end)

    def cancel(self):
        name = self._chosen()
        if name is not None:
            self.pool = self.pool.without(self._of(name))
            del self.demands[name]

    def start(self):
        """Let time pass; a started booking stays in its place."""
        self.now += self.data.draw(st.integers(1, 4))
        self.started = {name for name, demand in self.demands.items()
                        if demand.start <= self.now}
        self.pool = timeline.Timeline.of(self.capacities, [
            dataclasses.replace(each, movable=False)
            if each.start <= self.now else each
            for each in self.pool.promised()])

    def _plan(self, free, demands):
        before = list(free.promised())
        answer = planning.plan(free, demands)
        if isinstance(answer, plans.Refusal):
            return False
        assert not checker.faults(before, demands,
                                       answer.timeline.promised(),
                                       self.capacities)
        self.pool = answer.timeline
        return True


def _staying(each, end):
    if each.amounts is None:
        return bookings.Demand(f'stays {each.id}', each.start, end, 1, 1,
                               1 << each.node, each.margin)
    return bookings.Demand(
        f'stays {each.id}', each.start, end, 1, 1, 1 << each.node,
        each.margin, amounts=each.amounts, affinity=each.affinity,
        group=each.group)


class TestLives(testtools.TestCase):

    @examples.settings(80)
    @hypothesis.given(st.data())
    def test_capacity_is_never_exceeded(self, data):
        """The capacity holds at each instant, in any order of events."""
        life = _Life(data)
        for step in data.draw(st.lists(st.sampled_from((
                life.create, life.create, life.create, life.change,
                life.cancel, life.start)), min_size=4, max_size=14)):
            life.steps += 1
            begun = {each.id: each.node for each in life.pool.promised()
                     if not each.movable}
            step()
            promised = list(life.pool.promised())
            self.assertTrue(oracle.sound(life.capacities, promised))
            for each in promised:
                self.assertEqual(each.node, begun.get(each.id, each.node))
            for name, demand in life.demands.items():
                own = [each for each in promised
                       if each.id.rpartition('/')[0] == name]
                self.assertGreaterEqual(len(own), demand.least)
                self.assertEqual({(demand.start, demand.end)},
                                 {(each.start, each.end) for each in own})
