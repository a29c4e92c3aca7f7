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

"""Somebody with a phone looks, zooms and books with their fingers."""

from __future__ import annotations

import datetime
import time
import urllib.parse

from playwright import sync_api

from tests.processes.browser import base

expect = sync_api.expect
#: In seconds.
_PATIENCE = 60


class TouchTestCase(base.BrowserCase):
    """Two days, on a screen of 390 pixels."""

    hosts = {'gold': 2}

    def setUp(self):
        super().setUp()
        self.page = self.someone(**base.PHONE)
        self.touches = self.page.context.new_cdp_session(self.page)

    def touch(self, *paths):
        """Put fingers down, move each along its path, and lift them.

        :param paths: of each finger, its places on the page.
        """
        def send(kind, points):
            self.touches.send('Input.dispatchTouchEvent', {
                'type': kind, 'touchPoints': [
                    {'x': x, 'y': y, 'id': finger}
                    for finger, (x, y) in enumerate(points)]})
        first, *others = zip(*paths, strict=True)
        # NOTE: no two fingers come down at the same instant.
        for count in range(1, len(first) + 1):
            send('touchStart', first[:count])
        for points in others:
            send('touchMove', points)
        send('touchEnd', [])

    def shown(self):
        """Return the window that is shown, in hours from now."""
        asked = urllib.parse.parse_qs(urllib.parse.urlsplit(
            self.page.evaluate('location.href')).query)
        return tuple(
            (datetime.datetime.fromisoformat(asked[key][0])
             - base.minute(0)).total_seconds() / 3600
            for key in ('from', 'to'))

    def wait_for(self, is_so):
        """Wait until a window is shown; fingers are read frame by frame."""
        deadline = time.monotonic() + _PATIENCE
        while not is_so(*self.shown()):
            assert time.monotonic() < deadline, self.shown()
            self.page.wait_for_timeout(100)

    def open_days(self, page=None, **state):
        """Open the page with two days around now; it is as wide as shown."""
        super().open_days(page, **state)
        self.assertEqual(390, self.page.evaluate(
            'document.documentElement.scrollWidth'))

    def path(self, name, *places):
        """Return a path along a row, by its places across the page."""
        y = self.y(name)
        return [(x, y) for x in places]

    def test_pinch_zooms(self):
        """What is under each finger stays there."""
        self.open_days()
        middle = self.x(20)
        self.touch(self.path('gold', *range(int(middle) - 20,
                                            int(middle) - 81, -10)),
                   self.path('gold', *range(int(middle) + 20,
                                            int(middle) + 81, 10)))
        self.wait_for(lambda start, end: abs(end - start - 12) < 2
                      and abs(self.x(20) - middle) < 10)
        expect(self.page.locator('#panel')).to_be_hidden()

    def test_two_fingers_pan(self):
        """The window is as long as before, and later."""
        self.open_days()
        self.touch(self.path('gold', *range(280, 219, -10)),
                   self.path('gold', *range(360, 299, -10)))
        self.wait_for(lambda start, end: abs(end - start - 48) < 4
                      and start > 2)
        expect(self.page.locator('#panel')).to_be_hidden()

    def test_one_finger_books(self):
        """A drag over a class draws the window to book."""
        self.open_days()
        self.touch(self.path('gold', *range(int(self.x(8)),
                                            int(self.x(30)), 8)))
        self.says('.verdict', 'Possible')
        self.check_accessible()
        self.page.locator('.booking button[type=submit]').tap()
        self.titled('lease')

    def test_a_tap_opens_and_shows(self):
        """A class into its hosts, and then a lease of one."""
        name = self.host_of(self.service.lease(8, 40, name='training'))
        self.open_days()
        self.page.touchscreen.tap(self.x(20), self.y('gold'))
        expect(self.row(name)).to_be_visible()
        expect(self.row(name).locator('.said')).to_contain_text('training')
        self.page.touchscreen.tap(self.x(20), self.y(name))
        self.titled('training')
        self.check_accessible()
