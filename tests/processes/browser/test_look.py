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


"""Somebody looks at what is free, and at who has what."""

from __future__ import annotations

import datetime
import urllib.parse

from playwright import sync_api

from tests.processes.browser import base

expect = sync_api.expect
_HOSTILE = '<img src=x onerror=document.title="owned">'


class LookTestCase(base.BrowserCase):
    """The classes, their hosts, and the window of time."""

    hosts = {'gold': 3, 'silver': 2}

    def test_classes_with_what_is_free(self):
        self.service.lease(0, 30, hosts=2)
        self.open()
        expect(self.row('gold')).to_contain_text('1 of 3 free')
        expect(self.row('silver')).to_contain_text('2 of 2 free')
        said = self.row('gold').locator('.said')
        expect(said).to_contain_text('1 free from')
        expect(said).to_contain_text('3 free from')
        self.check_accessible()

    def test_how_much_of_all_classes_is_taken(self):
        """Two of five hosts, for half of what is shown of the future."""
        self.service.lease(0, 12, hosts=2)
        self.open(**self.window(-4, 24))
        total = self.page.locator('#total')
        expect(total).to_contain_text('3 of 5 free')
        expect(total).to_contain_text('20 % taken in view')
        self.open(**self.window(-4, 10))
        expect(total).to_contain_text('40 % taken in view')
        self.open(**self.window(10, 14))
        expect(total).to_contain_text('3 of 5 free')
        self.open(**self.window(-10, -4))
        expect(total).not_to_contain_text('taken')
        self.check_accessible()

    def test_free_hosts_of_all_classes_follow_the_clock(self):
        """A page that nothing was news to said what had been free before."""
        self.service.lease(2, 12, hosts=2)
        self.page.clock.install()
        self.open(**self.window(-4, 24))
        total = self.page.locator('#total')
        expect(total).to_contain_text('5 of 5 free')
        self.page.clock.fast_forward('03:00:00')
        expect(total).to_contain_text('3 of 5 free')

    def test_labels_of_the_axis_are_not_cut(self):
        """Neither by the left edge nor by the right one."""
        self.open(range=7)
        cut = self.page.evaluate('''() => {
            const canvas = document.querySelector('#plot canvas');
            const ratio = canvas.width / canvas.clientWidth;
            const labels = document.querySelector(
              '.class-row').clientWidth;
            const inked = (left, right) => {
              const {data, width} = canvas.getContext('2d').getImageData(
                left * ratio, 0, (right - left) * ratio, 36 * ratio);
              return data.some((each, at) => at % 4 === 3 && each > 0);
            };
            return [inked(0, labels - 1),
                    inked(canvas.clientWidth - 2, canvas.clientWidth)];
          }''')
        self.assertEqual([False, False], cut)

    def test_class_opens_into_its_hosts(self):
        self.service.lease(2, 30, name='training', hosts=2)
        self.open()
        self.row('gold').locator('.name').click()
        expect(self.row('gold-0')).to_be_visible()
        self.press('Close gold')
        expect(self.row('gold-0')).to_have_count(0)
        # On the curve, too.
        self.page.mouse.click(900, self.y('gold'))
        for name in ('gold-0', 'gold-1', 'gold-2'):
            expect(self.row(name)).to_be_visible()
        expect(self.page.locator('.host-row .said').filter(
            has_text='of your lease training')).to_have_count(2)
        self.assertIn('open=gold', self.page.url)
        self.check_accessible()

    def test_keys_are_about_the_row_that_was_clicked(self):
        """Of its curve or its name; each row takes the focus at once."""
        self.open()
        self.row('silver').focus()
        expect(self.row('silver')).to_be_focused()
        chosen = self.page.locator('#book-class')
        for click in (
                lambda: self.page.mouse.click(self.x(60), self.y('silver')),
                lambda: self.row('silver').locator('.name').click()):
            self.open(**self.window(-4, 120))
            click()
            expect(self.row('silver-0')).to_be_visible()
            self.page.keyboard.press('b')
            expect(chosen).to_have_value('silver')

    def test_url_is_the_state(self):
        """A colleague who gets the URL sees the same."""
        self.service.lease(2, 30, name='training')
        self.open(range=30, open='gold')
        self.press('Later')
        period = self.page.locator('#period').inner_text()
        colleague = self.colleague()
        expect(colleague.locator('#period')).to_have_text(period)
        expect(self.row('gold-0', colleague)).to_be_visible()

    def test_later_and_earlier_move_by_what_is_shown(self):
        """The next period begins where the one that is shown ends."""
        # All of the same minute.
        earlier, shown, later = (self.window(start, start + 36)
                                 for start in (-36, 0, 36))
        self.open(**shown)
        self.press('Later')
        self.wait_until(self.showing(later))
        self.page.keyboard.press('Shift+ArrowLeft')
        self.press('Earlier')
        self.wait_until(self.showing(earlier))

    def showing(self, window):
        """Return an expression: whether the address has a window."""
        return ' && '.join(
            f'new URLSearchParams(location.search).get("{key}") === "{value}"'
            for key, value in window.items())

    def test_weeks_begin_at_midnight_where_the_clock_changes(self):
        """In Berlin, the 31st of March 2030 has 23 hours."""
        self.open(**{'from': '2030-03-26T23:00:00Z',
                     'to': '2030-04-02T22:00:00Z'})
        for button, start, end in (
                ('Later', '2030-04-02T22:00:00Z', '2030-04-09T22:00:00Z'),
                ('Earlier', '2030-03-26T23:00:00Z', '2030-04-02T22:00:00Z'),
                ('Earlier', '2030-03-19T23:00:00Z', '2030-03-26T23:00:00Z')):
            self.press(button)
            self.wait_until(self.showing({'from': start, 'to': end}))

    def test_ranges_and_zoom(self):
        self.open()
        for days in (1, 30, 90, 7):
            button = self.page.locator(f'#range-{days}')
            button.click()
            expect(button).to_have_attribute('aria-pressed', 'true')
            self.assertIn(f'range={days}', self.page.url)
        period = self.page.locator('#period')
        before = period.inner_text()
        plot = self.page.locator('#plot').bounding_box()
        self.page.mouse.move(plot['x'] + 500, plot['y'] + 20)
        self.page.mouse.wheel(0, -600)
        expect(period).not_to_have_text(before)
        self.page.locator('#range-7').click()
        # On the axis, a drag selects the window to show.
        self.page.mouse.move(plot['x'] + 500, plot['y'] + 20)
        self.page.mouse.down()
        self.page.mouse.move(plot['x'] + 600, plot['y'] + 20, steps=4)
        self.page.mouse.up()
        expect(period).not_to_have_text(before)
        self.assertIn('from=', self.page.url)

    def test_zoomed_out_as_far_as_it_goes(self):
        """What is under the mouse stays there, and all of it is known."""
        self.service.lease(24 * 30, 24 * 300, name='long')
        self.open(**self.window(-4, 44), open='gold')
        plot = self.page.locator('#plot').bounding_box()
        x, time = self.x(20), base.minute(20)
        self.page.mouse.move(x, plot['y'] + 20)
        for _ in range(30):
            self.page.mouse.wheel(0, 600)
        expect(self.row('gold')).to_contain_text('down to 2')
        expect(self.page.locator('#connection')).to_be_hidden()
        expect(self.page.locator('.host-row .said').filter(
            has_text='your lease long')).to_have_count(1)
        asked = urllib.parse.parse_qs(urllib.parse.urlsplit(
            self.page.url).query)
        start, end = (datetime.datetime.fromisoformat(asked[key][0])
                      for key in ('from', 'to'))
        self.assertEqual(datetime.timedelta(days=365), end - start)
        left = self.page.locator('.class-row').first.bounding_box()['width']
        there = start + (end - start) * ((x - plot['x'] - left)
                                         / (plot['width'] - left))
        # A pixel is nine hours.
        self.assertLess(abs(there - time), datetime.timedelta(hours=18))

    def test_conditions_in_words(self):
        self.maintain_node('gold-0')
        self.open(open='gold')
        expect(self.row('gold-0')).to_contain_text('maintenance')
        legend = self.page.locator('#legend-list')
        for word in ('planned', 'bound', 'cleaning', 'maintenance', 'broken',
                     'closed'):
            expect(legend).to_contain_text(word)

    def test_maintenance_windows(self):
        """Planned or under way, with their reason for who may see it."""
        self.addCleanup(self.service.forget_maintenances)
        self.service.maintain('gold-0', 3, 9, 'firmware', 'New firmware')
        self.service.maintain('gold-1', 0, 5, _HOSTILE, 'Disks')
        self.open(open='gold', **self.window(-1, 23))
        for row, said in (
                ('gold-0', 'maintenance window, planned, from'),
                ('gold-0', ': firmware (New firmware)'),
                ('gold-1', 'maintenance window, under way, from'),
                ('gold-1', f': {_HOSTILE} (Disks)'), ('gold', '1 free from')):
            expect(self.row(row).locator('.said')).to_contain_text(said)
        expect(self.row('gold-2').locator('.said')).not_to_contain_text(
            'maintenance')
        tip = self.page.locator('#tip')
        self.page.mouse.move(self.x(6), self.y('gold-0'))
        expect(tip).to_contain_text('firmware (New firmware)')
        self.page.mouse.move(self.x(2), self.y('gold-0'))
        expect(tip).not_to_contain_text('maintenance')
        legend = self.page.locator('#legend-list')
        for word in ('maintenance window, planned',
                     'maintenance window, under way'):
            expect(legend).to_contain_text(word)
        # No two states look alike, whatever the colours.
        self.assertEqual(len(self.patterns()), len(set(self.patterns())))
        self.assertEqual(0, self.page.locator('img').count())
        self.check_accessible()

    def patterns(self):
        """Return what the legend draws, in black and white."""
        return self.page.evaluate('''() => [...document.querySelectorAll(
            '#legend-list canvas')].map((canvas) => {
              const {data} = canvas.getContext('2d').getImageData(
                0, 0, canvas.width, canvas.height);
              const light = [];
              for (let at = 0; at < data.length; at += 4) {
                const share = data[at + 3] / 255;
                light.push(255 - share * (255 - (
                  data[at] + data[at + 1] + data[at + 2]) / 3));
              }
              const middle = (Math.min(...light) + Math.max(...light)) / 2;
              return light.map((each) => (each < middle ? 1 : 0)).join('');
            })''')

    def test_names_are_text(self):
        """A name that is HTML is shown, not run."""
        lease = self.service.lease(2, 30, name=_HOSTILE)
        self.open(open='gold', lease=lease['id'])
        self.titled(_HOSTILE)
        self.page.locator('#leases').click()
        self.says('.lease-list', _HOSTILE)
        self.assertEqual('Reservations', self.page.title())
        self.assertEqual(0, self.page.locator('img').count())

    def test_what_others_do_shows_without_a_reload(self):
        """Within five seconds, by the clock of the page."""
        self.page.clock.install()
        # When the page began to wait for its next look, however long the
        # answers before take.
        self.page.add_init_script('''
            window.waitsSince = 0;
            const setTimeout = window.setTimeout;
            window.setTimeout = (call, ms, ...more) => {
              if (ms > 1000) {
                window.waitsSince = Date.now();
              }
              return setTimeout.call(window, call, ms, ...more);
            };''')
        self.open()
        expect(self.row('gold')).to_contain_text('3 of 3 free')
        self.wait_until('window.waitsSince > 0')
        self.page.clock.pause_at(base.minute(1))
        now = self.page.evaluate('Date.now()')
        self.wait_until(f'window.waitsSince >= {now}')
        self.service.lease(0, 30, hosts=2)
        self.page.clock.run_for(4000)
        self.wait_until(f'window.waitsSince >= {now + 4000}')
        self.page.clock.run_for(1000)
        expect(self.row('gold')).to_contain_text('1 of 3 free')

    def test_a_look_every_few_seconds(self):
        self.page.clock.install()
        self.open()
        self.page.clock.pause_at(base.minute(1))
        self.script('keepLooking', 'live', '''
            const start = performance.now();
            window.looks = [];
            keepLooking(async () => {
              window.looks.push(performance.now() - start);
              return window.looks.length !== 3;
            });''')
        self.page.clock.run_for(21000)
        # The third one was not answered.
        self.assertEqual([4000, 8000, 12000, 14000, 18000],
                         self.page.evaluate('window.looks'))


