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

"""A caller whom Ironic refuses repeatedly keeps nobody from a free node.

Each request is admitted on the timeline before Ironic's policy judges it: a
reader in a loop, refused each time, starved all reservations of a node.
"""

from collections.abc import Callable
import copy
import datetime
from typing import Any
from unittest import mock

import sqlalchemy as sa

from ironic_reservations import errors
from ironic_reservations import policies
from ironic_reservations.api import wsgi
from ironic_reservations.db import tables
from ironic_reservations.guard import callers
from ironic_reservations.guard import failed_attempts
from ironic_reservations.guard import node_acts
from ironic_reservations.guard import refusals
from ironic_reservations.guard import resolve
from tests import guarded
from tests import leasing
from tests import world

BURST, PAUSE = failed_attempts.BURST, failed_attempts.PAUSE
MANY = 4 * BURST


class FailedAttemptsTestCase(guarded.TestCase):

    def setUp(self) -> None:
        super().setUp()
        self.guard = self.guard_of(self.ironic, 'keystone')
        self.ways: tuple[Callable[..., wsgi.Answer], ...] = (
            self.maintain, self.unmaintain, self.delete, self.retire,
            self.provision, self.write, self.backfill)

    def environ(self, method: str, below: str, body: Any,
                token: str = 'reader',
                proof: str | None = None) -> wsgi.Environ:
        """Return a request for the node, with a token and a proof."""
        return guarded.environ(method, f'/v1/nodes/{self.node}{below}', body,
                               proof, token)

    def maintain(self, *who: str, method: str = 'PUT') -> wsgi.Answer:
        return self.guard.act(
            self.environ(method, '', None, *who), node_acts.NodeAct(
                node_acts.Act.MAINTENANCE, self.node, ('maintenance',)))

    def unmaintain(self, *who: str) -> wsgi.Answer:
        return self.maintain(*who, method='DELETE')

    def delete(self, *who: str) -> wsgi.Answer:
        return self.guard.act(
            self.environ('DELETE', '', None, *who),
            node_acts.NodeAct(node_acts.Act.DELETE, self.node, ()))

    def retire(self, *who: str, field: str = 'retired',
               value: Any = True) -> wsgi.Answer:
        return self.guard.patch(self.environ('PATCH', '', [
            {'op': 'add', 'path': f'/{field}', 'value': value}], *who),
            self.node)

    def write(self, *who: str) -> wsgi.Answer:
        return self.retire(*who, field='instance_uuid', value=world.new_uuid())

    def provision(self, *who: str, **body: Any) -> wsgi.Answer:
        return self.guard.provision(self.environ(
            'PUT', '/states/provision', body or {'target': 'active'}, *who),
            self.node)

    def undeploy(self, token: str) -> wsgi.Answer:
        return self.provision(token, target='deleted', clean_steps=[])

    def backfill(self, token: str = 'reader',
                 proof: str | None = None) -> wsgi.Answer:
        # The first answer is the one to the question about the policy.
        self.ironic.answers['POST'][:0] = [400]
        return self.guard.allocate(guarded.environ(
            'POST', '/v1/allocations', {'node': self.node}, proof, token))

    def all_answer(self, status: int) -> None:
        """Set the status of all further answers of Ironic."""
        self.ironic.answers = {
            method: [status] * (MANY * len(self.ways))
            for method in ('PUT', 'PATCH', 'DELETE', 'POST')}

    def begin_anew(self, status: int) -> None:
        """Forget all failures, and set the status of Ironic's answers."""
        self.world.clock.advance(BURST * PAUSE)
        self.all_answer(status)

    def loop(self, ask: Callable[..., wsgi.Answer], *how: Any) -> list[int]:
        """Send a request many times, and return the statuses."""
        statuses = []
        for _ in range(MANY):
            try:
                statuses.append(ask(*how).status)
            except errors.TooManyFailures as exc:
                statuses.append(exc.status)
            except resolve.RefusedByIronic as refused:
                statuses.append(refused.answer.status)
        return statuses

    def proof(self) -> str:
        """Return the proof of a reservation of the reader's project."""
        return self.world.reserve(self.node, project_id='reader').uuid

    def changes(self) -> int:
        """Count the changes of the bookings of the node."""
        with self.engine.database.read() as connection:
            return int(connection.execute(
                sa.select(sa.func.count()).select_from(tables.changes)
                .where(tables.changes.c.generation.is_not(None))
            ).scalar_one())

    def test_each_way_ends_after_a_burst(self) -> None:
        for number, ask in enumerate(self.ways):
            self.begin_anew((403, 400, 404)[number % 3])
            before = self.changes()
            statuses = self.loop(ask)
            self.assertEqual([429] * (MANY - BURST), statuses[BURST:], ask)
            self.assertNotIn(429, statuses[:BURST])
            if ask in (self.retire, self.write):
                # Ironic's policy was asked first.
                self.assertEqual(before, self.changes(), ask)
                continue
            # One change for each request, and one for its end.
            self.assertTrue(before < self.changes() <= before + 2 * BURST, ask)
        self.assertEqual([], self.world.in_flight())

    def test_all_ways_are_one(self) -> None:
        self.all_answer(403)
        statuses = [self.loop(ask) for ask in self.ways]
        self.assertEqual(BURST, sum(row.count(403) for row in statuses))

    def test_time_gives_one_after_the_other_back(self) -> None:
        self.all_answer(403)
        self.loop(self.maintain)
        self.world.clock.advance(PAUSE - 1)
        self.assertEqual([429] * MANY, self.loop(self.maintain))
        self.world.clock.advance(1)
        self.assertEqual([403] + [429] * (MANY - 1), self.loop(self.maintain))
        self.world.clock.advance(BURST * PAUSE)
        self.assertEqual(BURST, self.loop(self.maintain).count(403))

    def test_refusal_tells_when_to_try_again(self) -> None:
        self.all_answer(403)
        self.loop(self.maintain)
        refused = self.assertRaises(errors.TooManyFailures, self.maintain)
        error, answer = refusals.refuse(refused, guarded.environ('PUT', '/'))
        self.assertEqual((429, 'guard.too_many_attempts', self.node),
                         (answer.status, error.code,
                          error.details['node_uuid']))
        self.assertIn(('Retry-After', str(int(PAUSE))), answer.headers)

    def test_those_at_the_same_time_count(self) -> None:
        """Otherwise one request for each thread would be admitted at once."""
        seen: list[int] = []

        def another() -> None:
            if len(seen) < MANY:
                seen.append(0)
                self.ironic.before['PUT'] = [another]
                self.ironic.answers['PUT'] = [403]
                try:
                    self.maintain()
                except errors.TooManyFailures:
                    seen.append(429)
        self.ironic.before['PUT'] = [another]
        self.ironic.answers['PUT'] = [403]
        self.maintain()
        self.assertEqual([0] * BURST + [429], seen)

    def test_others_are_not_limited_by_it(self) -> None:
        self.all_answer(403)
        self.loop(self.maintain)
        self.assertEqual(403, self.maintain('another').status)
        (self.node,) = self.world.enrol()
        self.world.refresh()
        self.assertEqual(403, self.maintain().status)

    def test_who_is_never_limited(self) -> None:
        """An administrator is not limited, and the holder hardly is."""
        for ask in self.ways:
            self.begin_anew(403)
            self.assertEqual([403] * MANY, self.loop(ask, guarded.SYSTEM), ask)
        proof = self.proof()
        for ask in (self.provision, self.write):
            self.begin_anew(400)
            self.assertEqual([400] * MANY, self.loop(ask, 'reader', proof),
                             ask)

    def test_proof_of_a_reader_does_not_help(self) -> None:
        """A reservation does not expire while a request with its proof runs.

        So a reader of its project, who may not even renew it, could keep it
        for ever.
        """
        proof = self.proof()
        for number, ask in enumerate((self.provision, self.write)):
            status = (403, 404)[number]
            self.begin_anew(status)
            self.assertEqual(
                [status] * BURST + [429] * (MANY - BURST),
                self.loop(ask, 'reader', proof), ask)

    def test_malformed_requests_with_a_proof_of_a_reader_end(self) -> None:
        """Ironic refuses them before it applies its policy."""
        proof = self.proof()
        for ask in (self.provision, self.write, self.maintain, self.retire):
            self.begin_anew(400)
            statuses = (self.loop(ask, 'reader', proof)
                        + self.loop(ask, 'reader', proof))
            self.assertIn(429, statuses)
            self.assertNotIn(429, statuses[:MANY])
            self.world.clock.advance(failed_attempts.HOLDERS_PAUSE)
            self.assertEqual([400] + [429] * (MANY - 1),
                             self.loop(ask, 'reader', proof))

    def test_proof_of_nothing_does_not_help(self) -> None:
        """It keeps no node, and only a patch has Ironic check its policy."""
        self.begin_anew(403)
        left = copy.deepcopy(self.ironic.answers)
        for ask in (self.maintain, self.unmaintain, self.delete):
            for _ in range(MANY):
                self.assertRaises(errors.ProofInvalid, ask, 'reader',
                                  world.new_uuid())
        self.assertEqual(left, self.ironic.answers)
        self.assertEqual(BURST, self.loop(
            self.retire, 'reader', world.new_uuid()).count(403))

    def test_former_holder_keeps_no_node_that_is_being_taken_back(
            self) -> None:
        """The former holder was not limited, even after the end of the lease.

        A node is not freed while a request for it is in flight, and Ironic
        refuses a malformed undeploy without doing anything.
        """
        lets = leasing.Leasing(self.world)
        (self.node,) = lets.hosts()
        lease = lets.create(None, 1, project_id='tenant')
        lets.bind()
        self.all_answer(400)
        self.assertEqual([400] * MANY, self.loop(self.undeploy, 'tenant'))
        self.world.clock.advance(BURST * PAUSE)
        lets.take_back(lease)
        statuses = self.loop(self.undeploy, 'tenant')
        self.assertEqual([400] * BURST + [429] * (MANY - BURST), statuses)

    def test_nobody_keeps_a_node_from_a_lease_that_starts(self) -> None:
        lets = leasing.Leasing(self.world)
        (self.node,) = lets.hosts()
        lets.create(1, 2, project_id='tenant')
        self.world.clock.now = leasing.at(1) - datetime.timedelta(seconds=20)
        self.all_answer(400)
        self.assertEqual(BURST, self.loop(self.maintain).count(400))

    def test_where_all_are_administrators_nobody_is_limited(self) -> None:
        self.guard = self.guard_of(self.ironic)
        self.all_answer(403)
        self.assertEqual([403] * MANY, self.loop(self.provision))

    def test_errors_of_ironic_were_not_counted(self) -> None:
        """Some requests fail before the policy, and keep the node longer."""
        for ask in (self.maintain, self.delete, self.provision):
            self.begin_anew(500)
            self.assertEqual([500] * BURST + [429] * (MANY - BURST),
                             self.loop(ask), ask)

    def test_exceptions_of_ironic_were_not_counted(self) -> None:
        def fail() -> None:
            raise KeyError('of Ironic')
        for _ in range(BURST):
            self.ironic.before['PUT'] = [fail]
            self.assertRaises(KeyError, self.maintain)
        self.assertRaises(errors.TooManyFailures, self.maintain)

    def test_what_is_not_counted(self) -> None:
        """Failures that the caller cannot foresee, or of the guard."""
        for status in (409, 202):
            self.all_answer(status)
            self.assertEqual([status] * MANY, self.loop(self.maintain))
        with mock.patch.object(self.engine.database, 'read',
                               side_effect=errors.DatabaseUnavailable('x')):
            for _ in range(MANY):
                self.assertRaises(errors.DatabaseUnavailable, self.maintain)
        self.world.reserve(self.node, project_id='another')
        for _ in range(MANY):
            self.assertRaises(errors.ProofRequired, self.maintain)


class MemoryTestCase(guarded.TestCase):
    """The memory of failures, and its duration."""

    def setUp(self) -> None:
        super().setUp()
        self.memory = failed_attempts.FailedAttempts(
            callers.Callers('keystone', policies.Enforcer(
                self.world.conf, 'keystone'), False), self.world.clock.elapsed)

    def fail(self, who: str, times: int = 1) -> None:
        for _ in range(times):
            self.memory.limited(
                callers.Node(self.node, None, guarded.known(who)), None,
                lambda: wsgi.Answer(403, [], b''))

    def test_no_more_are_remembered_than_a_bound(self) -> None:
        with mock.patch.object(failed_attempts, 'REMEMBERED', 3):
            self.fail('often', BURST)
            for number in range(10):
                self.fail(f'once-{number}')
            self.assertEqual(3, len(self.memory))
            # The oldest entry has been dropped.
            self.assertRaises(errors.TooManyFailures, self.fail, 'often')
