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


"""Whatever happens around the page: restarts, hidden tabs, phones, paper."""

from __future__ import annotations

import datetime
import itertools
import re
import urllib.parse

from playwright import sync_api
from testtools import matchers

from tests.processes.browser import base

expect = sync_api.expect
_CALENDAR = '**/api/v1/calendar?**'
_ROWS = '**/api/v1/calendar?**rows=true**'


def _unavailable(route):
    route.fulfill(status=503, json={'errors': [{
        'status': 503, 'code': 'service.unavailable',
        'detail': 'There is no connection to the database.'}]})


class AroundTestCase(base.BrowserCase):
    """The page goes on, wherever it is looked at."""

    def test_service_starts_again(self):
        """The page says so, and goes on by itself."""
        self.open()
        self.service.ironic.kill()
        self.says('#connection', 'does not answer')
        self.service.ironic.start()
        self.service.lease(0, 30, hosts=2)
        expect(self.page.locator('#connection')).to_be_hidden()
        expect(self.row('gold')).to_contain_text('1 of 3 free')
        # The session is the same one, and may still write.
        self.page.keyboard.press('b')
        self.says('.verdict', 'Possible')

    def test_restart_between_verdict_and_booking(self):
        self.open_days()
        self.drag('gold', 6, 12)
        self.says('.verdict', 'Possible')
        self.service.ironic.kill()
        button = self.page.locator('.booking button[type=submit]')
        button.click()
        self.says('.verdict', 'does not answer')
        self.service.ironic.start()
        self.page.fill('#book-name', 'afterwards')
        self.says('.verdict', 'Possible')
        button.click()
        self.titled('afterwards')
        self.assertEqual({'afterwards'}, set(self.service.leases()))

    def test_answer_that_is_lost(self):
        """The same request, sent again, gets the lease that it made."""
        self.open_days()
        self.drag('gold', 6, 12)
        self.says('.verdict', 'Possible')

        def lose(route):
            if route.request.method == 'POST':
                self.assertEqual(201, route.fetch().status)
                route.abort()
            else:
                route.continue_()

        self.page.route('**/api/v1/leases', lose)
        button = self.page.locator('.booking button[type=submit]')
        button.click()
        self.says('.verdict', 'does not answer')
        self.page.unroute('**/api/v1/leases')
        self.says('.verdict', 'Possible')
        button.click()
        self.titled('lease')
        self.assertEqual(1, len(self.service.ask('GET', 'leases')['leases']))

    def test_service_does_not_answer_at_first(self):
        self.page.route('**/calendar/session', _unavailable)
        self.page.goto(self.service.page)
        expect(self.page.locator('#connection')).to_be_visible()
        self.page.unroute('**/calendar/session')
        expect(self.row('gold')).to_be_visible()
        expect(self.page.locator('#connection')).to_be_hidden()

    def test_hosts_that_failed_are_asked_for_again(self):
        self.page.route(_ROWS, _unavailable)
        self.open(open='gold')
        expect(self.page.locator('#connection')).to_be_visible()
        self.page.unroute(_ROWS)
        expect(self.row('gold-0')).to_be_visible()
        expect(self.page.locator('#connection')).to_be_hidden()

    def test_answer_of_somebody_between(self):
        """A captive portal answers 200 with a page of its own."""
        self.open()
        self.page.route(_CALENDAR, lambda route: route.fulfill(
            status=200, content_type='text/html', body='<p>Pay here'))
        self.says('#connection', 'does not answer')
        self.page.unroute(_CALENDAR)
        expect(self.page.locator('#connection')).to_be_hidden()

    def test_no_answer_at_all(self):
        """The page waits for a while, not for ever."""
        self.page.add_init_script('''
            const timeout = AbortSignal.timeout.bind(AbortSignal);
            AbortSignal.timeout = (ms) => timeout(ms / 20);''')
        self.open()
        self.page.route(_CALENDAR, lambda route: None)
        self.says('#connection', 'does not answer')
        self.page.unroute(_CALENDAR)
        expect(self.page.locator('#connection')).to_be_hidden()

    def test_window_that_moves_with_the_clock_is_read(self):
        self.page.clock.install()
        self.open()

        def later(sent):
            asked = urllib.parse.parse_qs(
                urllib.parse.urlsplit(sent.url).query)
            return 'to' in asked and datetime.datetime.fromisoformat(
                asked['to'][0]) > base.minute(16 * 24)

        with self.page.expect_request(later):
            self.page.clock.fast_forward(10 * 24 * 3600 * 1000)

    def _written(self, statuses, name, body, *asked):
        """Return the bodies and keys of the writes of a script.

        :param statuses: of the answers.
        :param name: what the script has of the module of these writes.
        """
        bodies, keys, answers = [], [], iter(statuses)

        def answer(route):
            bodies.append(route.request.post_data_json)
            keys.append(route.request.headers['idempotency-key'])
            route.fulfill(status=next(answers), json={'lease': {}})

        self.open()
        self.page.route(re.compile('/api/v1/leases(/[^/?]+)?$'), answer)
        self.script(name, 'write_once', body, *asked)
        return bodies, keys

    def _book_once(self, statuses, *asked):
        """Return the starts and keys of bookings: [start_date, now]."""
        bodies, keys = self._written(statuses, 'bookOnce', '''
            for (const [start, now] of asked) {
              await bookOnce({start_date: start, end_date: '2030-01-02'},
                             Date.parse(now) / 1000).catch(() => {});
            }''', *asked)
        return [each['start_date'] for each in bodies], keys

    def test_start_passes_after_an_answer_that_is_lost(self):
        """It is the same request, until the service tells its outcome."""
        starts, keys = self._book_once(
            (504, 429, 403, 201),
            ('2030-01-01T10:00:00Z', '2030-01-01T09:59Z'),
            *[('now', '2030-01-01T10:01Z')] * 3)
        self.assertEqual(['2030-01-01T10:00:00Z'] * 4, starts)
        self.assertEqual(1, len(set(keys)))

    def test_start_passes_after_a_request_that_is_lost(self):
        starts, keys = self._book_once(
            (504, 400, 201), ('2030-01-01T10:00:00Z', '2030-01-01T09:59Z'),
            ('now', '2030-01-01T10:01Z'))
        self.assertEqual(
            ['2030-01-01T10:00:00Z', '2030-01-01T10:00:00Z', 'now'], starts)
        self.assertEqual((keys[0], 2), (keys[1], len(set(keys))))

    def test_change_whose_answer_is_lost_is_the_same_request(self):
        """Until the service tells its outcome; others have their own keys."""
        changes = ((504, 'one', '10:00'), (503, 'one', '10:00'),
                   (200, 'one', '10:00'), (200, 'one', '10:00'),
                   (409, 'one', '11:00'), (504, 'one', '11:00'),
                   (200, 'two', '11:00'), (200, 'one', '11:00'))
        _, keys = self._written(
            [status for status, *_ in changes], 'changeOnce', '''
            for (const [, id, end] of asked) {
              await changeOnce(id, {end_date: end}).catch(() => {});
            }''', *changes)
        self.assertEqual(1, len(set(keys[:3])))
        self.assertEqual(6, len(set(keys)), keys)

    def test_two_clicks_change_a_lease_once(self):
        """Both requests have one key, whichever is served first."""
        _, keys = self._written((200, 200), 'changeOnce', '''
            await Promise.all([1, 2].map(
              () => changeOnce('one', {end_date: 'now'})));''')
        self.assertEqual((2, 1), (len(keys), len(set(keys))))

    def test_other_start_is_another_request(self):
        starts, keys = self._book_once(
            (504, 201), ('2030-01-01T10:00:00Z', '2030-01-01T09:50Z'),
            ('now', '2030-01-01T09:51Z'))
        self.assertEqual(['2030-01-01T10:00:00Z', 'now'], starts)
        self.assertEqual(2, len(set(keys)))

    def test_url_is_not_written_too_often(self):
        """Browsers refuse that; and the last state is what counts."""
        self.page.clock.install()
        self.open_days()
        self.page.clock.pause_at(base.minute(1))
        written = '''async () => {
            const load = (name) => import(
              `${location.pathname}static/${name}.js`);
            const {current} = await load('address');
            const {write} = await load('times');
            const from = new URLSearchParams(location.search).get('from');
            return [window.written, from === write(current().from)];
        }'''
        self.page.evaluate('''() => {
            window.written = 0;
            const real = history.replaceState.bind(history);
            history.replaceState = (...all) => {
              window.written += 1;
              real(...all);
            };
            window.turn = () => document.querySelector('#area')
              .dispatchEvent(new WheelEvent('wheel', {
                deltaX: 5, bubbles: true, cancelable: true,
                clientX: 700, clientY: 300}));
            for (let turn = 0; turn < 100; turn += 1) {
              window.turn();
            }
        }''')
        self.assertEqual([20, False], self.page.evaluate(written))
        self.page.clock.run_for(400)
        self.assertEqual([21, True], self.page.evaluate(written))
        self.page.clock.run_for(10000)
        self.assertEqual([21, True], self.page.evaluate(written))
        # There is an allowance again.
        self.page.evaluate('window.turn()')
        self.assertEqual([22, True], self.page.evaluate(written))

    def test_nobody_looks_nothing_is_asked(self):
        self.page.clock.install()
        self.page.add_init_script('''
            window.asked = [];
            window.underWay = 0;
            const real = window.fetch;
            window.fetch = (url, ...more) => {
              window.asked.push(String(url));
              window.underWay += 1;
              return real.call(window, url, ...more).finally(() => {
                window.underWay -= 1;
              });
            };''')
        self.open()
        # The page has begun to look.
        self.wait_until('''window.asked.filter(
            (url) => url.startsWith('api/v1/calendar?')).length > 1''')
        self.page.evaluate('''() => {
            Object.defineProperty(document, 'hidden',
                                  {get: () => window.away});
            window.away = true;
            document.dispatchEvent(new Event('visibilitychange'));
            window.asked.length = 0;
        }''')
        self.wait_until('window.underWay === 0')
        self.page.clock.pause_at(base.minute(1))
        self.page.clock.run_for(60000)
        self.assertEqual([], self.page.evaluate('window.asked'))
        # NOTE: the clock stands still: this is all that is asked.
        self.page.evaluate('''() => {
            window.away = false;
            document.dispatchEvent(new Event('visibilitychange'));
        }''')
        self.wait_until('window.asked.length > 0 && window.underWay === 0')
        self.assertEqual(1, self.page.evaluate('window.asked.length'))

    def test_nothing_has_changed_nothing_is_sent(self):
        self.open()
        # NOTE: an Ironic that has just started still changes its nodes.
        with self.page.expect_response(
                lambda answer: '/api/v1/calendar?' in answer.url
                and answer.status == 304) as looked:
            pass
        self.assertNotIn('content-length', looked.value.headers)

    def test_phone_shows_and_books(self):
        self.service.lease(0, 30, name='training', hosts=2)
        page = self.someone(**base.PHONE)
        self.open(page, open='gold')
        expect(self.row('gold-0', page)).to_be_visible()
        self.assertEqual(390, page.evaluate(
            'document.documentElement.scrollWidth'))
        self.check_accessible(page)
        self.check_legend(page)
        page.locator('#book').tap()
        self.says('.verdict', 'Possible', page)
        self.check_accessible(page)
        page.locator('.booking button[type=submit]').tap()
        self.titled('lease', page)
        self.check_accessible(page)

    def test_phone_shows_hosts_that_are_not_usable(self):
        """Their number was cut: the column of names is narrow."""
        self.maintain_node('gold-0')
        page = self.someone(**base.PHONE)
        self.open(page)
        away = self.row('gold', page).locator('.away')
        expect(away).to_have_text('1 not usable', use_inner_text=True)
        row = self.row('gold', page).bounding_box()
        box = away.bounding_box()
        self.assertLessEqual(box['y'] + box['height'],
                             row['y'] + row['height'])
        self.assertTrue(away.evaluate(
            'element => element.scrollWidth <= element.clientWidth'))

    def test_phone_shows_what_is_asked_for(self):
        """The row of the class stays above the form, whatever that says."""
        self.service.lease(1, 30, name='training', hosts=2)
        page = self.someone(**base.PHONE)
        self.open(page)
        page.locator('#book').tap()
        page.fill('#book-hosts', '3')
        page.fill('#book-end', page.input_value('#book-start').replace(
            page.input_value('#book-start')[:4], '2099'))
        expect(page.locator('.verdict')).to_have_class('verdict no')
        row = self.row('gold', page).bounding_box()
        panel = page.locator('#panel').bounding_box()
        self.assertLessEqual(row['y'] + row['height'], panel['y'])

    def test_twice_as_large(self):
        """The rows have more room than the legend."""
        page = self.someone(viewport={'width': 640, 'height': 380})
        self.open(page)
        self.check_legend(page, 380)
        rows = page.locator('#scroller').bounding_box()['height']
        legend = page.locator('#legend').bounding_box()['height']
        self.assertGreater(rows, 2 * legend)

    def check_legend(self, page, height=844):
        """Check that it opens, all of it within the page, and closes."""
        button = page.get_by_role('button', name='Legend')
        legend = page.locator('#legend-list')
        expect(legend).to_be_hidden()
        button.click()
        expect(button).to_have_attribute('aria-expanded', 'true')
        last = legend.locator('li').last
        last.scroll_into_view_if_needed()
        box = last.bounding_box()
        self.assertLessEqual(box['y'] + box['height'], height)
        self.check_accessible(page)
        button.click()
        expect(legend).to_be_hidden()

    def test_dark(self):
        self.service.lease(0, 30, name='training', hosts=3)
        page = self.someone(color_scheme='dark')
        self.open(page, open='gold')
        self.check_accessible(page)
        page.keyboard.press('b')
        self.says('.verdict', 'In the way', page)
        self.check_accessible(page)

    def test_paper(self):
        self.open()
        self.page.emulate_media(media='print')
        expect(self.page.locator('#book')).to_be_hidden()
        expect(self.row('gold')).to_be_visible()
        expect(self.page.locator('#legend-list')).to_be_visible()
        expect(self.page.get_by_role('button', name='Legend')).to_be_hidden()

    def test_paper_with_a_lease(self):
        """Board, lease and legend are one below the other."""
        lease = self.service.lease(2, 12, name='training')
        self.open(lease=lease['id'], open='gold')
        self.says('#panel', 'Use it')
        self.page.emulate_media(media='print')
        for width in (816, 1280):
            self.page.set_viewport_size({'width': width, 'height': 1000})
            boxes = [self.page.locator(each).bounding_box()
                     for each in ('#area', '#panel', '.legend')]
            for one, other in itertools.pairwise(boxes):
                self.assertThat(one['y'] + one['height'],
                                matchers.Not(matchers.GreaterThan(other['y'])))
            for each in boxes:
                self.assertEqual(width, each['width'])
            self.assertThat(boxes[0]['height'], matchers.GreaterThan(300))
            expect(self.row('gold-2')).to_be_visible()
            # All of the board is drawn on.
            self.wait_until('''() => {
                const canvas = document.querySelector('#plot canvas');
                const area = document.querySelector('#area');
                return canvas.clientHeight === area.clientHeight
                  && canvas.clientWidth === area.clientWidth;
            }''')

    def test_times_are_local_and_utc_on_hover(self):
        lease = self.service.lease(2, 12, name='training')
        self.open(lease=lease['id'])
        there = self.page.locator('.summary time').first
        # NOTE: not from the clock, whose minute may be over by now.
        start = datetime.datetime.fromisoformat(lease['start_date'])
        expect(there).to_have_attribute('title', f'{start:%Y-%m-%d %H:%M} UTC')
        zone = self.page.evaluate('-new Date().getTimezoneOffset() / 60')
        self.assertIn(f'{(start.hour + int(zone)) % 24:02}:{start.minute:02}',
                      there.inner_text())


    def test_hour_that_comes_twice(self):
        """It stays the second one, whatever is typed beside it."""
        self.open(book='gold', hosts=1, start='2027-10-31T01:30:00Z',
                  end='2027-10-31T09:00:00Z')
        length = self.page.locator('#book-dates-note')
        expect(length).to_contain_text('2027-10-31 01:30 UTC')
        self.page.fill('#book-end', '2027-10-31T11:00')
        expect(length).to_contain_text('8 h 30 min · 2027-10-31 01:30 UTC')


    def test_edges_snap_to_whole_seconds(self):
        """Wherever the pointer is; the form said one minute less."""
        for zone in ('Australia/Lord_Howe', 'Europe/Berlin'):
            self.page = self.someone(timezone_id=zone)
            self.open()
            self.assertEqual([], self.script('snap', 'times', '''
                const wrong = [];
                for (let at = 0; at < 500; at += 1) {
                  const there = snap(1806700000 + at * 997.137, 3600);
                  if (there % 60 !== 0) {
                    wrong.push([at, there]);
                  }
                }
                return wrong;'''))

    def test_edges_snap_to_the_clock_of_the_reader(self):
        """On the days, too, that have 25 hours or 23."""
        self.open()
        for at, hours, snapped in (
                ('2027-07-01T20:00Z', 24, '2027-07-01T22:00:00.000Z'),
                ('2027-10-31T13:00Z', 24, '2027-10-31T23:00:00.000Z'),
                ('2027-10-31T10:30Z', 24, '2027-10-30T22:00:00.000Z'),
                ('2027-10-31T11:20Z', 6, '2027-10-31T11:00:00.000Z'),
                ('2027-03-28T09:40Z', 12, '2027-03-28T10:00:00.000Z'),
                ('2027-10-31T01:20Z', 0.5, '2027-10-31T01:30:00.000Z')):
            self.assertEqual(snapped, self.script('snap', 'times', '''
                const [at, hours] = asked;
                return new Date(1000 * snap(
                  Date.parse(at) / 1000, hours * 3600)).toISOString();
            ''', at, hours))