class NoClassTestCase(base.BrowserCase):
    """A host without a class, beside others."""

    def test_host_without_a_class(self):
        """Its row says so; nobody can ask for such hosts alone."""
        self.service.ask_ironic('PATCH', 'nodes/gold-2', [
            {'op': 'remove', 'path': '/resource_class'}])
        self.page.goto(self.service.page)
        row = self.row('no class')
        expect(row).to_contain_text('1 of 1 free')
        row.focus()
        self.page.keyboard.press('ArrowRight')
        expect(self.row('gold-2')).to_be_visible()
        row.focus()
        self.page.keyboard.press('b')
        self.says('.verdict', 'Possible: 1 host of any class')
        self.page.keyboard.press('Escape')
        self.page.keyboard.press('f')
        expect(self.page.locator('.slots .offer').first).to_be_visible()
        self.check_accessible()


class RacksTestCase(base.BrowserCase):
    """Hosts in racks, which the operator has named."""

    hosts = {'gold': 4, 'silver': 1}

    @classmethod
    def serve(cls):
        """Start a service with two racks of gold."""
        service = base.Service(cls.hosts, reservations={
            'api': {'calendar_rack_property': 'rack'}})
        for each in service.ask('GET', 'os-hosts')['hosts']:
            name = each['name']
            if name in ('gold-0', 'gold-1', 'gold-2'):
                service.ask('PUT', f'os-hosts/{each["id"]}', {
                    'rack': 'rack 10' if name == 'gold-0' else 'rack 9'})
        return service

    def test_class_opens_into_racks_and_they_into_hosts(self):
        self.open()
        self.row('gold').locator('.name').click()
        racks = self.page.locator('.rack-row .name')
        expect(racks).to_have_text(['rack 9', 'rack 10', 'no rack'])
        expect(self.page.locator('.host-row')).to_have_count(0)
        expect(self.row('rack 9')).to_contain_text('2 of 2 free')
        self.press('Open rack 9')
        for name in ('gold-1', 'gold-2'):
            expect(self.row(name)).to_be_visible()
        expect(self.page.locator('.host-row')).to_have_count(2)
        self.check_accessible()
        # On the curve, and whoever gets the URL sees the same.
        self.page.mouse.click(900, self.y('rack 10'))
        expect(self.row('gold-0')).to_be_visible()
        colleague = self.colleague()
        for name in ('gold-0', 'gold-1', 'gold-2'):
            expect(self.row(name, colleague)).to_be_visible()
        self.page.mouse.move(900, self.y('rack 9'))
        self.says('#tip', '2 of 2 free')
        # A class that closes takes its racks along.
        self.press('Close gold')
        expect(racks).to_have_count(0)
        self.row('gold').locator('.name').click()
        expect(racks).to_have_count(3)
        expect(self.page.locator('.host-row')).to_have_count(0)

    def test_rack_has_a_curve_of_its_own_that_is_live(self):
        self.open(open='gold')
        expect(self.row('rack 10')).to_contain_text('1 of 1 free')
        self.service.ask('POST', 'leases', {
            'name': 'lease', 'start_date': 'now', 'events': [],
            'end_date': base.written(base.minute(30)), 'reservations': [{
                'resource_type': 'physical:host', 'min': 1, 'max': 1,
                'hypervisor_properties': '',
                'resource_properties': '["==", "$rack", "rack 10"]'}]})
        expect(self.row('rack 10')).to_contain_text('0 of 1 free')
        expect(self.row('rack 9')).to_contain_text('2 of 2 free')
        expect(self.row('gold')).to_contain_text('3 of 4 free')

    def test_booking_over_a_rack(self):
        """Hosts of the rack, unless somebody says any; so does the URL."""
        self.open(open='gold', **self.window(-4, 44))
        expect(self.row('rack 9')).to_be_visible()
        verdict = self.page.locator('.verdict')
        self.drag('gold', 6, 12)
        expect(verdict).to_contain_text('Possible')
        only = self.page.get_by_label('Only hosts of the rack')
        expect(only).to_have_count(0)
        self.page.keyboard.press('Escape')
        expect(self.page.locator('#panel')).to_be_hidden()
        self.drag('rack 9', 6, 12)
        expect(only).to_be_checked()
        self.page.fill('#book-hosts', '3')
        expect(verdict).to_contain_text('Not enough hosts')
        self.check_accessible()
        colleague = self.colleague()
        expect(colleague.get_by_label('Only hosts of the rack rack 9')
               ).to_be_checked()
        self.says('.verdict', 'Not enough hosts', colleague)
        only.uncheck()
        expect(verdict).to_contain_text('Possible')
        only.check()
        self.page.fill('#book-hosts', '2')
        expect(verdict).to_contain_text('Possible')
        self.press('Book', '.booking')
        self.titled('lease')
        names = {self.service.ask_ironic('GET', f'nodes/{each["uuid"]}')[
            'name'] for each in self.service.leases()['lease'][
                'reservations'][0]['nodes']}
        self.assertEqual({'gold-1', 'gold-2'}, names)

    def test_hosts_without_a_rack_cannot_be_asked_for(self):
        """The form says that those of other racks are booked, too."""
        self.open(open='gold', **self.window(-4, 44))
        expect(self.row('no rack')).to_be_visible()
        self.drag('no rack', 6, 12)
        self.says('#book-rack', 'not only of those without one')

    def test_keys_go_in_and_out(self):
        self.open()
        self.row('gold').focus()
        keys = self.page.keyboard
        keys.press('ArrowRight')
        expect(self.row('rack 9')).to_be_visible()
        for _ in range(2):
            keys.press('ArrowDown')
        expect(self.row('rack 10')).to_be_focused()
        keys.press('Enter')
        expect(self.row('gold-0')).to_be_visible()
        keys.press('ArrowDown')
        expect(self.row('gold-0')).to_be_focused()
        for where in ('rack 10', 'rack 10', 'gold'):
            keys.press('ArrowLeft')
            expect(self.row(where)).to_be_focused()
        expect(self.row('gold-0')).to_have_count(0)

    def test_class_without_racks_opens_into_its_hosts(self):
        self.open(open='silver')
        expect(self.row('silver-0')).to_be_visible()
        expect(self.page.locator('.rack-row')).to_have_count(0)
