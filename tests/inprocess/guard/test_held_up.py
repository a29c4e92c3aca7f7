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

"""A late act on a node, judged too long ago, is not sent to Ironic.

The node is not kept for such an act.  A guard that stood still after reading
the holder switched the node off minutes later, when somebody else had it; a
body that came in slowly had the same effect.
"""

from collections.abc import Callable
import dataclasses
import json
from typing import Any
from unittest import mock

from ironic_reservations import errors
from ironic_reservations.api import wsgi
from ironic_reservations.clouds import ironic as ironic_client
from ironic_reservations.engine.in_flight import protect
from ironic_reservations.engine.reservations import release
from ironic_reservations.guard import node_acts
from ironic_reservations.guard import resolve
from ironic_reservations.model import host_view
from ironic_reservations.model import node_reservation
from tests import guarded
from tests import leasing
from tests import servers
from tests import world
from tests.inprocess.guard import asked

SECONDS = 1 / 3600
LONG = 600.0
POWER = ('PUT', ('states', 'power'), {'target': 'power off'})
#: Acts on a node that do not keep it meanwhile.
ACTS: tuple[tuple[str, tuple[str, ...], Any], ...] = (
    POWER,
    ('PUT', ('states', 'boot_mode'), {'target': 'uefi'}),
    ('PUT', ('states', 'secure_boot'), {'target': True}),
    ('PUT', ('management', 'boot_device'), {'boot_device': 'pxe'}),
    ('POST', ('vmedia',), {'device_type': 'cdrom', 'image_url': 'http://x'}),
    ('DELETE', ('vmedia',), None),
    ('POST', ('vifs',), {'id': 'x'}),
    ('DELETE', ('vifs', 'x'), None),
    ('PUT', ('states', 'console'), {'enabled': True}),
    ('PUT', ('management', 'inject_nmi'), None),
    ('PUT', ('states', 'raid'), {}),
    ('POST', ('vendor_passthru', 'first'), {}),
    ('DELETE', ('allocation',), None),
    ('PATCH', (), [{'op': 'add', 'path': '/instance_info', 'value': {}}]),
    ('PATCH', (), [{'op': 'add', 'path': '/driver_info', 'value': {}}]),
    ('PATCH', (), [{'op': 'add', 'path': '/protected', 'value': True}]),
    ('PUT', ('traits',), {'traits': []}),
    ('DELETE', ('traits', 'CUSTOM_A'), None))


class HeldUpTestCase(asked.TestCase):

    def ask(self, act: Any = POWER, token: str = 'owner',
            **changed: Any) -> wsgi.Answer:
        return super().ask(act, token, **changed)

    def assert_late(self, *act: Any, **how: Any) -> None:
        """Check that the act is not sent to Ironic any more."""
        refused = self.assertRaises(errors.HandedOverLate, self.ask,
                                    *act, **how)
        self.assertIn('Nothing was sent to Ironic', str(refused))
        self.assertIn(self.node, str(refused))

    def delete_allocation(self, uuid: str, token: str = 'owner',
                          **changed: Any) -> wsgi.Answer:
        return self.guard.act(guarded.environ(
            'DELETE', f'/v1/allocations/{uuid}', token=token) | changed,
            node_acts.NodeAct(node_acts.Act.ALLOCATION, uuid,
                              of_allocation=True))

    def stand_still(self, *actions: Callable[[], Any],
                    seconds: float = LONG) -> None:
        """Call functions right after each read of the holder of a node."""
        real = protect.read_view

        def look(*known: Any) -> tuple[host_view.HostView, float]:
            seen = real(*known)
            self.world.clock.advance(seconds)
            for action in actions:
                action()
            return seen
        self.patch(protect, 'read_view', look)

    def later(self) -> None:
        self.world.clock.advance(LONG)


