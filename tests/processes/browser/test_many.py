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


"""More hosts and leases than the service sends at once."""

from __future__ import annotations

from playwright import sync_api

from tests.processes.browser import base

expect = sync_api.expect


class ManyTestCase(base.BrowserCase):
    """Ten hosts, of which each answer has at most four."""

    hosts = {'gold': 10}

    @classmethod
    def serve(cls):
        """Start a service that sends four of a kind at a time."""
        return base.Service(cls.hosts, reservations={
            'api': {'max_limit': '4'}})

    def test_each_host_has_one_row(self):
        self.open(open='gold')
        for number in range(10):
            expect(self.row(f'gold-{number}')).to_have_count(1)
        expect(self.page.locator('.host-row')).to_have_count(10)
        expect(self.page.locator('#spacer')).to_have_attribute(
            'aria-rowcount', '11')
        # After a change, each is where it was.
        name = self.host_of(self.service.lease(2, 12, name='training'))
        expect(self.row(name).locator('.said')).to_contain_text('training')
        expect(self.page.locator('.host-row')).to_have_count(10)

    def test_all_leases_are_listed(self):
        for number in range(9):
            self.service.lease(2, 12, name=f'lease {number}')
        self.open(leases='')
        listed = self.page.locator('.lease-list .offer strong')
        expect(listed).to_have_count(9)
        self.assertEqual({f'lease {number}' for number in range(9)},
                         set(listed.all_inner_texts()))
