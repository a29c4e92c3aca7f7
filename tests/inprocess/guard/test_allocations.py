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


class AllocationTestCase(base.GuardTestCase):

    def setUp(self):
        super().setUp()
        self.gold = f'gold-{uuid.uuid4().hex[:8]}'

    def _allocate(self, proof=None, **wanted):
        return self.send(
            'POST', '/v1/allocations',
            {'resource_class': self.gold, **wanted},
            headers={} if proof is None else {base.PROOF: proof})

    def _landed(self, reply):
        """Wait until an allocation is settled, and return its node."""
        self.assertEqual(201, reply.status, reply)
        path = f'/v1/allocations/{reply.document["uuid"]}'
        allocation = self.wait_for(lambda: next(
            (found for found in [self.send('GET', path).document]
             if found['state'] != 'allocating'), None))
        self.assertEqual('active', allocation['state'], allocation)
        return allocation['node_uuid']

    def test_allocations_land_on_what_is_not_reserved(self):
        nodes = self.enroll(4, powered=True, resource_class=self.gold)
        reserved = {node.uuid for node in nodes[:2]}
        for uuid_ in reserved:
            self.reserve(uuid_)
        landed = {self._landed(self._allocate()) for _ in range(2)}
        self.assertEqual({node.uuid for node in nodes[2:]}, landed)
        refused = self._allocate()
        self.assert_says(403, 'reservation.allocation_refused', refused)
        for uuid_ in reserved:
            self.assert_untouched(uuid_)

    def test_candidates_by_name_are_kept_in_their_order(self):
        one, two, three = self.enroll(3, powered=True,
                                      resource_class=self.gold)
        self.reserve(three.uuid)
        names = [three.name, two.name, one.uuid.upper()]
        self.assertEqual(two.uuid, self._landed(
            self._allocate(candidate_nodes=names)))
        self.assertEqual(one.uuid, self._landed(
            self._allocate(candidate_nodes=names)))
        refused = self._allocate(candidate_nodes=names)
        reasons = refused.document['errors'][0]['reasons']
        self.assertEqual([three.uuid, two.uuid, one.uuid],
                         [reason['node_uuid'] for reason in reasons])
        self.assertEqual('reserved', reasons[0]['code'])
        # The node is busy until the mirror has seen the instance.
        self.assertIn(reasons[1]['code'], ('busy', 'instance_bound'))

    def test_all_else_of_an_allocation_is_kept(self):
        node, = self.enroll(powered=True, resource_class=self.gold,
                            traits=['CUSTOM_A'])
        wanted = {'uuid': str(uuid.uuid4()), 'traits': ['CUSTOM_A'],
                  'name': f'mine-{self.gold}', 'extra': {'a': [1, None]}}
        reply = self._allocate(**wanted)
        self.assertEqual(node.uuid, self._landed(reply))
        self.assertEqual(wanted, {key: reply.document[key] for key in wanted})
        self.assertIn('/v1/allocations/' + wanted['uuid'],
                      reply.headers['location'])

    def test_proof_gives_the_reserved_node(self):
        nodes = self.enroll(3, powered=True, resource_class=self.gold)
        proof = self.reserve(nodes[1].uuid)['uuid']
        self.assertEqual(nodes[1].uuid, self._landed(self._allocate(proof)))
        self.wait_for(lambda: self.reservation(proof).document
                      ['reservation']['state'] == 'in_use')

    def test_allocated_node_is_deployed_with_the_proof(self):
        node, proof = self.reserved(powered=True, resource_class=self.gold)
        self._landed(self._allocate(proof))
        self.assert_needs_proof(self.deploy(node.uuid))
        self.assertEqual(202, self.deploy(node.uuid, proof).status)

    def test_node_of_an_allocation_under_way_cannot_be_reserved(self):
        node, = self.enroll(powered=True, resource_class=self.gold)
        reply = self._allocate()
        refused = self.send('POST', '/v1/reservations', {
            'instance_uuid': str(uuid.uuid4()), 'node_uuid': [node.uuid]},
            headers=base.OURS)
        self.assertEqual(409, refused.status, refused)
        self.assertEqual(node.uuid, self._landed(reply))

    def test_active_node_is_backfilled(self):
        node, = self.enroll(powered=True, resource_class=self.gold)
        reservation = self.reserve(node.uuid)
        proof = reservation['uuid']
        self.assertEqual(200, self.bind(
            node.uuid, reservation['instance_uuid'], proof).status)
        self.assertEqual(202, self.deploy(node.uuid, proof).status)
        self.wait_until(node.uuid, 'active')
        self.assertEqual('reservation.proof_required', self.send(
            'POST', '/v1/allocations', {'node': node.name}).code)
        reply = self.send('POST', '/v1/allocations', {'node': node.name},
                          headers={base.PROOF: proof})
        self.assertEqual(node.uuid, self._landed(reply))

    def test_what_makes_no_allocation_leaves_nothing_behind(self):
        node, = self.enroll(powered=True, resource_class=self.gold)
        for wanted, status in (
                ({'no-such-key': 1}, 400), ({'name': 'a b'}, 400),
                ({'candidate_nodes': ['nobody']}, 400),
                ({'candidate_nodes': 'nobody'}, 400),
                ({'candidate_nodes': [[]]}, 400), ({'uuid': 'x'}, 400),
                ({'traits': {}}, 400), ({'resource_class': 1}, 400),
                ({'node': ['x']}, 400), ({'node': 'a/b'}, 400)):
            reply = self._allocate(**wanted)
            self.assertEqual(status, reply.status, (wanted, reply))
        self.assertEqual(405, self.send(
            'POST', '/v1/allocations', {'resource_class': self.gold},
            version='1.10').status)
        self.reserve(node.uuid)

    def test_text_that_no_database_takes_is_an_invalid_value(self):
        """It was an unexpected error, with status 500."""
        for wanted in (
                *({'resource_class': text} for text in (
                    '\ud800', 'x\u0000', '\u0000', ' ', 'x' * 81)),
                *({'traits': traits} for traits in (
                    ['\u0000'], ['\ud800'], ['CUSTOM_A', 'CUSTOM_\u0000'],
                    ['CUSTOM_A'] * 51, ['lower'])),
                {'resource_class': 'x\u0000', 'traits': ['\u0000', '\ud800']},
                *({'owner': text} for text in ('\ud800', 'x\u0000'))):
            reply = self._allocate(**wanted)
            self.assert_says(400, 'request.invalid_value', reply)
            self.assertIn(f'"{next(iter(wanted))}"',
                          reply.document['errors'][0]['detail'])


