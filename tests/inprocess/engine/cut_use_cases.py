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

"""Two use cases of which one is cut by others, anywhere."""

import contextlib
import dataclasses

import hypothesis
from hypothesis import strategies as st
import sqlalchemy as sa

from ironic_reservations import errors
from ironic_reservations.db import connection
from ironic_reservations.db import tables
from ironic_reservations.engine import hosts
from ironic_reservations.engine import mirror
from ironic_reservations.engine import sweep
from ironic_reservations.engine.lease_cycle import health as lease_health
from ironic_reservations.engine.leases import change as lease_change
from ironic_reservations.engine.leases import create as lease_create
from ironic_reservations.engine.leases import end as lease_end
from ironic_reservations.engine.reservations import release
from ironic_reservations.engine.reservations import renew
from ironic_reservations.engine.reservations import reserve
from ironic_reservations.model import leases
from ironic_reservations.planner import pick
from ironic_reservations.reconciler import lease_workers
from tests import cuts
from tests import examples
from tests import leasing
from tests import world

EXAMPLES = examples.drawn(25)
_NODES = 3
_TIMES = (0.25, 0.5, 1, 1.5, 2, 3)
_REFUSED = (errors.ReservationError, connection.Conflict)
_places = st.integers(0, 3)
_times = st.sampled_from(_TIMES)
_wanted = st.integers(1, 2)
#: What somebody does: the name of a method of :class:`Timeline`, and with
#: what.
ACTS = st.one_of(
    st.tuples(st.just('reserve'), st.integers(0, _NODES - 1), _times),
    st.tuples(st.just('renew'), _places, _times),
    st.tuples(st.just('release'), _places),
    st.tuples(st.just('create'), st.sampled_from((0, 0.25, 0.5, 1)), _times,
              _wanted),
    st.tuples(st.just('change'), _places, _times),
    st.tuples(st.just('resize'), _places, _wanted),
    st.tuples(st.just('end'), _places),
    st.tuples(st.just('work')),
    st.tuples(st.just('watch')),
    st.tuples(st.just('sweep')),
    st.tuples(st.just('refresh')),
    st.tuples(st.just('open_or_close'), st.integers(0, _NODES - 1)),
    st.tuples(st.just('wait'), st.sampled_from((0.25, 0.5, 1))))
#: Who is cut at which statement, and by what.
_CUTS = st.dictionaries(st.integers(1, 40), st.lists(ACTS, min_size=1,
                                                     max_size=2),
                        min_size=1, max_size=2)


@dataclasses.dataclass
class _Held:
    """What was acknowledged of a reservation or a lease."""

    nodes: set = dataclasses.field(default_factory=set)
    ends: set = dataclasses.field(default_factory=set)
    counts: set = dataclasses.field(default_factory=set)
    over: bool = False


