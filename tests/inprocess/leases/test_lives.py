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

"""Leases on a real Ironic, from their start to their end."""

import datetime
from typing import Any
import uuid

from ironic_reservations import build
from ironic_reservations import clock
from ironic_reservations import engine as engine_module
from ironic_reservations.clouds import ironic
from ironic_reservations.db import migrate
from ironic_reservations.engine import hosts
from ironic_reservations.engine.leases import change as lease_change
from ironic_reservations.engine.leases import create as lease_create
from ironic_reservations.engine.leases import find as lease_find
from ironic_reservations.model import leases
from ironic_reservations.reconciler import loops
from tests import world
from tests.inprocess.guard import base
from tests.real import forked_ironic
from tools import all_in_one

_SOON = datetime.timedelta(seconds=3)
#: What is the operator's, on a node.
_OPERATORS = {'extra': {'rack': 'a7', 'note': 'do not touch'},
              'instance_info': {'capabilities': {'boot_option': 'local'}}}


class _Leases(base.GuardTestCase):

    def make_engine(self, **options: Any) -> engine_module.Engine:
        """Return an engine on the database of the service, over HTTP."""
        conf = world.configured(
            f'sqlite:///{self.ironic.folder}/reservations.sqlite',
            ironic__endpoint_override=self.ironic.url, **options)
        engine = build.engine(conf, ironic.Ironic.over_http(conf))
        self.addCleanup(engine.database.close)
        return engine

    def lease(self, engine: engine_module.Engine, node: str) -> leases.Lease:
        """Lease a node that is a host, from in a moment on, for an hour."""
        start = clock.utc_now() + _SOON
        return lease_create.create(
            engine,
            leases.LeaseRequest(
                'lease',
                start + datetime.timedelta(hours=1),
                (leases.LeaseReservationRequest(
                    1, 1, f'["==", "$hypervisor_hostname", "{node}"]'),),
                start,
                project_id='tenant'))

    def ends_soon(self, engine: engine_module.Engine,
                  lease: leases.Lease) -> None:
        """Have a lease end in a moment.

        NOTE: once all has been done that is to be done while it lasts, which
        takes a busy machine its time.
        """
        lease_change.change(engine, lease.id, leases.LeaseChange(
            end=clock.utc_now() + _SOON))

    def status(self, engine: engine_module.Engine,
               lease: leases.Lease) -> leases.LeaseStatus:
        """Read where a lease stands."""
        return lease_find.get(engine, lease.id).status

    def is_as_before(self, node: str) -> bool:
        """Tell whether a node is what its operator had made it."""
        seen = self.node(node)
        return (seen['provision_state'], seen['instance_uuid'],
                seen['lessee']) == ('available', None, 'operators')


class TestInside(_Leases):
    """The reconciler runs in the process of Ironic's API."""

    def test_node_is_the_tenant_s_while_the_lease_lasts(self) -> None:
        node, = self.enroll(lessee='operators')
        engine = self.make_engine()
        hosts.add(engine, node.uuid, {})
        lease = self.lease(engine, node.name)
        proof = lease.reservations[0].id

        self.wait_for(lambda: self.status(engine, lease)
                      is leases.LeaseStatus.ACTIVE)
        self.assertEqual('tenant', self.node(node.uuid)['lessee'])
        self.assertEqual(403, self.deploy(node.uuid).status)
        self.assertEqual(202, self.deploy(node.uuid, proof).status)
        self.wait_for(lambda: self.node(node.uuid)['provision_state']
                      == 'active')

        self.ends_soon(engine, lease)
        self.wait_for(lambda: self.status(engine, lease)
                      is leases.LeaseStatus.TERMINATED)
        self.assertTrue(self.is_as_before(node.uuid))
        over = lease_find.get(engine, lease.id)
        self.assertEqual({leases.EventStatus.DONE},
                         {event.status for event in over.events})
        self.assertIsNone(over.waiting)

    def test_our_own_requests_over_http_pass_the_guard(self) -> None:
        """A reconciler elsewhere changes nodes of leases, and shows nothing.
        """
        node, = self.enroll(lessee='operators')
        engine = self.make_engine()
        hosts.add(engine, node.uuid, {})
        lease = self.lease(engine, node.name)
        self.wait_for(lambda: self.status(engine, lease)
                      is leases.LeaseStatus.ACTIVE)
        self.assertEqual(202, self.deploy(
            node.uuid, lease.reservations[0].id).status)
        self.wait_for(lambda: self.node(node.uuid)['provision_state']
                      == 'active')
        assert engine.ironic is not None
        engine.ironic.write_lessee(node.uuid, 'operators')
        engine.ironic.undeploy(node.uuid)
        self.wait_for(lambda: self.is_as_before(node.uuid))


class TestBeside(_Leases):
    """The reconciler is a process of its own; Ironic knows nothing of it."""

    @classmethod
    def make(cls, folder: str) -> all_in_one.AllInOne:
        return forked_ironic.ForkedIronic(
            folder, middleware=False,
            options={'conductor': {'automated_clean': True}})

    def test_node_is_cleaned_and_given_back(self) -> None:
        node, = self.enroll(lessee='operators', extra=_OPERATORS['extra'])
        engine = self.make_engine(ironic__poll_interval=1)
        migrate.upgrade(engine.database)
        hosts.add(engine, node.uuid, {})
        lease = self.lease(engine, node.name)
        running = loops.Reconciler(engine)
        running.start()
        self.addCleanup(running.stop)

        self.wait_for(lambda: self.status(engine, lease)
                      is leases.LeaseStatus.ACTIVE)
        self.assertEqual('tenant', self.node(node.uuid)['lessee'])
        self.assertEqual(200, self.bind(node.uuid,
                                        str(uuid.uuid4())).status)
        self.assertEqual(202, self.deploy(node.uuid).status)

        self.ends_soon(engine, lease)
        self.wait_for(lambda: self.status(engine, lease)
                      is leases.LeaseStatus.TERMINATED)
        self.assertTrue(self.is_as_before(node.uuid))
        self.assertEqual(_OPERATORS['extra'],
                         self.node(node.uuid)['extra'])

    def test_instance_that_was_never_deployed_is_taken_off(self) -> None:
        """And nothing else is.

        esi-leap: clears all of instance_info and all of extra at the end,
        the operator's data too.
        """
        node, = self.enroll(lessee='operators', **_OPERATORS)
        engine = self.make_engine(ironic__poll_interval=1)
        migrate.upgrade(engine.database)
        hosts.add(engine, node.uuid, {})
        lease = self.lease(engine, node.name)
        running = loops.Reconciler(engine)
        running.start()
        self.addCleanup(running.stop)
        self.wait_for(lambda: self.status(engine, lease)
                      is leases.LeaseStatus.ACTIVE)
        self.assertEqual(200, self.bind(node.uuid,
                                        str(uuid.uuid4())).status)
        self.ends_soon(engine, lease)
        self.wait_for(lambda: self.status(engine, lease)
                      is leases.LeaseStatus.TERMINATED)
        self.assertTrue(self.is_as_before(node.uuid))
        seen = self.node(node.uuid)
        self.assertEqual(_OPERATORS, {key: seen[key] for key in _OPERATORS})
