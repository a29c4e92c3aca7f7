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

"""A reservation, and a lease, survive other acts on their node.

Adoption, inspection, rescue and service of a node with a holder, on a real
Ironic: the allowed and refused callers, the answers, and the state afterwards.
"""

from collections.abc import Mapping
import contextlib
import datetime
from typing import Any
from unittest import mock
import uuid

from ironic_reservations import build
from ironic_reservations import clock
from ironic_reservations import errors
from ironic_reservations.clouds import ironic as ironic_client
from ironic_reservations.db import nodes as db_nodes
from ironic_reservations.engine import hosts
from ironic_reservations.engine.leases import create as lease_create
from ironic_reservations.engine.leases import end as lease_end
from ironic_reservations.engine.leases import find as lease_find
from ironic_reservations.model import leases
from tests import world
from tests.inprocess.guard import acts
from tests.inprocess.guard import keystone_ironic
from tests.inprocess.guard import with_keystone
from tools import all_in_one
from tools import enrolment

_REQUIRED = (403, 'reservation.proof_required')
_INVALID = (403, 'reservation.proof_invalid')
#: Ironic's answer if its policy refuses a request that the guard let pass.
_HIDDEN = (404, None)
_FORBIDDEN = (403, None)
_WRONG_STATE = (400, None)
_ACCEPTED = (202, None)
_RESCUE = {'rescue_password': 'secret'}
_SERVICE = {'service_steps': [{
    'interface': 'vendor', 'step': 'log_passthrough', 'args': {}}]}
#: What a step of the vendor interface has done is not known, so the node would
#: wait for an operator.
_WAIT = {'service_steps': [{
    'interface': 'deploy', 'step': 'wait', 'args': {'seconds': 1}}]}
_CLEAN = {'clean_steps': [{
    'interface': 'vendor', 'step': 'log_passthrough', 'args': {}}]}


class _AsService:
    """A transport to an Ironic with our own user."""

    def __init__(self, ironic: all_in_one.AllInOne) -> None:
        self._ironic = ironic

    def send(self, method: str, path: str, headers: Mapping[str, str],
             body: Any = None) -> tuple[int, Any]:
        """Send a request."""
        with self._ironic.session() as session:
            answer = session.request(
                method, f'{self._ironic.url}{path}', json=body,
                headers={**headers,
                         **with_keystone.token('our-service')})
        return answer.status_code, answer.json() if answer.content else None


class StatesTestCase(acts.ActsTestCase):

    @classmethod
    def make(cls, folder: str) -> with_keystone.WithKeystone:
        return with_keystone.make(folder, options={'DEFAULT': {
            'enabled_inspect_interfaces': 'fake',
            'enabled_rescue_interfaces': 'fake',
            'enabled_vendor_interfaces': 'fake'}},
            ironic={'poll_interval': 1})

    def as_an_administrator(self) -> contextlib.AbstractContextManager[Any]:
        """Act as an administrator for a while."""
        return mock.patch.object(self, 'identity',
                                 with_keystone.token('the-system'))

    def becomes(self, node: enrolment.Enrolled, state: str) -> None:
        """Wait as an administrator until a node is in a state."""
        with self.as_an_administrator():
            self.wait_until(node.uuid, state)

    def refused(self, how: tuple[int, str | None], target: str,
                node: enrolment.Enrolled, proof: str | None = None,
                **more: Any) -> None:
        """Check the refusal of, or the answer to, a request."""
        reply = self.provision(node.uuid, target, proof, **more)
        self.assert_says(*how, reply, (target, proof))

    def strangers_are_refused(self, target: str, node: enrolment.Enrolled,
                              **more: Any) -> None:
        """Check that Ironic refuses strangers, without details."""
        for name, how in (('two', _HIDDEN), ('reader-of-one', _FORBIDDEN)):
            self.as_(name)
            self.refused(how, target, node, **more)