class Timeline:
    """Three processes on the same rows, and what they have acknowledged."""

    def __init__(self, around):
        self.world = around
        self.leasing = leasing.Leasing(around)
        self.nodes = self.leasing.hosts(_NODES)
        self.ids = [self.leasing.host_id(node) for node in self.nodes]
        self.engines = [around.engine, around.another_engine(),
                        around.another_engine()]
        self.crews = [lease_workers.LeaseWorkers(each)
                      for each in self.engines]
        self.reservations, self.leases = {}, {}
        self.cuts = [around.useFixture(cuts.Cuts(each))
                     for each in self.engines[:2]]

    def act(self, who, act):
        """Do something as one of the processes; it may be refused."""
        name, *given = act
        with contextlib.suppress(_REFUSED):
            getattr(self, name)(who, *given)

    def cut(self, act, first, second):
        """Do something, cut by others, of whom the first one is cut, too."""
        def nested(acts):
            def come_first():
                self.cuts[1].at({number: lambda inner=inner: [
                    self.act(2, each) for each in inner]
                    for number, inner in second.items()})
                for each in acts:
                    self.act(1, each)
                self.cuts[1].at({})
            return come_first
        self.cuts[0].at({number: nested(acts)
                         for number, acts in first.items()})
        self.act(0, act)
        self.cuts[0].at({})

    def _some(self, known, place):
        keys = list(known)
        return keys[place % len(keys)] if keys else world.new_uuid()

    def reserve(self, who, place, hours):
        node = self.nodes[place]
        made = reserve.reserve(self.engines[who], pick.NodeRequest(
            world.new_uuid(), (node,), expires_at=leasing.at(hours)),
            world.ALL_NODES)
        self.reservations[made.uuid] = _Held({made.node_uuid},
                                             {made.expires_at})

    def renew(self, who, place, hours):
        uuid = self._some(self.reservations, place)
        renewed = renew.renew(self.engines[who], uuid,
                              expires_at=leasing.at(hours))
        self.reservations[uuid].ends.add(renewed.expires_at)

    def release(self, who, place):
        uuid = self._some(self.reservations, place)
        release.release(self.engines[who], uuid)
        self.reservations[uuid].over = True

    def create(self, who, start, hours, count):
        made = lease_create.create(self.engines[who], leasing.ask(
            start, start + hours, leasing.wish(count)))
        self.leases[made.id] = _Held(ends={made.end}, counts={count})

    def change(self, who, place, hours):
        lease_id = self._some(self.leases, place)
        changed = lease_change.change(
            self.engines[who], lease_id,
            leases.LeaseChange(end=leasing.at(hours)))
        self.leases[lease_id].ends.add(changed.end)

    def resize(self, who, place, count):
        lease_id = self._some(self.leases, place)
        reservation = self._reservation(lease_id)
        lease_change.change(
            self.engines[who], lease_id,
            leases.LeaseChange(reservations=(
                leases.LeaseReservationChange(reservation, count, count),)))
        self.leases[lease_id].counts.add(count)

    def _reservation(self, lease_id):
        with self.engines[2].database.read() as opened:
            return opened.execute(sa.select(
                tables.lease_reservations.c.id).where(
                    tables.lease_reservations.c.lease_id == lease_id)
            ).scalar() or world.new_uuid()

    def end(self, who, place):
        lease_id = self._some(self.leases, place)
        lease_end.end(self.engines[who], lease_id)
        self.leases[lease_id].over = True

    def work(self, who):
        self.crews[who].one_pass()

    def watch(self, who):
        lease_health.check(self.engines[who])

    def sweep(self, who):
        sweep.sweep(self.engines[who])

    def refresh(self, who):
        mirror.refresh_all(self.engines[who])

    def open_or_close(self, who, place):
        host = hosts.get(self.engines[who], self.ids[place])
        hosts.change(self.engines[who], host.id, {}, not host.reservable)

    def wait(self, who, hours):
        self.world.clock.advance(3600 * hours)

    def wrong(self):
        """Tell what is not as it has to be, in words."""
        found = [f'promised twice: {pair}' for pair in self.leasing.overlaps()]
        now, rows = self.world.clock(), self.world.reservations()
        for uuid, held in self.reservations.items():
            row = rows.get(uuid)
            if held.over:
                found += [f'{uuid} was released'] if row else []
            elif row is None:
                found += ([f'{uuid} is gone'] if min(held.ends) > now else [])
            elif (row['expires_at'] not in held.ends
                    or row['node_uuid'] not in held.nodes):
                found.append(f'{uuid} is not what was said: {row}')
        there = {lease.id: lease for lease in self.leasing.all()}
        for lease_id, held in self.leases.items():
            lease = there.get(lease_id)
            if lease is None:
                found += [] if held.over else [f'{lease_id} is gone']
            elif held.over:
                found += ([] if lease.status is leases.LeaseStatus.DELETING
                          else [f'{lease_id} was deleted'])
            elif lease.end not in held.ends:
                found.append(f'{lease_id} ends at {lease.end}')
            elif min(held.ends) > now and sum(
                    booking.state is not leasing.ENDING
                    for booking in lease.bookings) not in held.counts:
                found.append(f'{lease_id} has {lease.bookings}')
        if self.leasing.stale():
            found.append(f'not known: {self.leasing.stale()}')
        return found


def nothing_comes_in_between(examples):
    """Return a test of any use case, cut by others anywhere."""
    @hypothesis.settings(max_examples=examples)
    @hypothesis.given(st.lists(ACTS, max_size=4), ACTS, _CUTS, _CUTS)
    def test(self, before, act, first, second):
        self.check(before, act, first, second)
    return test


class CutTestCase(world.TestCase):
    """On SQLite, unless a subclass says otherwise."""

    def check(self, before, act, first, second):
        around = self.new_world()
        around.empty()
        timeline = Timeline(around)
        for each in before:
            timeline.act(2, each)
        timeline.cut(act, first, second)
        self.assertEqual([], timeline.wrong())
