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

"""``baremetal reservation deploy`` of a lease, against a real Ironic."""

import datetime
import json
from typing import Any
import uuid

from tests.inprocess.client import base

RESERVATION, LEASE = base.RESERVATION, base.LEASE
IMAGE = 'http://images.example.org/root.img'


class LeaseDeployTest(base.LeaseTestCase):
    """A lease that has started, and one that has not."""

    def setUp(self) -> None:
        """Lease two nodes, and wait for the start."""
        super().setUp()
        made = self.json_of(*LEASE, 'create', self.name, '--hosts', '2',
                            '--duration', '1h', *self.of_kind)
        self.made = made
        self.lease_id = made['id']
        self.part = made['reservations'][0]['id']
        self.command(*LEASE, 'plan', self.name, '--wait', '120')

    def _info(self, uuid: str) -> dict[str, Any]:
        node: dict[str, Any] = self.ironic.session.get(
            f'{self.ironic.url}/v1/nodes/{uuid}',
            headers={'X-OpenStack-Ironic-API-Version': 'latest'}).json()
        info: dict[str, Any] = node['instance_info']
        return info

    def test_lease_lasts_as_long_as_was_asked(self) -> None:
        """Its end was of the client's clock, up to a second too early."""
        start, end = (datetime.datetime.fromisoformat(self.made[name])
                      for name in ('start_date', 'end_date'))
        self.assertEqual(datetime.timedelta(hours=1), end - start)

    def test_all_nodes_of_a_lease_are_deployed(self) -> None:
        """By its name, with an image; again, and by its other identifiers."""
        names = {node.name for node in self.enrolled}
        for ident in (self.name, self.lease_id, self.part):
            refused = self.command(*RESERVATION, 'deploy', ident, status=1)
            self.assertEqual('', refused.stdout)
            self.assertIn('has 2 nodes: ', refused.stderr)
            self.assertIn('Use --all to deploy all of them', refused.stderr)
        done = self.command(
            *RESERVATION, 'deploy', self.name, '--all', '--image', IMAGE,
            '--image-checksum', 'd41d8', '--instance-info',
            f'kernel={IMAGE}.kernel', '--wait', '120')
        for node in self.enrolled:
            self.assertEqual('active', self.provision_state(node))
            self.assertIn(f'{node.name}: active\n', done.stderr)
            self.assertIn(f'{node.name} ({node.uuid}) active', done.stdout)
            info = self._info(node.uuid)
            self.assertEqual(
                (IMAGE, 'd41d8', f'{IMAGE}.kernel'),
                (info['image_source'], info['image_checksum'],
                 info['kernel']))
        for ident in (self.lease_id, self.part):
            shown = self.json_of('openstack', *RESERVATION, 'deploy', ident,
                                 '--all', '--wait', '120')
            self.assertEqual((self.lease_id, self.name),
                             (shown['lease_id'], shown['lease_name']))
            self.assertEqual(
                {(name, 'active') for name in names},
                {(each['name'], each['provision_state'])
                 for each in shown['nodes']})

    def test_one_node_of_a_lease(self) -> None:
        """It is named; another one is not of the lease, and is told so."""
        first, second = self.enrolled
        other, = self.nodes()
        shown = self.json_of(*RESERVATION, 'deploy', self.name, '--node',
                             first.name, '--wait', '120')
        self.assertEqual([(first.uuid, 'active')], [
            (each['uuid'], each['provision_state'])
            for each in shown['nodes']])
        self.assertEqual('available', self.provision_state(second))
        self.refused(f'Node {other.name} does not belong to the lease '
                     f'{self.name}', *RESERVATION, 'deploy', self.part,
                     '--node', other.name)

    def test_a_failure_is_told_node_by_node(self) -> None:
        """The others are deployed; the status is that of a failure."""
        first, second = self.enrolled
        self.command('baremetal', 'node', 'maintenance', 'set', first.uuid)
        failed = self.command(*RESERVATION, 'deploy', self.name, '--all',
                              '--wait', '120', status=1)
        self.assertIn('1 node of 2 of the lease', failed.stderr)
        self.assertIn(f'not deployed: {first.name}.', failed.stderr)
        self.assertEqual(1, failed.stderr.count(f'{first.name}: '))
        programs = self.command(*RESERVATION, 'deploy', self.name, '--all',
                                '--wait', '120', '-f', 'json', status=1)
        self.assertIn('maintenance mode',
                      json.loads(programs.stdout)['error']['detail'])
        self.assertEqual('active', self.provision_state(second))
        self.command('baremetal', 'node', 'maintenance', 'unset', first.uuid)

    def test_nothing_to_deploy(self) -> None:
        """A lease that has not started, one that is over, and none at all."""
        later = f'{self.name}-later'
        made = self.json_of(
            *LEASE, 'create', later, '--start-date', '2050-02-01 10:00',
            '--duration', '2h', *self.of_kind)
        for ident in (later, made['id'], made['reservations'][0]['id']):
            self.refused(f'The lease {later} ({made["id"]}) has not started: '
                         'it is PENDING, and starts at 2050-02-01',
                         *RESERVATION, 'deploy', ident, '--all')
        nobody = str(uuid.uuid4())
        self.refused('There is no reservation and no lease '
                     f'{nobody} that you may see.',
                     *RESERVATION, 'deploy', nobody)
        self.refused('There is no reservation and no lease nothing that you '
                     'may see',
                     *RESERVATION, 'deploy', 'nothing')
        self.command(*LEASE, 'set', self.name, '--end-date', 'now', '--wait',
                     '120')
        self.refused(f'The lease {self.name} ({self.lease_id}) is over',
                     *RESERVATION, 'deploy', self.lease_id)