class ReservedTestCase(StatesTestCase):
    """The node belongs to the project one; an operator has the reservation."""

    def setUp(self) -> None:
        super().setUp()
        self.there = self.node_of_one()
        self.proof = self.reserve(self.there.uuid)['uuid']
        self.as_('one')

    def state(self) -> str | None:
        """Read the state of the reservation; ``None`` if it has ended."""
        with self.as_an_administrator():
            reply = self.reservation(self.proof)
        return (reply.document['reservation']['state']
                if reply.status == 200 else None)

    def taken_with_proof(self, target: str, state: str) -> None:
        """Check that a request passes with the proof, and not without it."""
        self.refused(_REQUIRED, target, self.there)
        self.refused(_INVALID, target, self.there, str(uuid.uuid4()))
        self.as_('two')
        self.refused(_HIDDEN, target, self.there, self.proof)
        self.as_('one')
        self.refused(_ACCEPTED, target, self.there, self.proof)
        self.becomes(self.there, state)

    def assert_ends(self, target: str, proof: str | None = None) -> None:
        """Check that the reservation ends when the node is free again."""
        self.refused(_ACCEPTED, target, self.there, proof)
        self.becomes(self.there, 'available')
        self.wait_for(lambda: self.state() is None)

    def test_adoption(self) -> None:
        self.refused(_WRONG_STATE, 'adopt', self.there, self.proof)
        self.assertEqual('reserved', self.state())
        self.taken_with_proof('manage', 'manageable')
        self.taken_with_proof('adopt', 'active')
        self.assertEqual('in_use', self.state())
        # Other users still need it to adopt or deploy.
        self.refused(_REQUIRED, 'adopt', self.there)
        self.refused(_REQUIRED, 'rebuild', self.there)
        self.refused(_REQUIRED, 'deleted', self.there)
        self.assert_ends('deleted', self.proof)

    def test_inspection(self) -> None:
        self.refused(_WRONG_STATE, 'inspect', self.there, self.proof)
        self.assertEqual('reserved', self.state())
        self.taken_with_proof('manage', 'manageable')
        self.strangers_are_refused('inspect', self.there)
        self.as_('one')
        for target, more in (('inspect', {}), ('clean', _CLEAN)):
            self.refused(_REQUIRED, target, self.there, **more)
            self.refused(_INVALID, target, self.there, str(uuid.uuid4()),
                         **more)
        self.refused(_ACCEPTED, 'inspect', self.there,
                     reservation_uuid=self.proof)
        self.becomes(self.there, 'manageable')
        self.assertEqual('in_use', self.state())
        self.refused(_REQUIRED, 'adopt', self.there)
        self.assert_ends('provide')

    def test_rescue_and_service(self) -> None:
        self.refused(_WRONG_STATE, 'rescue', self.there, self.proof, **_RESCUE)
        self.refused(_WRONG_STATE, 'service', self.there, self.proof,
                     **_SERVICE)
        self.assertEqual('reserved', self.state())
        self.taken_with_proof('active', 'active')
        for target, then, more in (('rescue', 'rescue', _RESCUE),
                                   ('unrescue', 'active', {}),
                                   ('service', 'active', _SERVICE)):
            self.strangers_are_refused(target, self.there, **more)
            self.as_('one')
            self.refused(_REQUIRED, target, self.there, **more)
            self.refused(_ACCEPTED, target, self.there, self.proof, **more)
            self.becomes(self.there, then)
            self.assertEqual('in_use', self.state(), target)
            self.refused(_REQUIRED, 'rebuild', self.there)
        self.assert_ends('deleted', self.proof)

    def test_administrators_need_no_proof(self) -> None:
        """Nova and an operator on call."""
        self.refused(_ACCEPTED, 'active', self.there, self.proof)
        self.becomes(self.there, 'active')
        self.as_('nova')
        for target, then, more in (('rescue', 'rescue', _RESCUE),
                                   ('unrescue', 'active', {})):
            self.refused(_ACCEPTED, target, self.there, **more)
            self.becomes(self.there, then)
        self.as_('the-system')
        self.refused(_ACCEPTED, 'service', self.there, **_SERVICE)
        self.becomes(self.there, 'active')
        self.as_('nova')
        self.assert_ends('deleted')


