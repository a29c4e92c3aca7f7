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

"""Provision states do not take a node from a coming holder."""

from typing import Any
from unittest import mock

from ironic_reservations import errors
from ironic_reservations.api import wsgi
from ironic_reservations.engine.in_flight import admission
from ironic_reservations.engine.in_flight import protect
from ironic_reservations.guard import failed_attempts
from ironic_reservations.guard import node_acts
from tests import guarded
from tests import leasing
from tests import servers
from tests import world


@servers.also
class TestAskedForAState(guarded.TestCase):
    """A node of the project "owner", and a lease of the project "tenant"."""

    def setUp(self) -> None:
        super().setUp()
        # NOTE: Ironic refuses each of them, since the node is available.
        self.patch(failed_attempts, 'BURST', 1000)
        self.guard = self.guard_of(self.ironic, 'keystone')
        self.leasing = leasing.Leasing(self.world)
        (self.node,) = self.leasing.hosts(owner='owner')
        self.lease = self.leasing.create(1, 3, project_id='tenant')

    def ask(self, target: str, token: str = 'owner',
            proof: str | None = None) -> wsgi.Answer:
        """Request a provision state."""
        return self.provision(target, proof, token=token)

    def refused(self, target: str, token: str = 'owner') -> None:
        """Check that the request is refused because of a holder."""
        self.assertRaises(errors.ProofRequired, self.ask, target, token)

    def test_before_and_after_it_has_the_node(self) -> None:
        """Before the start, the previous user may remove an instance."""
        for hour in (0, 1):
            self.world.clock.now = leasing.at(hour)
            for target in node_acts.OF_TARGETS:
                self.assertEqual(400, self._passed(target), target)
        self.leasing.bind()
        for target in node_acts.OF_TARGETS:
            self.refused(target)
            self.assertEqual(400, self._passed(target, 'tenant'), target)
            self.assertEqual(400, self._passed(target, guarded.SYSTEM))
            self.assertEqual(400, self._passed(
                target, 'tenant', self.lease.reservations[0].id), target)
        self.assertEqual(400, self._passed('provide'))
        self.world.clock.now = leasing.at(3)
        self.leasing.take_back(self.lease)
        for target in ('rescue', 'service', 'clean', 'inspect', 'abort'):
            self.refused(target, 'tenant')
        # An undeploy then only repeats the act of the reconciler.
        self.assertEqual(400, self._passed('deleted'))
        self.leasing.clean_up()
        for target in node_acts.OF_TARGETS:
            self.assertEqual(400, self._passed(target), target)

    def test_fields_beside_an_instance_while_it_is_put_back(self) -> None:
        """They came with the removal of the instance, and stayed for others.

        Nobody is told of such a write, so nothing undoes it.
        """
        self.world.clock.now = leasing.at(1)
        self.leasing.bind()
        self.world.clock.now = leasing.at(3)
        self.leasing.take_back(self.lease)
        removed = {'op': 'remove', 'path': '/instance_uuid'}
        written = {'op': 'add', 'path': '/instance_info/configdrive',
                   'value': 'mine'}

        def patch(*entries: Any) -> int:
            return self.guard.patch(guarded.environ(
                'PATCH', f'/v1/nodes/{self.node}', [*entries],
                token='owner'), self.node).status
        emptied = ({'op': 'remove', 'path': '/instance_info/image'},
                   {'op': 'replace', 'path': '/instance_info', 'value': {}},
                   {'op': 'remove', 'path': '/instance_name'})
        for entries in ((written,), (removed, written), (written, removed),
                        (removed, {'op': 'remove', 'path': '/name'}),
                        (removed, {**written, 'value': {}}),
                        (removed, {**emptied[1], 'value': {'a': 1}}),
                        (removed, {**emptied[1], 'path': '/extra'})):
            self.assertRaises(errors.ProofRequired, patch, *entries)
        self.assertEqual(200, patch(removed))
        self.assertEqual(200, patch(removed, *emptied))
        self.leasing.clean_up()
        self.assertEqual(200, patch(removed, written))

    def test_maintenance_beside_an_instance(self) -> None:
        """It had no mark of the holder, and was taken for an operator's."""
        self.world.clock.now = leasing.at(1)
        self.leasing.bind()
        before = [*self.ironic.done]
        for value in (world.new_uuid(), None):
            self.assertRaises(errors.NotCanonical, self.guard.patch,
                              guarded.environ(
                'PATCH', f'/v1/nodes/{self.node}', [
                    {'op': 'add', 'path': '/instance_uuid', 'value': value},
                    {'op': 'add', 'path': '/maintenance', 'value': True}],
                token='tenant'), self.node)
        self.assertEqual((before, []), (self.ironic.done,
                                        self.world.in_flight()))

    def test_no_longer_when_it_is_handed_over(self) -> None:
        """The process stood still between the check and the hand-over."""
        real = protect.keep

        def keep(*args: Any) -> admission.InFlightRequest:
            kept = real(*args)
            self.world.clock.advance(
                self.engine.conf.guard.in_flight_timeout / 2 + 1)
            return kept
        with mock.patch.object(protect, 'keep', keep):
            self.assertRaises(errors.HandedOverLate, self.ask, 'deleted')
        self.assertEqual(([], []), (self.ironic.done, self.world.in_flight()))

    def test_database_is_down(self) -> None:
        """An administrator is let through, and nobody else."""
        with mock.patch.object(protect, 'keep', side_effect=(
                errors.DatabaseUnavailable('down'))):
            self.assertRaises(errors.DatabaseUnavailable, self.ask, 'deleted')
            self.assertEqual(400, self._passed('deleted', guarded.SYSTEM))
            self.assertEqual(400, self._passed('provide'))

    def _passed(self, target: str, token: str = 'owner',
                proof: str | None = None) -> int:
        """Return Ironic's answer for an available node."""
        return self.ask(target, token, proof).status
