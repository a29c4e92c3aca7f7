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


"""``baremetal reservation`` and its twin, against a real Ironic."""

import time
import uuid

from tests.inprocess.client import base


class CommandsTest(base.ClientTestCase):
    """A tenant's day at the terminal."""

    def test_reserve_deploy_with_proof_and_give_back(self):
        """The main job, with the command of standalone Ironic."""
        first, second = self.nodes(2)
        instance = str(uuid.uuid4())
        made = self.json_of(
            'baremetal', 'reservation', 'create', first.name, second.uuid,
            '--instance', instance, '--ttl', '900')
        self.assertEqual((first.uuid, instance, 'reserved'),
                         (made['node_uuid'], made['instance_uuid'],
                          made['state']))
        held = self.held(made['uuid'])
        held.pop('links')
        self.assertEqual(held, made)
        self.assertEqual(made, self.json_of(
            'baremetal', 'reservation', 'show', made['uuid']))

        refused = self.command('baremetal', 'reservation', 'create',
                               first.name, status=1)
        self.assertEqual('', refused.stdout)
        self.assertIn('[reservation.no_node_available]', refused.stderr)
        self.assertRegex(
            refused.stderr,
            f'\n  node {first.name} [(]{first.uuid}[)]: is reserved until '
            r'\S+ \S+ UTC \[reserved\]\n')

        self.refused('is reserved', 'baremetal', 'node', 'deploy', first.name)
        self.assertEqual('available', self.provision_state(first))

        deployed = self.json_of('baremetal', 'reservation', 'deploy',
                                made['uuid'], '--wait', '60')
        self.assertEqual(
            {'reservation_uuid': made['uuid'], 'node_uuid': first.uuid,
             'node_name': first.name, 'provision_state': 'active'},
            {key: deployed[key] for key in (
                'reservation_uuid', 'node_uuid', 'node_name',
                'provision_state')})
        self.assertEqual('active', self.provision_state(first))
        self.assertEqual(('in_use', None), (
            self.held(made['uuid'])['state'],
            self.held(made['uuid'])['expires_at']))

        gone = self.command('baremetal', 'reservation', 'delete',
                            made['uuid'])
        self.assertEqual(f'Deleted reservation {made["uuid"]}\n',
                         gone.stdout)
        self.assertIsNone(self.held(made['uuid']))

    def test_the_same_under_openstack(self):
        """By class, renewed, listed, shown in part, deleted."""
        wanted = f'class-{uuid.uuid4().hex[:8]}'
        nodes = self.nodes(2, resource_class=wanted)
        reservation = ('openstack', 'baremetal', 'reservation')
        made = [self.json_of(*reservation, 'create', '--resource-class',
                             wanted) for _ in nodes]
        self.assertEqual({node.uuid for node in nodes},
                         {each['node_uuid'] for each in made})
        refused = self.command(*reservation, 'create', '--resource-class',
                               wanted, status=1)
        self.assertRegex(refused.stderr, r'\n  2 nodes \[reserved\]')

        renewed = self.json_of(*reservation, 'renew', made[0]['uuid'],
                               '--expires-at', self._in_an_hour())
        self.assertEqual(renewed['expires_at'],
                         self.held(made[0]['uuid'])['expires_at'])
        self.assertNotEqual(made[0]['expires_at'], renewed['expires_at'])

        named = next(node.name for node in nodes
                     if node.uuid == made[1]['node_uuid'])
        rows = self.json_of(*reservation, 'list', '--node', named)
        self.assertEqual([made[1]['uuid']], [row['uuid'] for row in rows])
        shown = self.command(*reservation, 'show', made[1]['uuid'],
                             '--fields', 'node_uuid', '-f', 'value')
        self.assertEqual(made[1]['node_uuid'] + '\n', shown.stdout)

        failed = self.command(
            *reservation, 'delete', made[0]['uuid'], str(uuid.UUID(int=1)),
            made[1]['uuid'], status=1)
        for told in (str(uuid.UUID(int=1)), '[reservation.not_found]'):
            self.assertIn(told, failed.stderr)
        self.assertEqual([None, None],
                         [self.held(each['uuid']) for each in made])

    def _in_an_hour(self):
        return time.strftime('%Y-%m-%dT%H:%M:%SZ',
                             time.gmtime(time.time() + 3600))

    def test_waiting_for_a_reservation_to_expire(self):
        """The second caller gets the node, for the instance it named."""
        node, = self.nodes()
        first = self.json_of('baremetal', 'reservation', 'create', node.name,
                             '--ttl', '6')
        second = self.json_of('baremetal', 'reservation', 'create',
                              node.name, '--wait', '240')
        self.assertEqual(node.uuid, second['node_uuid'])
        self.assertNotEqual(first['uuid'], second['uuid'])
        self.assertGreaterEqual(second['created_at'], first['expires_at'])

    def test_waiting_ends(self):
        """With the reasons."""
        node, = self.nodes()
        self.json_of('baremetal', 'reservation', 'create', node.name)
        refused = self.command('baremetal', 'reservation', 'create',
                               node.name, '--wait', '1', status=1)
        self.assertIn(f'node {node.name} ({node.uuid}): is reserved',
                      refused.stderr)

    def test_an_instance_has_one_reservation(self):
        """A script that runs again gets what it had."""
        node, other = self.nodes(2)
        instance = str(uuid.uuid4())
        made = [self.json_of('baremetal', 'reservation', 'create', each,
                             '--instance', instance)['uuid']
                for each in (node.name, other.name)]
        self.assertEqual(made[0], made[1])

    def test_pages_and_order(self):
        """All of them with --limit 0, in the order asked for."""
        for node in self.nodes(3):
            self.json_of('baremetal', 'reservation', 'create', node.uuid)
        listed = ('baremetal', 'reservation', 'list', '--sort', 'uuid:desc')
        rows = self.json_of(*listed, '--limit', '0', '--long')
        uuids = [row['uuid'] for row in rows]
        self.assertEqual(sorted(uuids, reverse=True), uuids)
        self.assertGreaterEqual(len(uuids), 3)
        page = self.json_of(*listed, '--limit', '1', '--marker', uuids[0])
        self.assertEqual(uuids[1:2], [row['uuid'] for row in page])

    def test_what_is_wrong_is_said(self):
        """A node that is not there, and times that cannot be."""
        self.refused('no-such-node', 'baremetal', 'reservation', 'create',
                     'no-such-node')
        node, = self.nodes()
        past = self.command(
            'baremetal', 'reservation', 'create', node.name, '--expires-at',
            '2001-01-01T00:00:00Z', status=1)
        self.assertIn('[request.invalid_value] (HTTP 400)', past.stderr)
        self.assertNotIn('Traceback', past.stderr)

    def test_endpoint_alone_is_not_enough(self):
        """Troubleshooting explains the error that one gets then."""
        page = ' '.join((base.ROOT / 'doc' / 'source' / 'user'
                         / 'troubleshooting.rst').read_text().split())
        self.environment = {
            name: value for name, value in self.environment.items()
            if name != 'OS_AUTH_TYPE'}
        for name, told in (
                ('baremetal', 'Auth plugin requires parameters which were not '
                              'given: auth_url'),
                ('openstack', 'Missing value auth-url required for auth '
                              'plugin password')):
            words = () if name == 'baremetal' else ('baremetal',)
            self.refused(told, name, *words, 'reservation', 'list')
            self.assertIn(f'*{told}*', page)
