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

"""What got lost when use cases began to write through changes."""

from collections.abc import Iterator
import contextlib
from typing import Any
from unittest import mock

import sqlalchemy as sa

from ironic_reservations import errors
from ironic_reservations.db import changes as db_changes
from ironic_reservations.db import connection as db_connection
from ironic_reservations.db import handovers as db_handovers
from ironic_reservations.db import reservations as db_reservations
from ironic_reservations.engine import announce
from ironic_reservations.engine import hosts
from ironic_reservations.engine import retry
from ironic_reservations.engine import sweep
from ironic_reservations.engine.in_flight import acted
from ironic_reservations.engine.in_flight import admission
from ironic_reservations.engine.reservations import release
from ironic_reservations.features.keys import rows as db_keys
from ironic_reservations.lifecycle import admit
from tests.inprocess.notices import base as notices
from tests.inprocess.reconciler import leases
from tests.inprocess.timeline import windows


class TestOverReservationIsDroppedAsVoid(leases.TestCase):
    """A request that frees a node comes between the end and the sweep."""

    def test_node_of_an_acted_reservation_is_still_put_back(self) -> None:
        (node,) = self.world.enrol()
        self.ironic.fields[node] = {'power_state': 'power off'}
        before = self.ironic.document(node)
        self.world.reserve(node, ttl=600)
        acted.write(self.engine, node, ('power', '/description'))
        self.ironic.fields[node] = {'power_state': 'power on',
                                    'description': 'his'}
        self.world.clock.advance(601)
        self.patch(retry, '_OUTRUN', 0.3)
        with contextlib.suppress(errors.Contention):
            admission.close(self.engine, admission.admit(
                self.engine, node, act=admit.Act.FREE), True)
        sweep.sweep(self.engine)
        self.soon(times=6)
        self.assertEqual(before, self.ironic.document(node))
        with self.engine.database.read() as connection:
            self.assertEqual({}, db_handovers.read(connection, (node,)))


class TestIdsOfAnUndoneAttempt(leases.TestCase):
    """The COMMIT of an attempt to open a host is refused, as by Galera."""

    def test_host_that_another_process_opened_is_not_claimed(self) -> None:
        (node,) = self.world.enrol()
        other = self.world.another_engine()
        real = self.engine.database.write
        state = {'left': 1}

        def pause(seconds: float) -> None:
            if state['left'] == 0:
                state['left'] = -1
                hosts.add(other, node, {'by': 'other'})

        @contextlib.contextmanager
        def write() -> Iterator[sa.Connection]:
            with real() as opened:
                yield opened
                if state['left'] == 1:
                    state['left'] = 0
                    raise db_connection.Conflict('certification failed')
        self.patch(retry.time, 'sleep', pause)
        with mock.patch.object(self.engine.database, 'write', write):
            self.assertRaises(errors.HostExists, hosts.add, self.engine,
                              node, {'by': 'me'})


class TestKeyOfAnotherWindow(windows.MaintenanceTestCase):

    def test_key_that_was_used_meanwhile_is_refused_at_once(self) -> None:
        one, two = self.world.enrol(2)
        other = self.world.another_engine()
        self.patch(retry, '_OUTRUN', 0.5)
        real, done = db_keys.read, list[None]()

        def read(*known: Any) -> Any:
            found = real(*known)
            if not done:
                done.append(None)
                windows.book(other, 1, 2, [two], key='k')
            return found
        self.patch(db_keys, 'read', read)
        self.assertRaises(errors.MaintenanceKeyReused, windows.book,
                          self.engine, 1, 2, [one], key='k')


class TestNoticeAfterTheEnd(notices.TestCase):
    """The end of a lease is noticed when it is over already."""

    options = {'notices__webhook_urls': ['http://localhost:1/'],
               'notices__webhook_secret_file': '/dev/null'}

    def test_owner_is_not_told_of_an_end_that_is_over(self) -> None:
        """Those who listen get its state before its nodes are taken back."""
        self.leasing.hosts()
        self.leasing.create(1, 4, user_id='somebody')
        self.work_at(1)
        self.work_at(5)
        kinds = [row['kind'] for row in self.outbox()]
        self.assertNotIn('before_end', kinds)
        (told,) = [lease for event, lease, _ in self.heard.told
                   if event == announce.LEASE_EVENTS[leases.EVENT.BEFORE_END]]
        self.assertIs(leases.STATUS.ACTIVE, told.status)


class TestCommitSeenLate(leases.TestCase):
    """A COMMIT without an answer takes effect, but is not visible at once."""

    def test_end_of_a_reservation_is_not_told_to_have_failed(self) -> None:
        (node,) = self.world.enrol()
        held = self.world.reserve(node, ttl=600)
        with self.engine.database.read() as connection:
            known = db_reservations.read_with_generation(connection, held.uuid)
        real, looks = db_changes.has, list[Any]()

        def has(*asked: Any) -> bool:
            looks.append(asked)
            return len(looks) > 2 and real(*asked)
        self.patch(db_changes, 'has', has)
        self.world.lose_next_write()
        try:
            ended = release.release_on(self.engine, known[0], known[1],
                                       'node_taken')
        except errors.OutcomeUnknown:
            return
        self.assertEqual({}, self.world.reservations())
        self.assertTrue(ended)
