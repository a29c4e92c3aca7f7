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

"""A request for a lease that is sent twice with one key makes one lease."""

import contextlib
import datetime
from unittest import mock

import sqlalchemy as sa

from ironic_reservations import errors
from ironic_reservations.db import claims as db_claims
from ironic_reservations.db import tables
from ironic_reservations.engine import claims
from ironic_reservations.engine import earlier
from ironic_reservations.engine import sweep
from ironic_reservations.engine.leases import find as lease_find
from ironic_reservations.model import limits
from tests import cuts
from tests import leasing
from tests import servers
from tests.inprocess.engine import timelines


class TestKeys(timelines.TestCase):

    def setUp(self):
        super().setUp()
        self.leasing.hosts(3)

    def _all(self):
        return lease_find.page(self.engine)

    def test_key_still_holds_after_an_upgrade(self):
        """A field that a release adds does not change the digest."""
        self.leasing.create(1, 2, key='k', name='a')
        with self.engine.database.read() as connection:
            written = connection.execute(sa.select(
                tables.leases.c.request_digest)).scalar_one()
        self.assertEqual('4b919891a45eb0477b0e41ce71a49a9a'
                         'bc08b31055920d2a66c00c3e27b1aed3', written)

    def test_duration_is_the_same_request_later(self):
        """Its end by the clock of the request is another one each time."""
        def create(end, hours):
            return self.leasing.create(
                None, end, key='k', name='a',
                lasts=datetime.timedelta(hours=hours))
        made = create(2, 2)
        self.leasing.clock_passes(1)
        self.assertEqual(made.id, create(3, 2).id)
        self.assertRaises(errors.IdempotencyKeyReused, create, 3, 3)
        self.assertEqual(1, len(self._all()))

    def test_same_request_with_the_same_key_is_served_once(self):
        """A retry gets the lease that was made, whatever it has become."""
        made = self.leasing.create(1, 2, key='k')
        self.leasing.change(made, name='renamed', end=3)
        again = self.leasing.create(1, 2, key='k')
        self.assertEqual((made.id, 'renamed'), (again.id, again.name))
        self.assertEqual(1, len(self._all()))

    def test_retry_is_served_when_its_start_has_passed(self):
        """Even though the request could not be made any more."""
        made = self.leasing.create(1, 2, key='k')
        self.leasing.clock_passes(3)
        self.assertEqual(made.id, self.leasing.create(1, 2, key='k').id)

    def test_other_request_with_the_same_key_is_refused(self):
        """A key stands for one request."""
        self.leasing.create(1, 2, key='k')
        for other in ((1, 3), (None, 2)):
            self.assertRaises(errors.IdempotencyKeyReused,
                              self.leasing.create, *other, key='k')
        self.assertRaises(errors.IdempotencyKeyReused, self.leasing.create,
                          1, 2, leasing.wish(2), key='k')
        self.assertEqual(1, len(self._all()))

    def test_key_of_another_project_is_another_key(self):
        """No project learns of the keys of others."""
        ours = self.leasing.create(1, 2, key='k')
        theirs = self.leasing.create(1, 2, key='k', project_id='theirs')
        nobodys = self.leasing.create(1, 2, key='k', project_id=None)
        self.assertEqual(3, len({ours.id, theirs.id, nobodys.id}))

    def test_refused_request_can_be_tried_again_with_its_key(self):
        """A refusal leaves no key behind."""
        full = self.leasing.create(1, 2, leasing.wish(3))
        self.leasing.refused(1, 2, key='k')
        self.leasing.end(full)
        self.leasing.create(1, 2, key='k')

    def test_two_at_once_with_one_key_get_one_lease(self):
        """The second of two racers gets what the first one made."""
        other = self.another()
        made = []
        self.world.before_next_write(
            lambda: made.append(other.create(1, 2, key='k')))
        again = self.leasing.create(1, 2, key='k')
        self.assertEqual(made[0].id, again.id)
        self.assertEqual(1, len(self._all()))


