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

"""Classes for old instances, where Ironic is a real one."""

import json
import time

from tests import world
from tests.inprocess.placement import commanded
from tests.inprocess.placement import of_old_sizes
from tests.real import ironic

#: What takes so long hangs, also on a machine that has other things to do.
_WAIT = 240


class TestRealIronic(commanded.Commanded, of_old_sizes.TestCase):

    action = 'heal'

    def setUp(self) -> None:
        super().setUp()
        self.ironic = self.useFixture(ironic.RealIronic(middleware=False))
        self.configure(self.there.endpoint, '[ironic]', 'auth_type = none',
                       f'endpoint_override = {self.ironic.url}')

    def heal_by_command(self, *words: str) -> tuple[int, dict[str, object]]:
        status, said, _ = self.command('-f', 'json', *words)
        return status, json.loads(said)

    def deploy(self, node: str, instance: str) -> None:
        """Put an instance on a node, and wait until it runs."""
        url = f'{self.ironic.url}/v1/nodes/{node}'
        headers = {'X-OpenStack-Ironic-API-Version': '1.80'}
        session = self.ironic.session
        session.patch(url, headers=headers, json=[
            {'op': 'add', 'path': '/instance_uuid', 'value': instance}
        ]).raise_for_status()
        session.put(f'{url}/states/provision', headers=headers,
                    json={'target': 'active'}).raise_for_status()
        deadline = time.monotonic() + _WAIT
        while session.get(url, headers=headers).json()[
                'provision_state'] != 'active':
            self.assertLess(time.monotonic(), deadline)
            time.sleep(.1)

    def test_instance_that_ironic_has_deployed_gets_the_class(self) -> None:
        used, free = self.ironic.enroll(2, resource_class='gold')
        instance = world.new_uuid()
        for node in (used, free):
            self.client.create_provider(node.uuid, node.uuid)
            self.nodes.offer(node.uuid, of_old_sizes.sizes())
        self.give(instance, {used.uuid: of_old_sizes.OLD})
        self.deploy(used.uuid, instance)
        status, told = self.heal_by_command()
        self.assertEqual((1, {'to heal': 1, 'fine': 1, 'healed': 0,
                              'left': 0}), (status, told['counts']))
        status, told = self.heal_by_command('--apply', '--node', used.name)
        self.assertEqual((0, 1), (status, told['counts']['healed']), told)
        self.assert_healed(used.uuid, instance)
        self.assertEqual(0, self.heal_by_command()[0])
