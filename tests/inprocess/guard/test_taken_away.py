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

"""Maintenance, retiring and deletion do not hit a promised node.

Each request was judged at its arrival: another project put a free node into
maintenance seconds later, when somebody had it.
"""

import dataclasses
import logging
from typing import Any
from unittest import mock

import fixtures
import sqlalchemy as sa

from ironic_reservations import errors
from ironic_reservations.api import wsgi
from ironic_reservations.db import tables
from ironic_reservations.engine import announce
from ironic_reservations.engine import mirror
from ironic_reservations.engine.in_flight import admission
from ironic_reservations.engine.in_flight import protect
from ironic_reservations.engine.in_flight import uncertain
from ironic_reservations.engine.reservations import release
from ironic_reservations.engine.reservations import renew
from ironic_reservations.guard import resolve
from ironic_reservations.lifecycle import admit
from ironic_reservations.lifecycle import protect as protection
from ironic_reservations.model import node_reservation
from ironic_reservations.model import reasons
from tests import guarded
from tests import leasing
from tests import servers
from tests.inprocess.guard import asked

TIMEOUT = 120
LONG = TIMEOUT * 5
ANYBODY = protect.ChangeRequest(protection.Actor(admit.Claim()))
ON = ('PUT', ('maintenance',), {'reason': 'smoke'})
OFF = ('DELETE', ('maintenance',), None)
DELETE = ('DELETE', (), None)
JSON = 'application/json'
PATCHES = tuple(('PATCH', (), [{'op': 'add', 'path': f'/{field}',
                                'value': True}])
                for field in ('maintenance', 'retired'))


class TakenAwayTestCase(asked.TestCase):

    options = {'guard__in_flight_timeout': TIMEOUT}

    def ask(self, act: Any = ON, token: str = 'owner',
            **changed: Any) -> wsgi.Answer:
        return super().ask(act, token, **changed)

    def reasons(self) -> list[str]:
        """Return the reasons why another reservation of the node is refused.
        """
        refused = self.assertRaises(errors.NoNodeAvailable, self.reserve,
                                    'another')
        return [reason['code'] for reason in refused.details['reasons']]

    def before(self, act: Any, happens: Any) -> None:
        """Call a function right before Ironic carries out an act."""
        self.ironic.before[act[0]] = [happens]

    def maintained(self) -> bool:
        return self.there().maintenance

    def done(self) -> list[str]:
        return [method for method, _ in self.ironic.done]


