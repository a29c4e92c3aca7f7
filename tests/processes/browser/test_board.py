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


"""What is drawn, read from the pixels of the board."""

from __future__ import annotations

import collections
import time

from playwright import sync_api
from testtools import matchers

from tests.processes.browser import base

expect = sync_api.expect
#: In seconds.
_PATIENCE = 240
_PIXELS = '''([x, y, width, height]) => {
  const canvas = document.querySelector('#plot canvas');
  const box = canvas.getBoundingClientRect();
  const {data} = canvas.getContext('2d').getImageData(
    Math.round(x - box.left), Math.round(y - box.top), Math.round(width),
    height);
  return Array.from({length: data.length / 4},
                    (_, at) => [...data.slice(4 * at, 4 * at + 3)]);
}'''


def _luminance(colour):
    """Return the relative luminance of WCAG."""
    red, green, blue = (
        share / 12.92 if share <= 0.04045 else ((share + 0.055) / 1.055) ** 2.4
        for share in (value / 255 for value in colour))
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def _contrast(pixels):
    """Return the contrast of the lightest and the darkest pixel."""
    found = [_luminance(each) for each in pixels]
    return (max(found) + 0.05) / (min(found) + 0.05)


def _near(one, two):
    return all(abs(each - other) < 60
               for each, other in zip(one, two, strict=True))


def _is_red(colour):
    red, green, blue = colour
    return red > 150 and green < 100 and blue < 100


class BoardTestCase(base.BrowserCase):
    """Three gold hosts over two days."""

    def pixels(self, name, start, end, below=-6, height=12):
        """Return the pixels of a part of a row.

        :param start: in hours from now.
        :param below: how far below the middle of the row.
        """
        x = self.x(start)
        return [tuple(each) for each in self.page.evaluate(_PIXELS, [
            x, self.y(name) + below, max(1, self.x(end) - x), height])]

    def see(self, is_so, *part, **more):
        """Wait until a part of a row is drawn so."""
        deadline = time.monotonic() + _PATIENCE
        while not is_so(found := self.pixels(*part, **more)):
            assert time.monotonic() < deadline, collections.Counter(
                found).most_common(8)
            self.page.wait_for_timeout(100)

    def shade(self, name):
        """Return a colour of the style sheet."""
        found = self.page.evaluate(
            '(name) => getComputedStyle(document.documentElement)'
            '.getPropertyValue(`--${name}`)', name).strip()
        return tuple(bytes.fromhex(found[1:]))

    def test_planned_is_hatched_and_bound_is_solid(self):
        bound = self.host_of(self.service.lease(0, 10, name='a'))
        planned = self.host_of(self.service.lease(14, 30, name='b'))
        self.open_days(open='gold')
        expect(self.row(bound).locator('.said')).to_contain_text(
            'bound from', timeout=_PATIENCE * 1000)
        ground = self.shade('ground')
        self.see(lambda found: len(set(found)) == 1 and found[0] != ground,
                 bound, 6, 9)
        self.see(lambda found: 0.1 < sum(
            _contrast([each, ground]) > 3 for each in found) / len(found)
            < 0.9, planned, 20, 28)

    def test_now_and_the_curve(self):
        self.service.lease(10, 20)
        self.open_days(open='gold')
        free = self.row('gold')
        expect(free.locator('.said')).to_contain_text('2 free')
        now = self.shade('now')
        self.see(lambda found: any(_near(each, now) for each in found),
                 'gold-2', -0.3, 0.3)
        # Three of three, two of three: it goes down, and up again.
        line = self.shade('accent')

        def heights(start):
            return [at for at, each in enumerate(self.pixels(
                'gold', start, start + 0.05, below=-31, height=62))
                if _near(each, line)]

        for start in (5, 14, 24):
            self.see(lambda found: any(_near(each, line) for each in found),
                     'gold', start, start + 0.05, below=-31, height=62)
        self.assertThat(heights(14)[0], matchers.GreaterThan(heights(5)[0]))
        self.assertEqual(heights(5), heights(24))

    def test_names_beside_a_lease_that_is_shown(self):
        """They are as readable as any text, if less is made of them."""
        bound = self.host_of(self.service.lease(0, 20, name='HHHH'))
        planned = self.host_of(self.service.lease(2, 24, name='HHHH'))
        shown = self.service.lease(2, 24, name='other')
        self.open_days(open='gold', lease=shown['id'])
        expect(self.page.locator('.summary')).to_be_visible()
        expect(self.row(bound).locator('.said')).to_contain_text(
            'bound from', timeout=_PATIENCE * 1000)
        for host, start in ((bound, 0.7), (planned, 2.7)):
            self.see(lambda found: _contrast(found) >= 4.5, host, start,
                     start + 1.5)

    def test_what_is_in_the_way_of_an_edge(self):
        """It is drawn while the edge is dragged, and not afterwards."""
        host = self.host_of(self.service.lease(2, 12, name='training'))
        self.service.lease(14, 30, name='others', hosts=3)
        self.open_days(open='gold')
        expect(self.row(host).locator('.said')).to_contain_text('training')
        part = ('gold', 20, 28)
        strip = {'below': 24, 'height': 4}
        self.drag_edge(host, 12, 18)
        self.see(lambda found: all(map(_is_red, found)), *part, **strip)
        # Its times are the reader's own.
        notice = self.page.locator('#notice')
        expect(notice).to_contain_text('Not enough hosts')
        expect(notice.locator('time').first).to_be_visible()
        expect(notice).not_to_contain_text('UTC')
        self.page.keyboard.press('Escape')
        self.page.mouse.up()
        self.see(lambda found: not any(map(_is_red, found)), *part, **strip)


    def test_leases_in_the_way_are_framed(self):
        """On their hosts, where the class is open; no other lease is."""
        other = self.service.lease(40, 60, name='far')
        blocker = self.service.lease(8, 20, name='near', hosts=3)
        self.open_days(open='gold', book='gold', hosts=1, **{
            key: f'{base.minute(hours):%Y-%m-%dT%H:%M:%SZ}'
            for key, hours in (('start', 10), ('end', 16))})
        self.says('.blockers', '3 hosts of your lease near: ')
        red = self.shade('red')
        for node in blocker['reservations'][0]['nodes']:
            host = self.service.ask_ironic(
                'GET', f'nodes/{node["uuid"]}')['name']
            self.see(lambda found: red in found, host, 15, 19, below=-13,
                     height=26)
        self.see(lambda found: red not in found, self.host_of(other), 41, 43,
                 below=-13, height=26)

    def test_where_a_lease_goes_that_makes_room(self):
        """It is drawn on its other host while the edge is dragged."""
        other = self.service.lease(14, 30, name='other')
        node = other['reservations'][0]['nodes'][0]['uuid']
        self.service.lease(2, 12, name='training', node=node)
        host = self.host_of(other)
        self.open_days(open='gold')
        expect(self.row(host).locator('.said')).to_contain_text('training')
        accent = self.shade('accent')
        there = [name for name in ('gold-0', 'gold-1', 'gold-2')
                 if name != host]

        def marked():
            return [name for name in there if any(
                _near(each, accent) for each in self.pixels(
                    name, 22, 29, below=-13, height=26))]

        self.assertEqual([], marked())
        self.drag_edge(host, 12, 20)
        self.says('#notice', 'other moves to another host')
        deadline = time.monotonic() + _PATIENCE
        while len(marked()) != 1:
            assert time.monotonic() < deadline, marked()
        self.page.keyboard.press('Escape')
        self.page.mouse.up()
        while marked():
            assert time.monotonic() < deadline, marked()

    def test_window_over_a_host_is_seen_there(self):
        """The row of its class may be far above."""
        self.open_days(open='gold')
        accent = self.shade('accent')
        self.drag_edge('gold-2', 10, 20, 0)
        self.see(lambda found: any(_near(each, accent) for each in found),
                 'gold-2', 12, 18, below=-13, height=26)
        self.page.mouse.up()
        self.says('.verdict', 'Possible')
        self.page.keyboard.press('Escape')
        self.see(lambda found: not any(
            _near(each, accent) for each in found),
            'gold-2', 12, 18, below=-13, height=26)


