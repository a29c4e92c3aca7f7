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


from urllib import parse
import uuid

from tests.inprocess.guard import base
from tests.inprocess.guard import spellings


class SpellingsTestCase(base.GuardTestCase):

    def _send(self, row, proof=None):
        return self.send(
            row.method, parse.quote(row.path, safe='/')
            + (f'?{row.query}' if row.query else ''),
            raw=row.body or None, content_type=row.content_type,
            version=row.version,
            headers={} if proof is None else {base.PROOF: proof})

    def test_no_spelling_takes_a_reserved_node_without_proof(self):
        node, = self.enroll(powered=True, resource_class='gold')
        self.reserve(node.uuid)
        answered = {}
        for row in (*spellings.CANONICAL, *spellings.OTHERS,
                    *spellings.DISARMED):
            if row.wire:
                reply = self._send(row.about(node.uuid, node.name))
                answered[row.name] = reply.status
                self.assert_untouched(node.uuid, row.name)
        self.assertEqual(
            {}, {name: status for name, status in answered.items()
                 if not 400 <= status < 500})
        self.assertEqual(
            [], self.send('GET', '/v1/allocations').document['allocations'])

    def test_other_spellings_are_refused_even_with_proof(self):
        node, proof = self.reserved(powered=True, resource_class='gold')
        for row in spellings.OTHERS:
            if row.wire:
                reply = self._send(row.about(node.uuid, node.name), proof)
                self.assertTrue(400 <= reply.status < 500, (row.name, reply))
                self.assert_untouched(node.uuid, row.name)

    def test_canonical_spellings_work_with_proof(self):
        rows = spellings.CANONICAL
        nodes = self.enroll(len(rows), powered=True, resource_class='gold')
        for row, node in zip(rows, nodes, strict=True):
            row = row.about(node.uuid, node.name)
            proof = self.reserve(node.uuid)['uuid']
            reply = self._send(row, proof)
            self.assertTrue(200 <= reply.status < 300, (row.name, reply))
            if 'deploy' in row.name:
                self.wait_for(lambda node=node: self.node(node.uuid)
                              ['provision_state'] == 'active')
            else:
                self.wait_for(lambda node=node: self.node(node.uuid)
                              ['instance_uuid'])
                # An instance is on one node only, and the rows all bind the
                # same one.
                self.send('PATCH', f'/v1/nodes/{node.uuid}', [
                    base.remove('/instance_uuid')],
                    headers={base.PROOF: proof})

    def test_uuid_in_another_spelling_is_the_same_node(self):
        node, proof = self.reserved()
        for spelled in (node.uuid.upper(), node.uuid.replace('-', ''),
                        f'{{{node.uuid}}}'):
            path = parse.quote(f'/v1/nodes/{spelled}/states/provision')
            self.assertEqual('reservation.proof_required', self.send(
                'PUT', path, {'target': 'active'}).code, spelled)
        self.assertEqual(202, self.deploy(node.uuid.upper(), proof).status)

    def test_name_that_ends_like_a_suffix_is_not_shortened(self):
        plain, = self.enroll()
        suffixed, = self.enroll()
        for node, name in ((plain, 'twin'), (suffixed, 'twin.json')):
            self.assertEqual(200, self.send(
                'PATCH', f'/v1/nodes/{node.uuid}', [
                    base.replace('/name', name)]
            ).status)
        self.reserve(plain.uuid)
        self.reserve(suffixed.uuid)
        instance = str(uuid.uuid4())
        for version in ('1.10', '1.90', '1.109'):
            for name in ('twin', 'twin.json', 'twin.json.json'):
                reply = self.send(
                    'PATCH', f'/v1/nodes/{name}',
                    [base.add('/instance_uuid', instance)], version=version)
                self.assertIn(reply.status, (403, 404), (version, name))
        self.assert_untouched(plain.uuid)
        self.assert_untouched(suffixed.uuid)

    def test_body_in_chunks_is_refused(self):
        node, = self.enroll()
        self.reserve(node.uuid)
        reply = self.send(
            'PUT', f'/v1/nodes/{node.uuid}/states/provision',
            raw=b'{"target": "active"}', chunked=True)
        self.assert_says(411, 'request.length_required', reply)
        self.assert_untouched(node.uuid)

    def test_node_that_is_not_there_is_ironics_404(self):
        for ident in (str(uuid.uuid4()), 'nobody'):
            reply = self.deploy(ident)
            self.assert_says(404, None, reply)
            self.assertIn('could not be found',
                          reply.document['error_message'])