@servers.also
class TestLateCopy(timelines.TestCase):
    """a request arrives when all is over."""

    def setUp(self):
        super().setUp()
        self.leasing.hosts(3)
        self.other = self.another()

    def _create(self, key='k', **more):
        return self.leasing.create(1, 2, key=key, **more)

    def _refused(self, **more):
        return self.assertRaises(errors.IdempotencyKeyReused, self._create,
                                 **more)

    def _claims(self):
        return [name for name in self.world.claims()
                if name.startswith('request lease ')]

    def _hours_pass(self, hours):
        self.world.clock.now += datetime.timedelta(hours=hours)

    def test_copy_that_comes_after_its_lease_was_deleted_makes_none(self):
        """Its client has deleted what the same request had made."""
        made = self._create()
        self.leasing.end(made)
        refusal = self._refused()
        self.assertIn(made.id, str(refusal))
        self.assertIn('new key', str(refusal))
        self.assertEqual([], self.leasing.all())

    def test_copy_with_another_request_makes_none_either(self):
        made = self._create()
        self.leasing.end(made)
        self._refused(name='other')

    def test_key_of_another_project_is_not_kept_for_it(self):
        self.leasing.end(self._create(project_id='theirs'))
        self._create(project_id='ours')
        self._create(key='k2', project_id='theirs')

    def test_process_that_stood_still_before_its_commit_makes_none(self):
        """Both are planned; the lease of the other one is made and goes."""
        def come_first():
            self.other.end(self.other.create(1, 2, key='k'))
        self.world.before_next_write(come_first)
        self._refused()
        self.assertEqual([], self.leasing.all())

    def test_process_that_planned_for_another_host_makes_none(self):
        """No generation of a host that it read has changed."""
        def come_first():
            other = self.other.create(1, 2, leasing.wish_of('gold'), key='k')
            self.other.end(other)
        self.leasing.hosts(1, resource_class='gold')
        self.world.before_next_write(come_first)
        self._refused()
        self.assertEqual([], self.leasing.all())

    def test_process_that_stood_still_for_days_plans_again(self):
        """The key of the other one has been forgotten by then."""
        started = []

        def stand_still():
            started.append(self.world.clock())
            self._hours_pass(25)
        self.world.before_next_write(stand_still)
        made = self.leasing.create(50, 51, key='k')
        self.assertEqual(started[0] + datetime.timedelta(hours=25),
                         made.created_at)

    def test_lease_that_is_there_is_shown_for_as_long_as_it_is(self):
        made = self.leasing.create(1, 100, key='k')
        self._hours_pass(25)
        sweep.sweep(self.engine)
        self.assertEqual([], self._claims())
        self.assertEqual(made.id, self.leasing.create(1, 100, key='k').id)

    def test_key_is_forgotten_after_a_day(self):
        for key in ('k', 'l'):
            self.leasing.end(self.leasing.create(50, 51, key=key))
        self._hours_pass(23)
        sweep.sweep(self.engine)
        self.assertEqual(2, len(self._claims()))
        self.assertRaises(errors.IdempotencyKeyReused, self.leasing.create,
                          50, 51, key='k')
        self._hours_pass(2)
        # NOTE: which does not wait for the sweep.
        self.leasing.create(50, 51, key='k')
        self.assertEqual(2, len(self._claims()))
        sweep.sweep(self.engine)
        self.assertEqual(1, len(self._claims()))

    def test_sweep_with_nothing_to_forget_writes_nothing(self):
        self._create()
        sweep.sweep(self.engine)
        writes = []
        self.world.before_next_write(lambda: writes.append('one'))
        sweep.sweep(self.engine)
        self.assertEqual([], writes)

    def test_sweep_deletes_what_is_over_and_nothing_else(self):
        there = {f'{kind} of {hours} h': hours for hours in (1, 26)
                 for kind in ('lease request', 'request', 'leases', 'mirror')}
        with self.engine.database.write() as connection:
            for name, hours in there.items():
                connection.execute(sa.insert(tables.claims).values(
                    name=name, owner='', expires_at=self.world.clock()
                    + datetime.timedelta(hours=hours)))
        self._hours_pass(25)
        sweep.sweep(self.engine)
        self.assertEqual({name for name, hours in there.items()
                          if hours == 26}, set(self.world.claims()))

    def test_sweep_leaves_no_more_than_it_can_delete_at_once(self):
        with mock.patch.object(claims, '_BATCH', 2):
            for count in range(4, 6):
                with self.engine.database.write() as connection:
                    db_claims.lock_projects(connection, 'leases',
                                            map(str, range(count)),
                                            self.world.clock())
                self._hours_pass(2)
                sweep.sweep(self.engine)
                self.assertEqual(set(), set(self.world.claims()))

    def test_name_that_projects_queue_up_for_is_let_go(self):
        """Each project that was ever limited left a row for good."""
        self.configure(project_limits=True)
        for number in range(3):
            self.leasing.create(
                1, 2, project_id=f'p{number}',
                allowed=limits.Limits(max_leases_per_project=5))
        self.world.reserve(self.world.enrol()[0], project_id='p0',
                           allowed=limits.Limits(max_per_project=5))
        self.assertEqual(4, len(self._queues()))
        self._hours_pass(.5)
        sweep.sweep(self.engine)
        self.assertEqual(4, len(self._queues()))
        self._hours_pass(1)
        sweep.sweep(self.engine)
        self.assertEqual([], self._queues())

    def test_name_that_is_queued_up_for_again_stays(self):
        """Also where that happens after the sweep has read it."""
        database = self.engine.database

        def lock_projects():
            with database.write() as connection:
                db_claims.lock_projects(connection, 'leases', ('k',),
                                        self.world.clock())
        lock_projects()
        there = self._queues()
        self._hours_pass(2)
        self.world.before_next_write(lock_projects)
        sweep.sweep(self.engine)
        self.assertEqual((1, there), (len(there), self._queues()))

    def _queues(self):
        return [name for name in self.world.claims()
                if name.startswith(('leases ', 'reservations '))]

    def test_key_is_in_the_row_of_the_lease_and_in_one_that_outlives_it(self):
        made = self._create()
        digest = earlier.sha256([leasing.PROJECT, 'key', 'k'])
        with self.engine.database.read() as connection:
            self.assertEqual([made.id], list(connection.execute(
                sa.select(tables.leases.c.id).where(
                    tables.leases.c.request_key == digest)).scalars()))
        self.assertEqual([f'request lease {digest}'[:64]], self._claims())

    def test_copy_that_stands_still_anywhere_makes_none(self):
        """Another copy is served, and its lease deleted, meanwhile."""
        def attempt(cut):
            made = []
            with cut.by(lambda: self.other.end(
                    self.other.create(1, 2, key=cut.key))):
                with contextlib.suppress(errors.IdempotencyKeyReused):
                    made.append(self._create(key=cut.key))
            self.assertIs(cut.reached, not made)
            for mine in made:
                self.other.end(mine)
            self.assertEqual([], self.leasing.all())
        # A key, the changes and a write; more after a conflict.
        cuts.everywhere(attempt, 2, self.engine)

    def test_retry_that_finds_it_and_stands_still_makes_none(self):
        """The lease is deleted between any two statements of the retry."""
        def attempt(cut):
            first = self._create(key=cut.key)
            with cut.by(lambda: self.other.end(first)):
                with contextlib.suppress(errors.IdempotencyKeyReused):
                    self.assertEqual(first.id, self._create(key=cut.key).id)
            if not cut.reached:
                self.other.end(first)
            self.assertEqual([], self.leasing.all())
        cuts.everywhere(attempt, 1, self.engine)

    def test_request_without_a_key_keeps_none(self):
        self.leasing.create(1, 2)
        self.assertEqual([], self._claims())