class OffersTestCase(base.BrowserCase):
    """Three gold hosts, and offers that overlap what was asked for."""

    def test_offer_of_the_same_window(self):
        """It stands below the draft; a click in the draft books nothing."""
        self.service.lease(8, 20, name='taken', hosts=2)
        self.open_days()
        self.drag('gold', 10, 16)
        self.page.fill('#book-hosts', '3')
        expect(self.page.locator('.offer', has_text='Fewer')).to_be_visible()
        area = self.page.locator('#area')
        x, y = self.x(13), self.y('gold')
        self.page.mouse.move(x, y - 20)
        expect(area).to_have_css('cursor', 'crosshair')
        self.page.mouse.move(x, y + 20)
        expect(area).to_have_css('cursor', 'pointer')
        booked = []
        self.page.on('request', lambda sent: sent.method == 'POST'
                     and 'dry_run' not in sent.url and booked.append(sent))
        self.page.mouse.click(x, y - 20)
        with self.answer_to('POST'):
            self.page.mouse.click(x, y + 20)
        self.titled('lease')
        self.assertEqual(1, len(booked))
        self.assertEqual(
            1, len(self.service.leases()['lease']['reservations'][0]['nodes']))

    def lanes(self, draft, *offers):
        """Return the part of the row of the draft and of each offer."""
        return self.script('lanesOf', 'offer_lanes', '''
            const [draft, ...offers] = asked;
            const found = lanesOf(draft, offers);
            return asked.filter(Boolean).map((each) => found.get(each));
        ''', draft, *offers)

    def test_each_offer_has_a_lane(self):
        """As low as need be, and where it overlaps nothing, all of the row."""
        def window(start, end):
            return {'start': start, 'end': end}

        self.open()
        self.assertEqual([[0, 1]], self.lanes(window(0, 4)))
        self.assertEqual(
            [[0, 1], [0, 1]], self.lanes(window(0, 4), window(4, 8)))
        self.assertEqual(
            [[0, 0.5], [0.5, 1]], self.lanes(window(0, 4), window(0, 4)))
        self.assertEqual(
            [[0, 0.5], [0.5, 0.75], [0.75, 1], [0.5, 0.75], [0, 1]],
            self.lanes(window(2, 8), window(0, 4), window(2, 8),
                       window(4, 6), window(9, 12)))
        self.assertEqual(
            [[0, 0.5], [0.5, 1], [0, 0.5], [0, 1]],
            self.lanes(None, window(0, 4), window(2, 6), window(4, 8),
                       window(8, 9)))