@servers.also
class TestMeanwhile(TakenAwayTestCase):
    """Nobody gets the node while Ironic carries out such an act."""

    def test_whoever_reserves_it_meanwhile_is_refused(self) -> None:
        for act in (ON, OFF, *PATCHES, DELETE):
            seen: list[str] = []
            self.before(act, lambda found=seen: found.extend(self.reasons()))
            self.assertLess(self.ask(act).status, 300)
            self.assertEqual([reasons.BUSY], seen, act)
            self.assertEqual([], self.world.in_flight())
            if self.node in self.world.ironic.there:
                self.world.ironic.change(self.node, maintenance=False,
                                         retired=False)
                self.world.refresh()

    def test_holder_keeps_others_off_who_come_after(self) -> None:
        held, seen = self.reserve('owner'), []

        def happens() -> None:
            release.release(self.engine, held.uuid)
            seen.extend(self.reasons())
        self.before(ON, happens)
        self.assertEqual(202, self.ask().status)
        # The node is put back after the act, too.
        self.assertEqual(([reasons.LEASED], []),
                         (seen, self.world.in_flight()))

    def test_whoever_was_planned_before_plans_again(self) -> None:
        """The reservation was about to be committed."""
        def happens() -> None:
            self.assertEqual(202, self.ask().status)
        self.world.before_next_write(happens)
        self.assertNotEqual([], self.reasons())
        self.assertTrue(self.maintained())

    def test_whoever_has_reserved_it_first_keeps_it(self) -> None:
        held: list[node_reservation.Reservation] = []
        self.world.before_next_write(lambda: held.append(self.reserve()))
        self.assertRaises(errors.ProofRequired, self.ask)
        self.assertEqual(([], 'reserved'), (
            self.done(), self.world.state_of(held[0])))
        self.assertEqual([], self.world.in_flight())

    def test_renewal_that_began_in_time_brings_nothing_back(self) -> None:
        held = self.reserve(ttl=10)
        late = self.world.another_engine(lambda: at_first)
        at_first = self.world.clock()
        self.world.clock.advance(11)
        self.before(ON, lambda: self.assertRaises(
            errors.ReservationNotFound, renew.renew, late, held.uuid,
            ttl=600))
        self.assertEqual(202, self.ask().status)
        self.assertEqual({}, self.world.reservations())

    def test_two_at_once_are_both_carried_out(self) -> None:
        self.before(ON, lambda: self.assertEqual(202, self.ask().status))
        self.assertEqual(202, self.ask().status)
        self.assertEqual((['PUT', 'PUT'], []),
                         (self.done(), self.world.in_flight()))

    def test_holder_may_while_a_deploy_is_under_way(self) -> None:
        held = self.reserve('owner')
        deploy = admission.admit(self.engine, self.node, held.uuid)
        self.assertEqual(202, self.ask().status)
        self.assertEqual('starting', self.world.state_of(held))
        admission.close(self.engine, deploy, True)
        self.assertEqual(('in_use', []), (
            self.world.state_of(held), self.world.in_flight()))

    def test_deploy_that_was_overtaken_is_still_taken_back(self) -> None:
        """Acts of the new holder do not hide the late deploy."""
        made: list[node_reservation.Reservation] = []

        def happens() -> None:
            self.world.find_out()
            made.append(self.reserve())
            self.assertEqual(202, self.ask(OFF, 'tenant').status)
        self.ironic.before['PUT'] = [happens]
        refused = self.assertRaises(
            errors.Overtaken, self.deploy,
            guard=self.guard_of(self.ironic))
        self.assertIn('is being undone', str(refused))

    def test_refusal_of_ironic_leaves_nothing(self) -> None:
        self.ironic.answers['PUT'] = [409]
        self.assertEqual(409, self.ask().status)
        self.assertEqual([], self.world.in_flight())
        self.reserve()

    def test_lease_of_the_node_is_not_counted_as_used(self) -> None:
        lets = leasing.Leasing(self.world)
        (self.node,) = lets.hosts()
        lets.create(None, 4, project_id='owner')
        with self.engine.database.write() as connection:
            connection.exec_driver_sql(
                "UPDATE reservations SET state = 'bound'")
        self.assertEqual(202, self.ask().status)
        self.ironic.answers['DELETE'] = [500]
        self.assertEqual(500, self.ask(OFF).status)
        self.world.find_out()
        self.assertEqual([], self.world.in_flight())
        with self.engine.database.read() as connection:
            self.assertEqual([], connection.execute(
                sa.select(tables.usage_periods)).all())


class _Undeploys(TakenAwayTestCase):
    """The holder of a reservation has deployed the node."""

    def setUp(self) -> None:
        super().setUp()
        self.held = self.reserve('owner')
        self.assertEqual(202, self.deploy(
            self.held.uuid, self.guard_of(self.ironic)).status)
        self.world.refresh()

    def undeploy(self, token: str | None = 'owner',
                 target: str = 'deleted') -> wsgi.Answer:
        return self.provision(target, token=token)

    def free(self) -> None:
        """Let the node be cleaned, and the reservation end."""
        self.world.ironic.change(self.node, provision_state='available')
        self.world.refresh()
        self.assertEqual({}, self.world.reservations())

    def assert_late_one_hits_nobody(self, token: str | None) -> None:
        """Check that the node is promised only once it is known to be free.

        :param token: the token of the undeploy that first has no answer.
        """
        self.ironic.answers['PUT'] = [503]
        self.assertEqual(503, self.undeploy(token).status)
        self.assertEqual(202, self.undeploy(token).status)
        self.world.ironic.change(self.node, provision_state='available')
        self.world.refresh()
        self.assertNotEqual([], self.reasons())
        # Its holder cannot deploy it either, since it could be undeployed.
        self.assertRaises(errors.Contention, self.deploy, self.held.uuid,
                          self.guard_of(self.ironic))
        self.assertEqual(400, self.ironic.late.pop()()[0])
        self.world.find_out()
        self.world.refresh()
        self.assertEqual({}, self.world.reservations())
        self.reserve()


