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

"""The demonstration of a lease goes as it says, on a real Ironic."""

from __future__ import annotations

import contextlib
import io
import re

import fixtures
import testtools
from testtools import content
from testtools import content_type

from tests.real import ironic as real_ironic
from tools import lease_story
from tools import placement
from tools import story


class LeaseStoryTest(testtools.TestCase):
    """It checks each of its steps itself."""

    def test_booked_started_deployed_extended_ended(self):
        """In the end nobody holds the nodes, and one lease is left.

        While it lives, they are held in Placement, too.
        """
        there = self.enterContext(placement.Service(
            self.useFixture(fixtures.TempDir()).path))
        ironic = self.useFixture(real_ironic.RealIronic(
            reservations={'ironic': {'poll_interval': 1}, 'placement': {
                'enabled': True, 'endpoint_override': there.url}}))
        nodes = ironic.enroll(3, prefix=lease_story.CLASS,
                              resource_class=lease_story.CLASS)
        with placement.session() as asking:
            placement.provide(asking, there.url,
                              [node.uuid for node in nodes],
                              lease_story.CLASS)
        told = story.Story(ironic.url, ironic.session, there.url)
        with contextlib.redirect_stdout(io.StringIO()) as out:
            self.addDetail('told', content.Content(
                content_type.UTF8_TEXT, lambda: [out.getvalue().encode()]))
            lease_story.tell(told, nodes)
        self.assertIn('Taking the offer [later].', out.getvalue())
        self.assertEqual(2, out.getvalue().count('BAREMETAL_RESERVATION'))
        self.assertEqual(2, len(re.findall(r'allocations +\| {}',
                                           out.getvalue())))
        self.assertEqual(
            [('rush', 'PENDING'), ('training', 'TERMINATED')],
            sorted((each['name'], each['status'])
                   for each in told.ask('/v1/leases')['leases']))
