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


import uuid

from tests.inprocess.guard import base
from tools import free_ports


class DatabaseDownTestCase(base.GuardTestCase):

    reservations = {'database': {'connection': (
        'mysql+pymysql://nobody@127.0.0.1:'
        f'{free_ports.free_port()}/nothing')}}

    def test_what_could_take_a_node_is_refused_and_all_else_passes(self):
        node, = self.enroll()
        for reply in (
                self.deploy(node.uuid),
                self.bind(node.uuid, str(uuid.uuid4())),
                self.send('POST', '/v1/allocations',
                          {'resource_class': 'baremetal'}),
                self.send('GET', '/v1/nodes?provision_state=available'
                                 '&associated=false'),
                self.send('GET', '/v1/nodes?reserved=false'),
                self.send('GET', '/v1/reservations')):
            self.assert_says(503, 'service.database_unavailable', reply)
        self.assert_untouched(node.uuid)
        for method, path, document, status in (
                ('GET', '/v1/nodes', None, 200),
                ('GET', '/v1/nodes?provision_state=available', None, 200),
                ('PATCH', f'/v1/nodes/{node.uuid}',
                 [{'op': 'add', 'path': '/extra/a', 'value': 1}], 200),
                ('PUT', f'/v1/nodes/{node.uuid}/maintenance', {}, 202),
                ('DELETE', f'/v1/nodes/{node.uuid}/maintenance', None, 202),
                ('PUT', f'/v1/nodes/{node.uuid}/states/provision',
                 {'target': 'provide'}, 400),
                ('DELETE', f'/v1/nodes/{node.uuid}', None, 204)):
            reply = self.send(method, path, document)
            self.assertEqual((status, None), (reply.status, reply.code),
                             (method, path))