@servers.also
class TestUndeploys(_Undeploys):
    """A late undeploy of a conductor hit the next instance."""

    def test_of_the_holder(self) -> None:
        self.assert_late_one_hits_nobody('owner')

    def test_of_an_administrator(self) -> None:
        self.assert_late_one_hits_nobody(guarded.SYSTEM)

    def test_whoever_reserves_the_node_meanwhile_is_refused(self) -> None:
        seen: list[str] = []

        def happens() -> None:
            release.release(self.engine, self.held.uuid)
            self.world.ironic.change(self.node, provision_state='available')
            self.world.refresh()
            seen.extend(self.reasons())
        self.before(ON, happens)
        self.assertEqual(400, self.undeploy().status)
        self.assertEqual(([reasons.BUSY], []), (seen, self.world.in_flight()))
        self.reserve()

    def test_ends_the_reservation_once_the_node_is_free(self) -> None:
        self.assertEqual(202, self.undeploy().status)
        self.free()
        self.reserve()

    def test_refused_by_ironic(self) -> None:
        self.ironic.answers['PUT'] = [409]
        self.assertEqual(409, self.undeploy().status)
        self.assertEqual(('in_use', []), (self.world.state_of(self.held),
                                          self.world.in_flight()))

    def test_only_administrators_may_while_the_database_is_down(
            self) -> None:
        with self.lost('read'):
            self.assertRaises(errors.DatabaseUnavailable, self.undeploy)
            self.assertEqual(202, self.undeploy(guarded.SYSTEM).status)

    def test_others_are_refused(self) -> None:
        self.assertRaises(errors.ProofRequired, self.undeploy, 'tenant')
        self.assertEqual(('in_use', []), (self.world.state_of(self.held),
                                          self.world.in_flight()))
        self.assertNotEqual('cleaning', self.there().provision_state)


@servers.also
class TestUndeploysWithoutIdentities(_Undeploys):
    """All callers are administrators."""

    def setUp(self) -> None:
        super().setUp()
        self.guard = self.guard_of(self.ironic)

    def test_late_one_hits_nobody(self) -> None:
        self.assert_late_one_hits_nobody(None)


@servers.also
class TestUndeploysThatAreNotProtected(_Undeploys):
    """Every caller whom Ironic's policy allows may act."""

    options = {**TakenAwayTestCase.options,
               'guard__protected_acts': ['maintenance']}

    def test_late_one_hits_nobody(self) -> None:
        self.assert_late_one_hits_nobody('tenant')

    def test_database_that_is_down(self) -> None:
        with self.lost('read'):
            self.assertEqual(202, self.undeploy('tenant').status)


