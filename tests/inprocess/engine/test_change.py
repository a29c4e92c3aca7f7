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

from ironic_reservations import errors
from ironic_reservations.engine import change
from ironic_reservations.engine import feature
from tests import leasing
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
    """Notes its calls."""

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


class TestCarryOut(timelines.TestCase):

    opened = 1

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
        self.leasing.create(1, 2, dry_run=True)
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
