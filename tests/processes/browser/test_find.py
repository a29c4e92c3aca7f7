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
import json
import re
import zoneinfo

from playwright import sync_api

from tests.processes.browser import base

expect = sync_api.expect
_BERLIN = zoneinfo.ZoneInfo('Europe/Berlin')


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
        self.says('.slots h3 >> nth=0', 'earliest')
        self.check_accessible()
        self.slots.first.click()
        self.titled('lease')
        lease = self.service.leases()['lease']
        start, end = base.window_of(lease)
        self.assertEqual(base.window_of(self.taken)[1], start)
        self.assertEqual(datetime.timedelta(days=1), end - start)
        self.assertEqual(2, len(lease['reservations'][0]['nodes']))

    def test_buttons_say_what_they_book(self):
        """The number, the class, the length, the dates and the name."""
        self.open()
        self.find(1, 1)
        expect(self.slots.first).to_contain_text(
            '1 host of gold for 1 d, as “lease”')
        self.page.fill('#find-hosts', '2')
        self.page.fill('#find-length', '3')
        self.page.fill('#find-name', 'training')
        expect(self.slots.first).to_contain_text(
            '2 hosts of gold for 3 d, as “training”')
        self.check_accessible()
        dates = self.slots.first.get_attribute('title')
        self.slots.first.click()
        self.titled('training')
        lease = self.service.leases()['training']
        start, end = base.window_of(lease)
        self.assertEqual(datetime.timedelta(days=3), end - start)
        self.assertEqual(f'{start:%Y-%m-%d %H:%M} UTC – '
                         f'{end:%Y-%m-%d %H:%M} UTC', dates)
        self.assertEqual(2, len(lease['reservations'][0]['nodes']))

    def test_properties(self):
        """They are typed as for the commands, and booked with the slot."""
        self.open()
        self.find(1, 1)
        self.page.get_by_text('Properties of the hosts').click()
        self.says('#find-properties-note', 'vcpus, memory_mb, local_gb')
        self.page.fill('#find-properties', 'vcpus>')
        self.says('.slots', 'type it like vcpus>=32, rack=r1')
        self.page.fill('#find-properties', 'vcpus>=9999')
        self.says('.slots', '1 host of gold with vcpus>=9999 is not free')
        self.page.fill('#find-properties',
                       'resource_class=gold, resource_class != x')
        expect(self.slots.first).to_contain_text(
            '1 host of gold with resource_class=gold, '
            'resource_class != x for 1 d')
        self.check_accessible()
        expect(self.colleague().locator('#find-properties')).to_have_value(
            'resource_class=gold, resource_class != x')
        self.slots.first.click()
        self.titled('lease')
        part, = self.service.leases()['lease']['reservations']
        self.assertEqual(
            ['and', ['==', '$resource_class', 'gold'],
             ['==', '$resource_class', 'gold'],
             ['!=', '$resource_class', 'x']],
            json.loads(part['resource_properties']))

    def test_range_of_hosts_is_booked(self):
        """The slots are those of the smaller number."""
        self.service.lease(36, 60, name='others', hosts=1)
        self.open()
        self.find(2, 1)
        self.page.fill('#find-most', '1')
        self.says('.slots', 'The larger number of hosts comes second')
        self.page.fill('#find-most', '3')
        expect(self.slots.first).to_contain_text(
            '2 to 3 hosts of gold for 1 d, as “lease”')
        self.check_accessible()
        expect(self.colleague().locator('#find-most')).to_have_value('3')
        self.slots.first.click()
        self.titled('lease')
        part, = self.service.leases()['lease']['reservations']
        self.assertEqual((2, 3), (part['min'], part['max']))

    def test_dates_are_left_open(self):
        """The window of the search is booked, and the keyboard does it."""
        self.open()
        self.find(2, 1)
        self.page.fill('#find-name', 'anytime')
        whole = self.page.locator('.slots > .offer')
        expect(whole).to_contain_text('2 hosts of gold for 1 d, as “anytime”')
        expect(whole).to_have_accessible_description(re.compile(
            'may move in that time to make room for others'))
        window = [self.page.locator(f'#find-{edge}').input_value()
                  for edge in ('start', 'end')]
        self.slots.nth(-2).focus()
        self.page.keyboard.press('Tab')
        expect(whole).to_be_focused()
        self.page.keyboard.press('Enter')
        self.titled('anytime')
        self.says('.summary', 'Its dates are open: it may move between')
        lease = self.service.leases()['anytime']
        start, end = base.window_of(lease)
        self.assertEqual(datetime.timedelta(days=1), end - start)
        self.assertGreaterEqual(start, base.window_of(self.taken)[1])
        local = [datetime.datetime.fromisoformat(each).replace(
            tzinfo=datetime.UTC).astimezone(_BERLIN)
            for each in lease['between']]
        self.assertEqual(window[1], f'{local[1]:%Y-%m-%dT%H:%M}')
        self.assertLessEqual(f'{local[0]:%Y-%m-%dT%H:%M}', window[0])

    def test_narrow_window(self):
        """Nothing is beside it, and nothing is cut off."""
        self.page.set_viewport_size({'width': 390, 'height': 780})
        self.open()
        self.find(1, 1)
        self.page.fill('#find-most', '2')
        expect(self.slots.last).to_contain_text('1 to 2 hosts of gold')
        self.assert_nothing_beside()
        self.check_accessible()

    def test_list_follows_the_form(self):
        """No slot stays that is not of the form."""
        self.open()
        self.find(1, 1)
        expect(self.slots.first).to_be_visible()
        held = []

        def hold(route):
            held.append(route)
        self.page.route('**/api/v1/availability?**', hold)
        self.page.fill('#find-hosts', '2')
        expect(self.slots).to_have_count(0)
        self.says('.slots', 'Looking')
        self.page.fill('#find-hosts', '')
        self.says('.slots', 'Type how many hosts')
        expect(self.slots).to_have_count(0)
        # NOTE: without the route, the browser continues them by itself.
        for each in held:
            each.continue_()
        self.page.unroute('**/api/v1/availability?**')
        self.page.fill('#find-hosts', '3')
        expect(self.slots.first).to_contain_text('3 hosts of gold for 1 d')

    def test_jumps_to_what_was_booked(self):
        self.open(**self.window(0, 12))
        self.find(1, 1)
        expect(self.slots.first).to_be_visible()
        self.slots.first.click()
        self.titled('lease')
        lease = self.service.leases()['lease']
        start, _ = base.window_of(lease)
        self.assert_in_view(start)
        self.open(self.page, **self.window(-12, 0), lease=lease['id'])
        self.press('Show on the timeline')
        self.assert_in_view(start)

    def assert_in_view(self, time):
        """Wait until a time is in the window of 12 hours that is shown."""
        start = 'Date.parse(new URLSearchParams(location.search).get("from"))'
        since = f'({int(time.timestamp() * 1000)} - {start})'
        self.wait_until(f'0 < {since} && {since} < 12 * 3600000')

    def test_colleague_sees_the_same_search(self):
        self.open()
        self.find(2, 3)
        self.page.fill('#find-name', 'training')
        expect(self.slots.first).to_contain_text(
            '2 hosts of gold for 3 d, as “training”')
        said = self.slots.first.inner_text()
        colleague = self.colleague()
        for field, value in (('hosts', '2'), ('length', '3'),
                             ('name', 'training')):
            expect(colleague.locator(f'#find-{field}')).to_have_value(value)
        self.assertEqual(
            said, colleague.locator('.slots .offer').first.inner_text())

    def test_there_is_none(self):
        self.open()
        self.find(4, 1)
        self.says('.slots', 'There is no such slot: gold has 3 hosts in all.')
        self.says('.slots', 'Try fewer hosts')
        self.check_accessible()
