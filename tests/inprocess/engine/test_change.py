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

"""A change is carried out once, however its COMMIT is answered."""

import dataclasses
import datetime
from unittest import mock

from ironic_reservations import errors
from ironic_reservations.db import changes as db_changes
from ironic_reservations.db import in_flight_requests as db_in_flight
from ironic_reservations.engine import announce
from ironic_reservations.engine import change
from ironic_reservations.engine import feature
from ironic_reservations.engine.in_flight import admission
from ironic_reservations.engine.leases import heal
from ironic_reservations.engine.reservations import find
from ironic_reservations.engine.reservations import release
from ironic_reservations.engine.reservations import renew
from ironic_reservations.features.queue import pull
from tests import leasing
from tests import servers
from tests.inprocess.engine import timelines


class _Part(feature.Part):
    """Notes its calls."""

    def __init__(self, calls):
        self._calls = calls

    def write(self, connection):
        """Note that the rows are written."""
        self._calls.append('write')

    def committed(self):
        """Note that the change is committed."""
        self._calls.append('committed')


class _Feature(feature.Feature):
    """Notes its calls.

    """

    def __init__(self, during_write=lambda: None):
        self.calls = []
        self._during_write = during_write

    def before(self, engine, change, memory):
        """Note how often the request has asked."""
        memory['asked'] = memory.get('asked', 0) + 1
        self.calls.append(f'before {memory["asked"]}')

    def join(self, engine, change):
        """Return a part that notes its calls."""
        self._during_write()
        return _Part(self.calls)


@servers.also
class TestCommitThatBecomesVisibleLate(timelines.TestCase):
    """It is not found at the first look, and is found afterwards."""

    def setUp(self):
        super().setUp()
        self.node, = self.leasing.hosts()
        self.told = self.listen_to_all()

    def late(self, call):
        """Carry out a change whose COMMIT is seen at the second look."""
        self.told.clear()
        self.world.lose_next_write()
        has, seen = db_changes.has, []

        def has_late(connection, change_id):
            seen.append(has(connection, change_id))
            return len(seen) > 1 and seen[-1]
        with mock.patch.object(db_changes, 'has', has_late):
            result = call()
        self.assertLess(1, len(seen))
        return result

    def test_lease_is_made_once(self):
        """It would be refused, since it has the only host itself."""
        made = self.late(lambda: self.leasing.create(2, 3))
        self.assertEqual([made.id], [each.id for each in self.leasing.all()])
        self.assertEqual([(announce.LEASE_CREATE, made.id, None)], self.told)

    def test_lease_is_made_once_where_there_is_room_for_two(self):
        """The second attempt has the id of the first one."""
        self.leasing.hosts()
        made = self.late(lambda: self.leasing.create(2, 3))
        self.assertEqual([made.id], [each.id for each in self.leasing.all()])
        self.assertEqual([(announce.LEASE_CREATE, made.id, None)], self.told)

    def test_lease_is_ended_once(self):
        made = self.leasing.create(2, 3)
        self.late(lambda: self.leasing.end(made))
        self.assertEqual([], self.leasing.all())
        self.assertEqual([(announce.LEASE_DELETE, made.id, None)], self.told)

    def test_lease_is_changed_once(self):
        made = self.leasing.create(2, 3)
        changed = self.late(lambda: self.leasing.change(made, end=4))
        self.assertEqual(leasing.at(4), changed.end)
        self.assertEqual([(announce.LEASE_UPDATE, made.id, None)], self.told)

    def test_lease_is_pulled_once(self):
        first = self.leasing.create(1, 3)
        lease = self.leasing.create(1, 2, queue=True)
        self.leasing.end(first)
        self.assertEqual(1, self.late(lambda: pull.move_earlier(self.engine)))
        self.assertEqual([(announce.LEASE_UPDATE, lease.id,
                           announce.MOVED_EARLIER)], self.told)

    def test_lease_is_healed_once(self):
        lease = self.leasing.create(1, 3)
        self.leasing.hosts()
        self.leasing.break_node(self.node)
        self.assertEqual(1, self.late(lambda: heal.heal(self.engine)))
        self.assertEqual([(announce.LEASE_UPDATE, lease.id,
                           announce.REPLACED)], self.told)

    def test_reservation_is_made_renewed_and_ended_once(self):
        made = self.late(lambda: self.world.reserve(self.node))
        self.assertEqual([(announce.CREATE, made.uuid, None)], self.told)
        self.assertIsNotNone(made.id)
        self.late(lambda: renew.renew(self.engine, made.uuid, ttl=60))
        self.assertEqual([(announce.UPDATE, made.uuid, None)], self.told)
        self.late(lambda: release.release(self.engine, made.uuid))
        self.assertEqual([(announce.DELETE, made.uuid, None)], self.told)
        self.assertEqual([], find.page(self.engine, find.Query()))

    def test_request_is_let_through_once(self):
        self.late(lambda: admission.admit(self.engine, self.node))
        with self.engine.database.read() as connection:
            self.assertEqual([self.node], list(
                db_in_flight.read_busy(connection)))
            self.assertEqual(1, len(db_in_flight.read_overdue(
                connection, self.world.clock() + datetime.timedelta(days=1),
                9)))


