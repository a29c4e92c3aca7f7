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

"""Machines that cannot be put back, and ports that others change."""

import uuid

from tests.inprocess.guard import base
from tests.inprocess.guard import handed_over
from tests.inprocess.guard import keystone_ironic
from tests.inprocess.guard import lives
from tests.inprocess.guard import with_keystone
from tests.real import remembering

_STEP = {'interface': 'bios', 'step': 'apply_configuration', 'args': {
    'settings': [{'name': 'virtualization', 'value': 'off'}]}}
_VENDORS = {'interface': 'vendor', 'step': 'log_passthrough', 'args': {}}


class MachineTestCase(handed_over.HandedOverTestCase):

    @classmethod
    def make(cls, folder: str) -> with_keystone.WithKeystone:
        return lives.make(folder)

    def test_bios_that_a_holder_changed_keeps_the_node(self) -> None:
        """Its settings were those of the former holder, and nobody knew."""
        node = self.ready()
        lease = self.lent(node)
        proof = {base.PROOF: lease['reservations'][0]['id']}
        path = f'/v1/nodes/{node.uuid}'
        self.as_(self.holder)
        for target, more in (('manage', {}),
                             ('clean', {'clean_steps': [_STEP]})):
            self.granted('PUT', f'{path}/states/provision',
                         {'target': target, **more}, headers=proof)
            self.wait_until(node.uuid, 'manageable')
        self.as_(self.operator)
        self.wait_for(lambda: self.granted('GET', f'{path}/bios').document[
            'bios'])
        self.granted('DELETE', f'/v1/leases/{lease["id"]}', headers=base.OURS)
        self.wait_for(lambda: 'BIOS settings' in str(
            self.lease(lease).get('waiting')))
        self.assertTrue(self.lease(lease)['degraded'])
        refused = self.send('POST', '/v1/reservations', {
            'instance_uuid': str(uuid.uuid4()), 'node_uuid': [node.uuid]},
            headers=base.OURS)
        self.assertEqual(409, refused.status, refused)
        # NOTE: as the page tells the operator to do.
        self.granted('PUT', f'{path}/maintenance', {'reason': 'its BIOS'})
        self.wait_for(lambda: not self.lease(lease))

    def test_vendor_step_of_a_holder_keeps_the_node(self) -> None:
        """Such a step can add a user to the BMC for the next holder."""
        node = self.ready()
        lease = self.lent(node)
        proof = {base.PROOF: lease['reservations'][0]['id']}
        path = f'/v1/nodes/{node.uuid}'
        self.as_(self.holder)
        self.granted('PUT', f'{path}/states/provision', {'target': 'manage'},
                     headers=proof)
        self.wait_until(node.uuid, 'manageable')
        self.granted('PUT', f'{path}/states/provision', {
            'target': 'clean', 'clean_steps': [_VENDORS]}, headers=proof)
        self.as_(self.operator)
        self.granted('DELETE', f'/v1/leases/{lease["id"]}', headers=base.OURS)
        self.wait_for(lambda: 'steps of its holder may' in str(
            self.lease(lease).get('waiting')))
        self.assertTrue(self.lease(lease)['degraded'])
        self.granted('PUT', f'{path}/maintenance', {'reason': 'its BMC'})
        self.wait_for(lambda: not self.lease(lease))

    def test_machine_that_refuses_is_told_of(self) -> None:
        """Ironic accepts the request, and cannot do it."""
        node = self.ready()
        before = self.whole(node)
        lease = self.lent(node)
        path = f'/v1/nodes/{node.uuid}'
        self.as_(self.holder)
        self.granted('PUT', f'{path}/states/boot_mode', {'target': 'uefi'})
        self.wait_for(lambda: self.node(node.uuid)['boot_mode'] == 'uefi')
        self.as_(self.operator)
        self.granted('PATCH', path, [
            base.add(f'/extra/{remembering.BROKEN}', True)])
        self.granted('DELETE', f'/v1/leases/{lease["id"]}', headers=base.OURS)
        self.wait_for(lambda: 'Failed to change boot mode' in str(
            self.lease(lease).get('waiting')))
        self.granted('PATCH', path, [
            base.remove(f'/extra/{remembering.BROKEN}')])
        self.wait_for(lambda: not self.lease(lease))
        self.assertEqual(before, self.whole(node))

    def test_ports_that_the_owner_changes_meanwhile_stay(self) -> None:
        """The owner is not the holder, who acts on the node as well."""
        node = self.ready(owner=keystone_ironic.PROJECTS['two'],
                          extra={'rack': '1'})
        lease = self.lent(node)
        self.as_(self.holder)
        self.granted('PATCH', f'/v1/nodes/{node.uuid}', [
            base.add('/extra/his', 1)])
        self.as_('foreign-admin')
        (port,) = self.granted(
            'GET', f'/v1/ports?node={node.uuid}').document['ports']
        self.granted('PATCH', f'/v1/ports/{port["uuid"]}', [
            base.add('/extra/cable', 'red')])
        self.ended(lease)
        after = self.whole(node)
        self.assertEqual(({'rack': '1'}, {'cable': 'red'}), (
            after['extra'], after['ports'][0]['extra']))

    def test_ports_have_one_form(self) -> None:
        node = self.ready()
        (port,) = self.granted(
            'GET', f'/v1/ports?node={node.uuid}').document['ports']
        path = f'/v1/ports/{port["uuid"]}'
        patch = [base.add('/extra/a', 1)]
        for where, more in ((f'{path}.json', {}), (f'{path}?a=b', {}),
                            (path, {'content_type': 'text/plain'})):
            reply = self.send('PATCH', where, patch, **more)
            self.assert_says(403, 'guard.not_canonical', reply, where)
        for ident, status in ((node.name, 201), (str(uuid.uuid4()), 400)):
            self.assertEqual(status, self.send('POST', '/v1/ports', {
                'node_ident': ident, 'address': handed_over.address()},
                version='1.109').status, ident)
        self.granted('PATCH', path, patch,
                     content_type='application/json-patch+json')
        self.granted('DELETE', path)
        self.assertEqual(404, self.send('DELETE', path).status)