class LeasedTestCase(StatesTestCase):
    """The node belongs to the project two, and is leased to the project one.
    """

    def setUp(self) -> None:
        super().setUp()
        (self.there,) = self.enroll(owner=keystone_ironic.PROJECTS['two'])
        conf = world.configured(
            f'sqlite:///{self.ironic.folder}/reservations.sqlite')
        self.engine = build.engine(conf, ironic_client.Ironic(
            _AsService(self.ironic)))
        self.addCleanup(self.engine.database.close)
        hosts.add(self.engine, self.there.uuid, {})
        self.lease = lease_create.create(
            self.engine,
            leases.LeaseRequest('lease',
                                clock.utc_now() + datetime.timedelta(hours=1),
                                (leases.LeaseReservationRequest(
                                    1, 1, '["==", "$hypervisor_hostname", '
                                    f'"{self.there.name}"]'),),
                                project_id=keystone_ironic.PROJECTS['one']))
        self.proof = self.lease.reservations[0].id
        self.wait_for(lambda: self.read().status is leases.LeaseStatus.ACTIVE)
        self.as_('admin-of-one')

    def read(self) -> leases.Lease:
        return lease_find.get(self.engine, self.lease.id)

    def mirrored(self) -> str | None:
        """Read the state of the node in the mirror."""
        with self.engine.database.read() as connection:
            return db_nodes.read_nodes(connection, (
                self.there.uuid,))[self.there.uuid].provision_state

    def over(self) -> bool:
        """Return whether no value of the lease is left."""
        try:
            return not self.read().bookings
        except errors.LeaseNotFound:
            return True

    def assert_as_promised(self) -> None:
        """Check that the lease has its node, and is not degraded."""
        lease = self.read()
        self.assertEqual(
            (leases.LeaseStatus.ACTIVE, [self.there.uuid], False, False), (
                lease.status, [each.node_uuid for each in lease.bookings],
                lease.degraded, lease.reservations[0].missing_resources))
        self.assertEqual(keystone_ironic.PROJECTS['one'],
                         self.node(self.there.uuid)['lessee'])

    def owner_is_refused(self, target: str, **more: Any) -> None:
        """Check that the owner of the node is not its holder."""
        self.as_('two')
        self.refused(_REQUIRED, target, self.there, **more)
        self.refused(_INVALID, target, self.there, self.proof, **more)
        self.as_('admin-of-one')

    def assert_ends(self) -> None:
        """End the lease, and check that the node is freed from any state."""
        lease_end.end(self.engine, self.lease.id)
        self.becomes(self.there, 'available')
        self.wait_for(self.over)
        self.as_('two')
        self.assertIsNone(self.node(self.there.uuid)['lessee'])
        self.refused(_ACCEPTED, 'active', self.there)

    def test_rescue_and_service(self) -> None:
        self.owner_is_refused('active')
        self.refused(_ACCEPTED, 'active', self.there, self.proof)
        self.becomes(self.there, 'active')
        for target, then, more in (('service', 'active', _WAIT),
                                   ('rescue', 'rescue', _RESCUE),
                                   ('unrescue', 'active', {}),
                                   ('rescue', 'rescue', _RESCUE)):
            self.as_('reader-of-one')
            self.refused(_FORBIDDEN, target, self.there, **more)
            self.owner_is_refused(target, **more)
            # The lease belongs to its own project, so it needs no proof.
            self.refused(_ACCEPTED, target, self.there, **more)
            self.becomes(self.there, then)
            self.assert_as_promised()
            self.owner_is_refused('rebuild')
            self.owner_is_refused('deleted')
            self.owner_is_refused('abort')
        self.assert_ends()

    def test_undeployed_by_whoever_has_it(self) -> None:
        """The holder deploys it again, as long as the lease lasts."""
        for name, proof in (('admin-of-one', None),
                            ('admin-of-one', self.proof), ('nova', None)):
            self.as_('admin-of-one')
            self.refused(_ACCEPTED, 'active', self.there, self.proof)
            self.becomes(self.there, 'active')
            self.owner_is_refused('undeploy')
            self.as_(name)
            self.refused(_ACCEPTED, 'undeploy', self.there, proof)
            self.becomes(self.there, 'available')
            self.assert_as_promised()
        self.as_('admin-of-one')
        self.assert_ends()

    def test_adoption_and_inspection(self) -> None:
        """A holder who hands the node to its operator gets it back."""
        self.owner_is_refused('manage')
        self.refused(_WRONG_STATE, 'inspect', self.there)
        self.refused(_WRONG_STATE, 'adopt', self.there, self.proof)
        self.assert_as_promised()
        self.refused(_ACCEPTED, 'manage', self.there, self.proof)
        self.becomes(self.there, 'manageable')
        for target, more in (('inspect', {}), ('clean', _CLEAN)):
            self.owner_is_refused(target, **more)
        self.refused(_ACCEPTED, 'inspect', self.there)
        self.becomes(self.there, 'manageable')
        self.owner_is_refused('adopt')
        self.refused(_ACCEPTED, 'adopt', self.there, self.proof)
        self.becomes(self.there, 'active')
        # The lease may be degraded while nobody can use the node.
        self.wait_for(lambda: self.mirrored() == 'active')
        self.wait_for(lambda: not self.read().degraded)
        self.assert_as_promised()
        self.assert_ends()
