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

"""A request that Ironic refuses leaves nothing that is put back.

The act is written down before Ironic applies its policy.
"""

from typing import Any
import uuid

from tests.inprocess.guard import acts
from tests.inprocess.guard import base
from tests.inprocess.guard import handed_over
from tests.inprocess.guard import keystone_ironic
from tools import enrolment

_OWNER = keystone_ironic.PROJECTS['one']


class RefusedActsTestCase(handed_over.HandedOverTestCase):
    """The lessee may do little, since another project owns the node."""

    holder = 'two'
    #: Who sends the requests that Ironic refuses.
    caller = 'two'

    def refused(self, method: str, path: str, document: Any = None) -> None:
        """Send a request that Ironic's policy refuses."""
        self.as_(self.caller)
        self.assertEqual(403, self.send(method, path, document).status,
                         f'{method} {path}')

    def refused_writes(self, node: enrolment.Enrolled) -> None:
        url = f'/v1/nodes/{node.uuid}'
        for field, value in (('driver_info', {}), ('owner', None)):
            self.refused('PATCH', url, [base.replace(f'/{field}', value)])
        self.refused('POST', '/v1/ports', {
            'node_uuid': node.uuid, 'address': handed_over.address()})

    def operated(self, node: enrolment.Enrolled) -> str:
        """Change a node as its operator, and return the new port."""
        self.as_(self.operator)
        self.granted('PATCH', f'/v1/nodes/{node.uuid}', [
            base.add('/driver_info/new_address', 'b'),
            base.replace('/owner', 'new-owner')])
        return str(self.granted('POST', '/v1/ports', {
            'node_uuid': node.uuid, 'address': handed_over.address()}
        ).document['uuid'])

    def assert_operated(self, node: enrolment.Enrolled, port: str) -> None:
        self.as_(self.operator)
        there = self.node(node.uuid)
        self.assertEqual('b', there['driver_info'].get('new_address'))
        self.assertEqual('new-owner', there['owner'])
        self.assertEqual(200, self.send('GET', f'/v1/ports/{port}').status)

    def test_refused_request_undid_the_work_of_the_operator(self) -> None:
        """It did so with the rights of this service."""
        node = self.ready(owner=_OWNER)
        lease = self.lent(node)
        self.refused_writes(node)
        port = self.operated(node)
        self.ended(lease)
        self.assert_operated(node, port)

    def test_refused_request_beside_an_act_undoes_nothing(self) -> None:
        node = self.ready(owner=_OWNER)
        lease = self.lent(node)
        self.as_(self.holder)
        self.granted('PATCH', f'/v1/nodes/{node.uuid}', [
            base.add('/extra/his', 1)])
        self.refused_writes(node)
        port = self.operated(node)
        self.ended(lease)
        self.assert_operated(node, port)
        self.assertNotIn('his', self.node(node.uuid)['extra'])

    def test_refused_use_undoes_nothing(self) -> None:
        """Ironic refuses the fields that are written beside an instance."""
        node = self.ready(owner=_OWNER)
        lease = self.lent(node)
        self.refused('PATCH', f'/v1/nodes/{node.uuid}', [
            base.remove('/instance_uuid'), base.replace('/driver_info', {}),
            base.replace('/owner', None)])
        self.refused('PATCH', f'/v1/nodes/{node.uuid}', [
            base.replace('/retired', True), base.replace('/driver_info', {})])
        port = self.operated(node)
        self.ended(lease)
        self.assert_operated(node, port)

    def test_refused_request_kept_the_node_from_everybody(self) -> None:
        node = self.ready(owner=_OWNER)
        lease = self.lent(node)
        url = f'/v1/nodes/{node.uuid}'
        self.refused('POST', f'{url}/vendor_passthru?method=bogus', {})
        self.refused('PUT', f'{url}/management/boot_device', {
            'boot_device': 'pxe'})
        self.ended(lease)

    def test_request_without_json_kept_the_node_from_everybody(self) -> None:
        """The act was written down before the body was found to be none."""
        node = self.ready(owner=_OWNER)
        lease = self.lent(node)
        self.as_(self.caller)
        reply = self.send(
            'POST', f'/v1/nodes/{node.uuid}/vendor_passthru?method=bogus',
            raw=b'no JSON', content_type='text/plain')
        self.assertEqual('guard.not_canonical', reply.code)
        self.ended(lease)


class ReaderTestCase(RefusedActsTestCase):
    """Whoever may only look at the nodes of the holder changes nothing."""

    holder = 'admin-of-one'
    caller = 'reader-of-one'


class FreeNodeTestCase(acts.ActsTestCase):
    """Nobody holds the nodes, and Ironic fails before it asks its policy."""

    def patched(self, node: enrolment.Enrolled, path: str, value: Any,
                description: Any = None) -> base.Reply:
        return self.send('PATCH', f'/v1/nodes/{node.uuid}', [
            base.add(path, value), base.replace('/description', description)])

    def test_reader_kept_a_free_node_from_everybody(self) -> None:
        """Each error of Ironic kept it for a minute, and was not counted."""
        for path, value in (('/instance_uuid', str(uuid.uuid4())),
                            ('/maintenance', True), ('/retired', True)):
            self.as_('the-system')
            node = self.node_of_one(powered=True)
            self.as_('reader-of-one')
            self.assertEqual(
                [403] * 5 + [429] * 4,
                [self.patched(node, path, value).status for _ in range(9)])
            self.as_('the-system')
            self.reserve(node.uuid)

    def test_owner_writes_as_before(self) -> None:
        self.as_('the-system')
        node = self.node_of_one(powered=True)
        for who in ('admin-of-one', 'the-system'):
            for path, value, back in (
                    ('/maintenance', True, False),
                    ('/instance_uuid', str(uuid.uuid4()), None)):
                self.as_(who)
                # An administrator may do this regardless of a holder.
                if who != 'the-system' or path == '/instance_uuid':
                    self.assertEqual(400, self.patched(node, path,
                                                       value).status)
                for each in (value, back):
                    reply = self.patched(node, path, each, 'words')
                    self.assertEqual(200, reply.status, (who, path, reply))
            # The policy allows this, and the state of the node does not.
            reply = self.patched(node, '/retired', True, 'words')
            self.assertEqual(409, reply.status)
            self.assertIn('in provision state', str(reply.document))