@servers.also
class TestStandsStill(TakenAwayTestCase):
    """A process or a conductor hangs for longer than allowed."""

    def test_before_it_hands_the_request_over(self) -> None:
        held: list[node_reservation.Reservation] = []
        real = protect.keep

        def keep(*known: Any) -> Any:
            kept = real(*known)
            self.world.clock.advance(LONG)
            self.world.find_out()
            held.append(self.reserve())
            return kept
        with mock.patch.object(protect, 'keep', keep):
            self.assertRaises(errors.HandedOverLate, self.ask)
        self.assertEqual(([], 'reserved', []), (
            self.done(), self.world.state_of(held[0]),
            self.world.in_flight()))

    def test_conductor_that_comes_back_late(self) -> None:
        self.ironic.answers['PUT'] = [503]
        self.assertEqual(503, self.ask().status)
        self.world.clock.advance(TIMEOUT)
        self.assertEqual([reasons.BUSY], self.reasons())
        self.ironic.late.pop()()
        self.world.find_out()
        self.assertEqual([], self.world.in_flight())
        self.assertEqual([reasons.MAINTENANCE], self.seen_by_ironic())

    def seen_by_ironic(self) -> list[str]:
        self.world.refresh()
        return self.reasons()

    def test_dead_process_keeps_the_node_until_it_is_known(self) -> None:
        protect.keep(self.engine, self.node, ANYBODY)
        self.world.clock.advance(TIMEOUT - 1)
        uncertain.Uncertain(self.engine, self.world.ironic).settle_overdue()
        self.assertEqual([reasons.BUSY], self.reasons())
        self.world.find_out()
        self.reserve()

    def test_dead_process_and_a_node_that_is_gone(self) -> None:
        protect.keep(self.engine, self.node, ANYBODY)
        self.world.ironic.remove(self.node)
        self.world.enrol()
        mirror.refresh_all(self.engine)
        self.assertIn(self.node, self.world.mirrored())
        self.world.find_out()
        mirror.refresh_all(self.engine)
        self.assertNotIn(self.node, self.world.mirrored())

    def test_node_that_is_enrolled_again_meanwhile(self) -> None:
        """The new node is kept, too, since the late request may still hit it.
        """
        self.ironic.answers['PUT'] = [503]
        self.assertEqual(503, self.ask().status)
        node = self.there()
        self.world.enrol()
        self.world.ironic.remove(self.node)
        self.world.refresh()
        self.world.clock.advance(1)
        self.world.ironic.put(dataclasses.replace(
            node, enrolled_at=self.world.clock().isoformat()))
        self.world.refresh()
        self.assertEqual([reasons.BUSY], self.reasons())
        self.ironic.late.pop()()
        self.world.find_out()
        self.assertEqual(([], [reasons.MAINTENANCE]), (
            self.world.in_flight(), self.seen_by_ironic()))

    def test_several_at_once_are_found_out_one_by_one(self) -> None:
        """One request without an answer, one of a dead process, two answered.
        """
        self.ironic.answers['PUT'] = [503]
        self.assertEqual(503, self.ask().status)
        protect.keep(self.engine, self.node, ANYBODY)
        self.assertEqual(202, self.ask().status)
        self.assertEqual(202, self.ask(OFF).status)
        self.assertEqual(2, len(self.world.in_flight()))
        self.world.find_out()
        self.assertEqual([], self.world.in_flight())
        self.reserve()

    def test_inside_of_ironic_and_the_node_is_anothers(self) -> None:
        """The effect stays, and is reported."""
        told = []
        self.engine.announcer.notify = lambda event, held, reason=None: (
            told.append(reason))

        def happens() -> None:
            self.world.find_out()
            self.reserve()
        self.before(ON, happens)
        refused = self.assertRaises(errors.Overtaken, self.ask)
        self.assertIn('could not be undone', str(refused))
        self.assertIn(announce.OVERTAKEN, told)

    def test_inside_of_ironic_and_the_node_is_its_own_or_nobodys(
            self) -> None:
        for happens in (self.world.find_out, self.take_it):
            self.before(ON, happens)
            self.assertEqual(202, self.ask().status)
            self.world.ironic.change(self.node, maintenance=False)
            self.world.refresh()

    def test_inside_of_ironic_and_then_the_database_is_lost(self) -> None:
        """The client heard that nothing was done; the operator got no report.
        """
        log = self.useFixture(fixtures.FakeLogger(level=logging.ERROR))
        guard = self.guard_of(self.ironic)
        for ask, lost in (
                (self.ask, (protect, 'read_view')),
                (self.ask, (self.engine.database, 'read')),
                (self.ask, (self.engine.database, 'write')),
                (lambda: self.deploy(guard=guard),
                 (self.engine.database, 'snapshot')),
                (lambda: self.deploy(guard=guard),
                 (self.engine.database, 'write'))):
            gone = mock.patch.object(
                *lost, side_effect=errors.DatabaseUnavailable('x'))

            def happens(gone: Any = gone) -> None:
                self.world.find_out()
                self.reserve('another')
                gone.start()
            self.before(ON, happens)
            try:
                unknown = self.assertRaises(errors.OutcomeUnknown, ask)
            finally:
                gone.stop()
            self.assertIn('Ironic carried out', str(unknown))
            self.assertIn(self.node, str(unknown))
            self.assertIn(self.node, log.output)
            self.assertEqual('PUT', self.done()[-1])
            (self.node,) = self.world.enrol()
            self.world.refresh()

    def test_database_that_is_lost_in_time_hides_no_success(self) -> None:
        """The row of the request stays for the reconciler."""
        gone = self.lost('write')
        self.before(ON, gone.start)
        try:
            self.assertEqual(202, self.ask().status)
        finally:
            gone.stop()
        self.assertEqual(1, len(self.world.in_flight()))

    def take_it(self) -> None:
        self.world.find_out()
        self.reserve('owner')


