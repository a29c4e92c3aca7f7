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

"""Tools that know nothing of leases deploy the nodes of one, unmodified."""

from __future__ import annotations

from tests.stack import base
from tools.stack import cloud

#: Nobody fetches it: the hardware is fake.
_IMAGE = ('--image', 'http://images.invalid/debian.img', '--image-checksum',
          'd41d8cd98f00b204e9800998ecf8427e', '--root-size', '10')


class TestOtherTools(base.TestCase):

    def metalsmith(self, *arguments: str) -> str:
        """Run metalsmith as an administrator of a project."""
        return self.cloud.run_command(base.ADMIN, 'metalsmith', *arguments)

    def test_metalsmith(self) -> None:
        self.open_hosts(*self.nodes)
        lease = self.lease(self.hosts(2), person=base.ADMIN)
        node, other = self.nodes_of(lease)
        made = self.metalsmith(
            'deploy', '--resource-class', cloud.RESOURCE_CLASS,
            '--candidate', node, '--hostname', 'one', '--wait',
            str(base.SERVER_TIMEOUT), *_IMAGE)
        self.assertIn(node, made)
        self.assertEqual(['active', 'available'], [
            self.node(each)['provision_state'] for each in (node, other)])
        self.metalsmith('undeploy', '--wait', str(base.SERVER_TIMEOUT), 'one')
        self.ended(lease, base.ADMIN)
        for each in (node, other):
            self.assert_free(each)