class ListTestCase(base.GuardTestCase):

    def _uuids(self, query, path='/v1/nodes', **more):
        reply = self.send('GET', f'{path}?{query}', **more)
        self.assertEqual(200, reply.status, reply)
        return [node['uuid'] for node in reply.document['nodes']]

    def setUp(self):
        super().setUp()
        self.gold = f'gold-{uuid.uuid4().hex[:8]}'
        self.nodes = [node.uuid for node in self.enroll(
            10, resource_class=self.gold)]
        self.reserved = [self.nodes[number] for number in (0, 1, 2, 5, 9)]
        self.free = [self.nodes[number] for number in (3, 4, 6, 7, 8)]
        for uuid_ in self.reserved:
            self.reserve(uuid_)
        self.filters = (f'resource_class={self.gold}'
                        '&provision_state=available')

    def test_eligible_nodes_are_those_that_nobody_reserved(self):
        for spelled in ('false', 'False', '0', 'no', 'N', 'off', '%20f'):
            for path in ('/v1/nodes', '/nodes', '/v1/nodes/',
                         '/v1/nodes/detail'):
                self.assertEqual(self.free, self._uuids(
                    f'{self.filters}&associated={spelled}', path))

    def test_other_lists_show_all(self):
        for query in (self.filters, f'resource_class={self.gold}',
                      f'resource_class={self.gold}&associated=false',
                      f'{self.filters}&detail=true'):
            self.assertEqual(self.nodes, self._uuids(query))

    def test_reserved_nodes_can_be_asked_for(self):
        query = f'resource_class={self.gold}'
        self.assertEqual(self.reserved, self._uuids(f'{query}&reserved=true'))
        self.assertEqual(self.free, self._uuids(f'{query}&reserved=False'))
        for wrong in ('reserved=maybe', 'reserved=', 'reserved=1&reserved=0'):
            reply = self.send('GET', f'/v1/nodes?{wrong}')
            self.assert_says(400, 'request.invalid_value', reply)

    def test_pages_are_full_and_lead_to_all(self):
        for extra in ('associated=false', 'reserved=false',
                      'associated=false&sort_key=name&sort_dir=desc',
                      'associated=false&fields=uuid,name'):
            for limit in (1, 2, 3, 4, 5, 6, 10, 11):
                query = f'{self.filters}&{extra}'
                path = f'/v1/nodes?{query}&limit={limit}'
                seen, sizes = [], []
                while path:
                    reply = self.send('GET', path)
                    self.assertEqual(200, reply.status, reply)
                    page = reply.document['nodes']
                    seen += [node['uuid'] for node in page]
                    sizes.append(len(page))
                    path = reply.document.get('next', '').partition(
                        str(self.ironic.port))[2]
                self.assertEqual(sorted(self.free), sorted(seen))
                self.assertEqual(len(seen), len(set(seen)))
                self.assertTrue(all(size == limit for size in sizes[:-1]),
                                (extra, limit, sizes))

    def test_fields_are_what_was_asked_for(self):
        reply = self.send('GET', f'/v1/nodes?{self.filters}'
                          '&associated=false&fields=name&limit=2')
        self.assertEqual(2, len(reply.document['nodes']))
        self.assertEqual({'name', 'links'}, set(reply.document['nodes'][0]))
        self.assertIn('fields=name&', reply.document['next'])

    def test_empty_fields_are_what_ironic_takes_them_for(self):
        """The guard failed with status 500 at nodes without a uuid."""
        for fields in ('', ',', '%20,'):
            plain = self.send('GET', f'/v1/nodes?{self.filters}'
                              f'&fields={fields}').document['nodes']
            for eligible, count in (('associated=false', 5),
                                    ('reserved=true', 5)):
                reply = self.send('GET', f'/v1/nodes?{self.filters}'
                                  f'&{eligible}&fields={fields}')
                self.assertEqual(200, reply.status, reply)
                self.assertEqual(count, len(reply.document['nodes']))
                for node in reply.document['nodes']:
                    self.assertEqual(plain[0].keys(), node.keys())

    def test_field_in_capitals_is_the_same_field(self):
        self.assertEqual(self.reserved, self._uuids(
            f'{self.filters}&reserved=true&fields=UUID'))

    def test_what_ironic_refuses_is_refused_by_ironic(self):
        for wrong in ('limit=x', 'limit=-1', 'fields=no_such_field',
                      'sort_dir=sideways', 'marker=x', 'x=y',
                      f'marker={uuid.uuid4()}'):
            reply = self.send('GET', f'/v1/nodes?{self.filters}'
                              f'&associated=false&{wrong}')
            self.assertGreaterEqual(reply.status, 400, wrong)
            self.assertIsNone(reply.code, wrong)
