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

"""The answer to a COMMIT is lost, or the COMMIT itself.

Seen: a reservation and a lease were there, and their owner had been told that
nothing was promised or changed.
"""

import datetime
import uuid as uuid_module

from ironic_reservations import errors
from ironic_reservations.db import in_flight_requests as db_in_flight
from ironic_reservations.engine.in_flight import admission
from ironic_reservations.engine.leases import create as lease_create
from ironic_reservations.engine.reservations import release
from ironic_reservations.engine.reservations import renew
from tests import leasing
from tests import world
from tests.inprocess.db import base
from tests.real import proxy

MINUTE = datetime.timedelta(minutes=1)


class _LostCommit:
    """To be run on each database."""

    def setUp(self):
        super().setUp()
        self.proxy = self.useFixture(proxy.Proxy(self.url))
        self.world = self.useFixture(world.World(
            self.proxy.url, ironic__confirm='mirror'))
        self.leasing = leasing.Leasing(self.world)
        self.node, _ = self.leasing.hosts(2)

    def lose(self, loss, then_down=False):
        self.addCleanup(lambda: self.assertEqual(1, self.proxy.lost))
        self.proxy.lose(loss, then_down)

    def unknown(self, call, *arguments, **named):
        """Have it told that nobody knows, and nothing else."""
        told = self.assertRaises(errors.OutcomeUnknown, call, *arguments,
                                 **named)
        self.assertIn('may or may not', str(told))
        self.assertEqual((503, 'service.outcome_unknown'),
                         (told.status, told.code))
        self.proxy.let_through()

    def test_reservation_is_found_again(self):
        """Whether it had been committed or not, there is one, and it is told.
        """
        for loss in proxy.Loss:
            with self.subTest(loss=loss):
                self.proxy.lose(loss)
                made = self.world.reserve(self.node)
                self.assertEqual([made.uuid],
                                 list(self.world.reservations()))
                release.release(self.world.engine, made.uuid)
        self.assertEqual(2, self.proxy.lost)

    def test_reservation_that_nobody_can_look_for(self):
        """The request is told the truth, and serves again with its uuid."""
        self.lose(proxy.Loss.ANSWER, then_down=True)
        ask = {'uuid': world.new_uuid(), 'instance_uuid': world.new_uuid()}
        self.unknown(self.world.reserve, self.node, **ask)
        self.assertEqual([ask['uuid']], list(self.world.reservations()))
        self.assertEqual(ask['uuid'],
                         self.world.reserve(self.node, **ask).uuid)
        self.assertEqual(1, len(self.world.reservations()))

    def test_commit_that_never_arrived(self):
        """Nobody can know that, either."""
        self.lose(proxy.Loss.REQUEST, then_down=True)
        self.unknown(self.world.reserve, self.node)
        self.assertEqual({}, self.world.reservations())

    def test_lease_is_found_again(self):
        """With an idempotency key and without one."""
        for loss in proxy.Loss:
            for key in (None, str(uuid_module.uuid4())):
                with self.subTest(loss=loss, key=key):
                    self.proxy.lose(loss)
                    made = self.leasing.create(1, 2, key=key)
                    self.assertEqual([made.id],
                                     list(self.world.lease_rows()))
                    self.leasing.end(made)
        self.assertEqual(4, self.proxy.lost)

    def test_lease_that_nobody_can_look_for(self):
        """Asked again with the same key, it is the same."""
        self.lose(proxy.Loss.ANSWER, then_down=True)
        ask = leasing.ask(1, 2, key=str(uuid_module.uuid4()))
        self.unknown(lease_create.create, self.world.engine, ask)
        there, = self.world.lease_rows()
        self.assertEqual(
            there, lease_create.create(self.world.engine, ask).id)

    def test_renewal(self):
        """Is made again, which does nothing twice."""
        made = self.world.reserve(self.node, ttl=60)
        for number, loss in enumerate(proxy.Loss, 2):
            end = self.world.clock() + number * MINUTE
            self.proxy.lose(loss)
            self.assertEqual(end, renew.renew(
                self.world.engine, made.uuid, expires_at=end).expires_at)
        self.proxy.lose(proxy.Loss.ANSWER, then_down=True)
        self.unknown(renew.renew, self.world.engine, made.uuid, ttl=300)
        self.assertEqual(
            self.world.clock() + 5 * MINUTE,
            self.world.reservations()[made.uuid]['expires_at'])

    def test_release(self):
        """What is gone was ended by this request, and that is told."""
        for loss in proxy.Loss:
            made = self.world.reserve(self.node)
            self.proxy.lose(loss)
            release.release(self.world.engine, made.uuid)
            self.assertEqual({}, self.world.reservations())
        made = self.world.reserve(self.node)
        self.proxy.lose(proxy.Loss.ANSWER, then_down=True)
        self.unknown(release.release, self.world.engine, made.uuid)
        self.assertRaises(errors.ReservationNotFound, release.release,
                          self.world.engine, made.uuid)

    def test_end_of_a_lease(self):
        """The same of a lease."""
        for loss in proxy.Loss:
            made = self.leasing.create(1, 2)
            self.proxy.lose(loss)
            self.leasing.end(made)
            self.assertEqual([], self.leasing.all())
        made = self.leasing.create(1, 2)
        self.proxy.lose(proxy.Loss.ANSWER, then_down=True)
        self.unknown(self.leasing.end, made)
        self.assertEqual([], self.leasing.all())

    def test_change_of_a_lease(self):
        """Is made again, which does nothing twice."""
        made = self.leasing.create(1, 2)
        for number, loss in enumerate(proxy.Loss, 3):
            self.proxy.lose(loss)
            changed = self.leasing.change(made, end=number)
            self.assertEqual(leasing.at(number), changed.end)
            self.assertEqual(changed.end, self.leasing.reload(made).end)

    def test_guard(self):
        """The request is let through, once."""
        self.lose(proxy.Loss.ANSWER)
        through = admission.admit(self.world.engine, self.node)
        with self.world.engine.database.read() as connection:
            there = db_in_flight.read_overdue(
                connection, datetime.datetime.max.replace(
                    tzinfo=datetime.UTC), 9)
        self.assertEqual([through.token], [each.token for each in there])

    def test_lost_before_the_commit(self):
        """Nothing has been changed then, and that is what is told."""
        def cut_off():
            self.proxy.hang_up()
            self.world.engine.database.close()

        self.world.before_next_write(cut_off)
        told = self.assertRaises(errors.DatabaseUnavailable,
                                 self.world.reserve, self.node)
        self.assertEqual('service.database_unavailable', told.code)
        self.proxy.let_through()
        self.assertEqual({}, self.world.reservations())


class TestMariaDB(_LostCommit, base.DatabaseTestCase):
    """On MariaDB."""

    kind = 'mysql'


class TestPostgreSQL(_LostCommit, base.DatabaseTestCase):
    """On PostgreSQL."""

    kind = 'postgresql'
