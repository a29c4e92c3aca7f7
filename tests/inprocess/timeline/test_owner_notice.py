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

import json

import hypothesis
from hypothesis import strategies as st

from ironic_reservations import errors
from ironic_reservations.engine.leases import heal as lease_heal
from ironic_reservations.model import leases
from ironic_reservations.planner import bookings
from tests import leasing
from tests import strategies
from tests import world
from tests.inprocess.timeline import grounds
from tests.judges import oracle

NOTICE = 3
PROJECTS = ('a', 'b', 'c')
_hours = grounds.hours


class _Lives(grounds.Ground):
    """Projects that own nodes, lease them and each other's, and change."""

    def __init__(self, owners):
        super().__init__(leases__owner_notice=NOTICE * 3600)
        self.owners = owners
        self.nodes = [self.leasing.hosts(owner=owner)[0] for owner in owners]
        self.promised = {}

    @property
    def now(self):
        return _hours(self.world.clock())

    def _eligible(self, project, end):
        return sum(1 << number for number, owner in enumerate(self.owners)
                   if owner in (None, project) or end <= self.now + NOTICE)

    def case(self, ask):
        """Return the case that the oracle decides."""
        there = [bookings.Booking(
            f'{row["lease_reservation_id"]}/{row["place"]}',
            _hours(row['starts_at']), _hours(row['expires_at']),
            self.nodes.index(row['node_uuid']),
            self._eligible(row['project_id'], _hours(row['expires_at'])),
            row['starts_at'] > self.world.clock())
            for row in self.leasing.rows()]
        return oracle.Case((None,) * len(self.nodes), tuple(there), tuple(
            bookings.Demand(
                str(number), self.now if ask.start is None
                else _hours(ask.start), _hours(ask.end), wish.least,
                wish.most, self._eligible(ask.project_id, _hours(ask.end)))
            for number, wish in enumerate(ask.reservations)))

    def create(self, ask):
        """Ask for a lease; what is refused is impossible, offers are true."""
        made = self.asked(self.case(ask), ask)
        if isinstance(made, errors.LeaseRefused):
            self.accept(made.details['offers'], ask.project_id)
        else:
            self._keep(made)

    def change(self, number, end):
        """Have a lease end at another time, if it can."""
        # NOTE: one that is over stays as it is until it is cleaned up.
        there = [each for each in self.leasing.all()
                 if each.end > self.world.clock()
                 and each.status is not leases.LeaseStatus.TERMINATED]
        if not there:
            return
        lease = there[number % len(there)]
        end = max(end + int(self.now), _hours(lease.start) + 1)
        if end <= self.now:
            return
        try:
            self._keep(self.leasing.change(lease, end=end))
        except errors.LeaseRefused as exc:
            for offer in exc.details['offers']:
                until = leases.LeaseChange(end=leasing.posted(
                    {'lease': {**_BODY, **offer['lease']}},
                    self.world.clock()).end)
                self._keep(self.leasing.change(lease, end=_hours(until.end)))

    def pass_hours(self, hours):
        self.leasing.clock_passes(self.now + hours)

    def have_back(self, owner):
        """Have an owner ask for its nodes as soon as the notice allows.

        All of them are had that it does not have itself.
        """
        own = {self.nodes[number] for number, each in enumerate(self.owners)
               if each == owner}
        start, end = self.now + NOTICE, self.now + NOTICE + 50
        busy = {row['node_uuid'] for row in self.leasing.rows()
                if row['project_id'] == owner
                and row['expires_at'] > leasing.at(start)}
        if owner is None or own & busy or not own:
            return
        made = self.leasing.create(start, end, leasing.wish(
            len(own), properties=json.dumps(['==', '$owner', owner])),
            project_id=owner)
        assert self.leasing.nodes(made) == own
        self.check()
        self.leasing.end(made)

    def _keep(self, lease):
        self.promised[lease.id] = [len(each.bookings)
                                   for each in lease.reservations]

    def check(self):
        """Nobody's promise is broken, and no node has two owners."""
        super().check()
        for row in self.leasing.rows():
            owner = self.owners[self.nodes.index(row['node_uuid'])]
            assert (owner in (None, row['project_id'])
                    or _hours(row['expires_at']) <= self.now + NOTICE), row
        for lease in self.leasing.all():
            if lease.status is leases.LeaseStatus.TERMINATED:
                continue
            assert not lease.degraded
            if lease.id in self.promised:
                assert self.promised[lease.id] == [
                    len(each.bookings) for each in lease.reservations]


_BODY = {'name': 'a', 'start_date': 'now', 'events': [], 'reservations': [
    {'resource_type': 'physical:host', 'min': 1, 'max': 1,
     'hypervisor_properties': '', 'resource_properties': ''}]}

_STEPS = (
    st.tuples(st.just('create'), strategies.lease_asks(classes=()),
              st.sampled_from(PROJECTS))
    | st.tuples(st.just('change'), st.integers(0, 9), st.integers(1, 9))
    | st.tuples(st.just('pass'), st.integers(1, 2))
    | st.tuples(st.just('back'), st.sampled_from(PROJECTS)))


class TestOwnerNotice(world.TestCase):

    @grounds.SETTINGS
    @hypothesis.given(
        st.lists(st.sampled_from((None, 'a', 'b')), min_size=1, max_size=4),
        st.lists(_STEPS, min_size=2, max_size=10))
    def test_owners_have_their_nodes_back_and_nobody_s_promise_breaks(
            self, owners, steps):
        """Whoever leases, extends, ends and lets time pass."""
        with _Lives(owners) as lives:
            for step, *more in steps:
                if step == 'create':
                    lives.create(_of(strategies.later(more[0], lives.now),
                                     more[1]))
                elif step == 'change':
                    lives.change(*more)
                elif step == 'pass':
                    lives.pass_hours(*more)
                else:
                    lives.have_back(*more)
                lease_heal.heal(lives.leasing.engine)
                lives.check()


def _of(ask, project):
    return leases.LeaseRequest(ask.name, ask.end, ask.reservations, ask.start,
                           project_id=project)
