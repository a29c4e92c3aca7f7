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


"""Somebody looks for a time: so many hosts, for so long, some time soon."""

from __future__ import annotations

import datetime

from playwright import sync_api

from tests.processes.browser import base

expect = sync_api.expect


class FindTestCase(base.BrowserCase):
    """Three gold hosts, all taken for a while."""

    def setUp(self):
        super().setUp()
        self.taken = self.service.lease(1, 30, name='taken', hosts=3)
        self.slots = self.page.locator('.slots .offer')

    def find(self, hosts, days):
        """Ask for hosts of gold."""
        self.page.keyboard.press('f')
        expect(self.page.locator('#find-hosts')).to_be_focused()
        self.page.fill('#find-hosts', str(hosts))
        self.page.fill('#find-length', str(days))
        self.page.get_by_role('button', name='Find slots').last.click()

    def test_a_slot_is_booked(self):
        self.open()
        self.find(2, 1)
        self.says('.slots h3', 'earliest')
        self.check_accessible()
        self.slots.first.click()
        self.titled('lease')
        lease = self.service.leases()['lease']
        start, end = (datetime.datetime.fromisoformat(lease[key])
                      for key in ('start_date', 'end_date'))
        self.assertEqual(
            datetime.datetime.fromisoformat(self.taken['end_date']), start)
        self.assertEqual(datetime.timedelta(days=1), end - start)
        self.assertEqual(2, len(lease['reservations'][0]['nodes']))

    def test_colleague_sees_the_same_search(self):
        self.open()
        self.find(2, 3)
        expect(self.slots.first).to_be_visible()
        said = self.slots.first.inner_text()
        colleague = self.someone()
        colleague.goto(self.page.url)
        expect(colleague.locator('#find-hosts')).to_have_value('2')
        expect(colleague.locator('#find-length')).to_have_value('3')
        self.assertEqual(
            said, colleague.locator('.slots .offer').first.inner_text())

    def test_there_is_none(self):
        self.open()
        self.find(4, 1)
        self.says('.slots', 'There is no such slot: gold has 3 hosts in all.')
        self.says('.slots', 'Try fewer hosts')
        self.check_accessible()