class EmptyTestCase(base.BrowserCase):
    """Nothing is open to leases yet."""

    hosts = {}

    def test_page_says_who_opens_hosts(self):
        self.page.goto(self.service.page)
        self.says('#empty', 'An operator opens them')
        for key in 'bf':
            self._press_until_told(key, 'There is nothing to book')
            expect(self.page.locator('#panel')).to_be_hidden()
            self.check_accessible()
            self.page.evaluate(
                "document.querySelector('#notice').replaceChildren()")

    def _press_until_told(self, key, text):
        """Press a key until its notice is seen, which stays for 6 seconds."""
        notice = self.page.locator('#notice')
        for _ in range(20):
            self.page.keyboard.press(key)
            try:
                expect(notice).to_contain_text(text, timeout=6000)
            except AssertionError:
                continue
            return
        expect(notice).to_contain_text(text, timeout=6000)


class ScriptsTestCase(base.BrowserCase):
    """What others would like to run on the page."""

    hosts = {}
    refused = 'Content Security Policy'

    def test_policy_against_scripts_of_others(self):
        """What the browser is told to refuse is refused."""
        self.page.goto(self.service.page)
        self.assertEqual('refused', self.page.evaluate('''() =>
            new Promise((resolve) => {
              document.addEventListener('securitypolicyviolation',
                                        () => resolve('refused'));
              const script = document.createElement('script');
              script.textContent = 'document.title = "owned"';
              document.body.append(script);
              setTimeout(() => resolve(document.title), 2000);
            })'''))