class TestWho(TakenAwayTestCase):
    """Callers for whom a node is kept, and callers for whom it is not."""

    def test_administrator_waits_for_nobody(self) -> None:
        """A caller who may act on any node needs no exclusive use of it."""
        held = self.reserve()
        admission.admit(self.engine, self.node, held.uuid)
        with self.lost('read'):
            for act in (ON, *PATCHES, OFF):
                self.assertLess(self.ask(act, guarded.SYSTEM).status, 300)
        self.assertEqual(1, len(self.world.in_flight()))
        self.assertEqual('starting', self.world.state_of(held))

    def test_others_wait_for_the_database(self) -> None:
        with self.lost('read'):
            for act in (ON, *PATCHES, DELETE):
                self.assertRaises(errors.DatabaseUnavailable, self.ask, act)
        self.assertEqual([], self.done())

    def test_node_that_is_not_to_be_seen_gets_no_row(self) -> None:
        (self.node,) = self.world.enrol(mirrored=False)
        self.ironic.hidden.add(self.node)
        for act in (ON, OFF, *PATCHES, DELETE):
            refusal = self.assertRaises(resolve.RefusedByIronic, self.ask, act)
            self.assertEqual(404, refusal.answer.status)
        self.assertNotIn(self.node, self.world.mirrored())

    def test_node_that_is_not_mirrored_yet_is_kept(self) -> None:
        (self.node,) = self.world.enrol(mirrored=False)
        self.before(ON, lambda: self.assertEqual(
            [self.node], [row['node_uuid'] for row in self.world.in_flight()]))
        self.assertEqual(202, self.ask().status)

    def test_slow_body_keeps_no_node(self) -> None:
        """The body has been read before the node is kept."""
        seen: list[Any] = []
        self.assertEqual(202, self.ask(ON, **asked.sent(
            b'{"reason": "smoke"}',
            lambda: seen.append(self.world.in_flight()))).status)
        self.assertEqual([[]], seen)
        self.assertEqual('smoke', self.world.ironic.why[self.node])

    def test_body_is_read_in_one_way_only(self) -> None:
        """Ironic failed on the body before its policy judged the sender.

        The outcome was not known then, so the node, which was free, was kept
        from everybody for minutes.
        """
        for body, content_type in (
                (b'{"reason": "smoke", "node_ident": "another"}', JSON),
                (b'{}', JSON + '; charset=foo'), (b'{}', 'text/plain'),
                (b'a', 'multipart/form-data'), (b'{}', '')):
            for act in (ON, OFF, DELETE):
                self.assertRaises(
                    errors.NotCanonical, self.ask, act, **asked.sent(
                        body, CONTENT_TYPE=content_type))
        self.assertEqual(([], []), (self.done(), self.world.in_flight()))
        self.reserve('owner')
        self.assertRaises(errors.NotCanonical, self.ask, ON, **asked.sent(
            b'{"node_ident": "another"}'))

    def test_what_administrators_send_is_ironics_to_read(self) -> None:
        self.assertEqual(202, self.ask(ON, guarded.SYSTEM, **asked.sent(
            b'{"node_ident": "another"}', CONTENT_TYPE='text/plain')).status)
        self.assertEqual([], self.world.in_flight())