@servers.also
class TestStandsStill(HeldUpTestCase):
    """A guard stands still between its judgement and the hand-over."""

    def test_free_node_that_is_reserved_meanwhile(self) -> None:
        held: list[node_reservation.Reservation] = []
        self.stand_still(lambda: held or held.append(self.reserve(ttl=9999)))
        for act in ACTS:
            if held:
                release.release(self.engine, held.pop().uuid)
            self.assert_late(act)
        self.assertEqual([], self.ironic.done)
        self.assertEqual('reserved', self.world.state_of(held[0]))

    def assert_refused_as_anothers(self, seconds: float) -> None:
        before = self.reserve('owner', ttl=9999)
        held: list[node_reservation.Reservation] = []

        def handed_on() -> None:
            release.release(self.engine, before.uuid)
            held.append(self.reserve())
        self.stand_still(handed_on, seconds=seconds)
        refused = self.assertRaises(errors.Contention, self.ask)
        self.assertIn('nothing was done', str(refused))
        self.assertEqual([], self.ironic.done)
        self.assertFalse(self.world.reservations()[held[0].uuid]['acted'])

    def test_own_node_that_is_anothers_by_then(self) -> None:
        self.assert_refused_as_anothers(LONG)

    def test_own_node_that_is_anothers_a_second_later(self) -> None:
        """It was written down as an act of that one, and carried out."""
        self.assert_refused_as_anothers(1)

    def test_proof_of_what_is_over_by_then(self) -> None:
        before = self.reserve('owner', ttl=300)
        self.stand_still(self.reserve)
        self.assertRaises(errors.Contention, self.ask,
                          **{guarded.PROOF: before.uuid})
        self.assertEqual([], self.ironic.done)

    def test_allocation_that_lands_on_a_node_meanwhile(self) -> None:
        """The allocation had no node at the time of the question."""
        uuid = world.new_uuid()
        known = ironic_client.Allocation(ironic_client.ALLOCATING, None)
        self.world.ironic.allocations[uuid] = known
        resolver = self.guard.protected._resolver
        real = resolver.node_of_allocation

        def resolve(*asked: Any) -> Any:
            seen = real(*asked)
            self.later()
            self.world.ironic.allocations[uuid] = dataclasses.replace(
                known, node_uuid=self.node)
            self.reserve()
            return seen
        with mock.patch.object(resolver, 'node_of_allocation', resolve):
            self.assertRaises(errors.HandedOverLate, self.delete_allocation,
                              uuid)
        self.assertIn(uuid, self.world.ironic.allocations)

    def test_short_pauses_are_in_time(self) -> None:
        self.stand_still(seconds=protect.FRESH - 1)
        for act in ACTS:
            self.assertLess(self.ask(act).status, 300)

    def test_administrator_is_sent_whoever_has_it_by_then(self) -> None:
        self.reserve(ttl=9999)
        self.stand_still(seconds=60)
        for act in ACTS:
            self.assertLess(self.ask(act, guarded.SYSTEM).status, 300)


@servers.also
class TestAboutToChange(HeldUpTestCase):
    """A decision is not valid beyond the known end of a promise."""

    def setUp(self) -> None:
        super().setUp()
        self.lets = leasing.Leasing(self.world)
        (self.node,) = self.lets.hosts()

    def lease(self, start: float | None, end: float,
              project: str = 'tenant') -> None:
        self.lets.create(start, end, project_id=project)

    def test_reservation_that_ends_within_seconds(self) -> None:
        self.reserve('owner', ttl=4)
        self.assertEqual(202, self.ask().status)
        self.stand_still(seconds=3)
        self.assert_late()

    def test_reservation_that_has_been_used_does_not_end(self) -> None:
        held = self.reserve('owner', ttl=4)
        self.world.use(held)
        self.stand_still(seconds=3)
        self.assertEqual(202, self.ask().status)

    def test_lease_that_ends_within_seconds(self) -> None:
        self.lease(None, 2, 'owner')
        self.lets.clock_passes(2 - 4 * SECONDS)
        self.assertEqual(202, self.ask().status)
        self.stand_still(seconds=3)
        self.assert_late()

    def test_lease_that_starts_within_seconds(self) -> None:
        self.lease(1, 2)
        self.lets.clock_passes(1 - 4 * SECONDS)
        self.assertEqual(202, self.ask().status)
        self.stand_still(seconds=3)
        self.assert_late()
        self.assertEqual(202, self.ask(token=guarded.SYSTEM).status)


@servers.also
class TestSlowBody(HeldUpTestCase):
    """A request is judged after all of its body has arrived."""

    def test_free_node_that_is_reserved_meanwhile(self) -> None:
        for act in ACTS:
            held: list[node_reservation.Reservation] = []
            self.assertRaises(
                errors.ProofRequired, self.ask, act, **asked.sent(
                    json.dumps(act[2]).encode() if act[2] else b'{}',
                    self.later,
                    lambda held=held: held.append(self.reserve())))
            release.release(self.engine, held[0].uuid)
        self.assertEqual([], self.ironic.done)

    def test_allocation_whose_node_is_reserved_meanwhile(self) -> None:
        uuid = world.new_uuid()
        self.world.ironic.allocations[uuid] = ironic_client.Allocation(
            'active', self.node)
        self.assertRaises(
            errors.ProofRequired, self.delete_allocation, uuid,
            **asked.sent(b'{}', self.later, self.reserve))
        self.assertIn(uuid, self.world.ironic.allocations)

    def test_own_node_that_nobody_has_by_then(self) -> None:
        """The caller no longer has the node, and somebody else may get it."""
        held = self.reserve('owner', ttl=9999)
        self.assertEqual(202, self.ask(**asked.sent(
            b'{"target": "power off"}', self.later,
            lambda: release.release(self.engine, held.uuid))).status)

    def test_odd_body_for_a_node_that_nobody_has_is_ironics(self) -> None:
        self.assertEqual(202, self.ask(
            CONTENT_TYPE='text/plain', **asked.sent(b'{"a": 1}')).status)

    def test_body_of_whom_ironic_does_not_know_is_not_read(self) -> None:
        self.ironic.hidden.add(self.node)
        read: list[str] = []
        for act in ACTS:
            self.assertRaises(
                resolve.RefusedByIronic, self.ask, act, **asked.sent(
                    b'{}', lambda: read.append('it is')))
        self.assertEqual([], read)