class TestCarryOut(timelines.TestCase):

    def setUp(self):
        super().setUp()
        self.leasing.hosts()

    def with_feature(self, *args):
        """Return a feature that joins all changes."""
        joined = _Feature(*args)
        self.leasing.engine = dataclasses.replace(
            self.engine,
            all_features=(*self.engine.all_features, joined))
        return joined

    def test_feature_is_asked_before_and_told_after(self):
        joined = self.with_feature()
        self.leasing.create(1, 2)
        self.assertEqual(['before 1', 'write', 'committed'], joined.calls)

    def test_feature_is_told_of_the_attempt_that_is_committed(self):
        """Another request comes first, and its memory lasts."""
        other = self.another()
        self.leasing.hosts()
        joined = self.with_feature()
        self.world.before_next_write(lambda: other.create(1, 2))
        self.leasing.create(1, 2)
        self.assertEqual(['before 1', 'before 2', 'write', 'committed'],
                         joined.calls)

    def test_feature_is_not_called_for_changes_of_others(self):
        joined = self.with_feature()
        joined.concerns = (change.Cause.ENDED, change.Concern)
        lease = self.leasing.create(1, 2)
        self.assertEqual([], joined.calls)
        self.leasing.end(lease)
        self.assertEqual(['before 1', 'write', 'committed'], joined.calls)

    def test_event_of_a_feature_concerns_the_next_one(self):
        def add(engine, made, memory):
            made.events = (change.Rehoused(frozenset()),)
        first, second = self.with_feature(), _Feature()
        first.before = add
        self.leasing.engine = dataclasses.replace(
            self.leasing.engine,
            all_features=(*self.leasing.engine.all_features, second))
        second.concerns = (change.Rehoused,)
        self.leasing.create(1, 2)
        self.assertEqual(['before 1', 'write', 'committed'], second.calls)

    def test_kinds_of_a_change(self):
        self.assertEqual(set(), change.Change(leasing.at(0)).kinds)
        lease = self.leasing.create(1, 2)
        made = change.Change(
            leasing.at(0), writes=[
                change.Write(None, lease),
                change.Write(lease, None, change.Cause.ENDED)],
            given=['a key'], events=[change.Unused(lease, ())])
        self.assertEqual(
            {change.Cause.REQUESTED, change.Cause.ENDED, type(lease), str,
             change.Unused}, made.kinds)

    def test_dry_run_asks_and_writes_nothing(self):
        joined = self.with_feature()
        leasing.lease_create.create(self.leasing.engine, leasing.ask(1, 2),
                                    dry_run=True)
        self.assertEqual(['before 1'], joined.calls)
        self.assertEqual([], self.leasing.all())

    def test_change_is_not_committed_once_it_is_wrong(self):
        """The process stands still between its plan and the COMMIT."""
        def stand_still():
            self.world.clock.now += datetime.timedelta(hours=2)
            still.clear()
        still = [stand_still]
        self.with_feature(lambda: [each() for each in still])
        self.assertRaises(errors.InvalidValue, self.leasing.create, 1, 5)
        self.assertEqual([], self.leasing.all())

    def test_instant_that_is_reached_is_wrong(self):
        planned = change.Change(leasing.at(0))
        planned.wrong_from(leasing.at(2), leasing.at(1))
        planned.wrong_after(leasing.at(3))
        self.assertEqual(leasing.at(1), planned.valid_until)
