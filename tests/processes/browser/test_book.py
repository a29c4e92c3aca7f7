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


"""Somebody books hosts: with the mouse, with keys, and as offered."""

from __future__ import annotations

import datetime
import json

from playwright import sync_api
from testtools import matchers

from tests.processes.browser import base

expect = sync_api.expect
window_of = base.window_of
_POSSIBLE = 'Possible'


class BookTestCase(base.BrowserCase):
    """Three gold hosts, and somebody who wants some of them."""

    def setUp(self):
        super().setUp()
        self.verdict = self.page.locator('.verdict')

    def only_lease(self):
        """Return the one lease that there is."""
        lease, = self.service.leases().values()
        return lease

    def test_drag_over_a_class(self):
        self.open_days()
        self.drag('gold', 6, 30)
        expect(self.verdict).to_contain_text(_POSSIBLE)
        self.assertEqual({}, self.service.leases())
        self.page.fill('#book-hosts', '2')
        self.page.fill('#book-name', 'training')
        expect(self.verdict).to_contain_text('2 hosts of gold')
        self.check_accessible()
        self.press('Book', '.booking')
        self.titled('training')
        lease = self.only_lease()
        self.assertEqual(2, len(lease['reservations'][0]['nodes']))
        for asked, got in zip((6, 30), window_of(lease), strict=True):
            self.assertThat(
                abs((base.minute(asked) - got).total_seconds()),
                matchers.LessThan(2 * 3600))
        expect(self.row('gold').locator('.said')).to_contain_text('1 free')

    def test_who_makes_room(self):
        """Is said before anything is booked: it gets another host."""
        name = self.host_of(self.service.lease(8, 20, name='<i>other</i>'))
        self.open_days(open='gold')
        self.drag(name, 1, 6)
        expect(self.verdict).to_contain_text(_POSSIBLE)
        expect(self.verdict).not_to_contain_text('make room')
        self.page.check('#book-pinned')
        length = self.page.locator('#book-end')
        length.fill((base.minute(14) + datetime.timedelta(
            hours=1)).strftime('%Y-%m-%dT%H:%M'))
        expect(self.verdict).to_contain_text(
            'To make room, <i>other</i> moves to another host.')
        self.check_accessible()

    def test_keys_alone(self):
        self.open_days()
        self.page.keyboard.press('b')
        expect(self.page.locator('#book-hosts')).to_be_focused()
        self.page.keyboard.type('3')
        expect(self.verdict).to_contain_text('Possible: 3 hosts of gold')
        self.page.keyboard.press('Enter')
        self.titled('lease')
        self.assertEqual(3, len(self.only_lease()['reservations'][0]['nodes']))

    def test_refused_then_offered(self):
        """What is in the way shows; an offer is booked unchanged."""
        taken = self.service.lease(8, 20, name='taken', hosts=3)
        self.open_days()
        self.drag('gold', 10, 16)
        expect(self.verdict).to_contain_text('In the way')
        expect(self.verdict).to_contain_text('3 hosts of your lease taken: ')
        expect(self.page.locator('.booking button[type=submit]')
               ).to_be_disabled()
        self.check_accessible()
        with self.answer_to('POST') as posted:
            self.page.locator('.offer', has_text='Later').click()
        self.assertEqual(201, posted.value.status)
        self.titled('lease')
        start, _ = window_of(self.service.leases()['lease'])
        self.assertEqual(window_of(taken)[1], start)

    def test_ghost_is_accepted_on_the_timeline(self):
        self.service.lease(8, 20, name='taken', hosts=3)
        self.open_days()
        self.drag('gold', 10, 16)
        expect(self.page.locator('.offer', has_text='Later')).to_be_visible()
        # The panel has made the board narrower.
        self.page.mouse.click(self.x(23), self.y('gold'))
        self.titled('lease')
        self.assertEqual({'taken', 'lease'}, set(self.service.leases()))

    def test_edges_move_with_the_mouse(self):
        self.open_days()
        self.drag('gold', 6, 12)
        expect(self.verdict).to_contain_text(_POSSIBLE)
        before = self.page.locator('#book-end').input_value()
        start = self.page.locator('#book-start').input_value()
        end = datetime.datetime.fromisoformat(before)
        hours = (end - datetime.datetime.fromisoformat(start)
                 ).total_seconds() / 3600
        # Edges snap; the end is where the field says it is.
        first = (datetime.datetime.fromisoformat(start)
                 - self.local_now()).total_seconds() / 3600
        self.drag('gold', first + hours, first + hours + 8)
        expect(self.page.locator('#book-end')).not_to_have_value(before)
        expect(self.page.locator('#book-start')).to_have_value(start)
        expect(self.verdict).to_contain_text(_POSSIBLE)

    def local_now(self):
        """Return the reader's own time."""
        return datetime.datetime.fromisoformat(self.page.evaluate(
            'new Date(Date.now() - new Date().getTimezoneOffset() * 60000)'
            '.toISOString().slice(0, 16)'))

    def test_at_most_one_dry_run_in_flight(self):
        self.open_days()
        under_way, most = [], []
        self.page.on('request', lambda sent: 'dry_run' in sent.url and (
            under_way.append(sent), most.append(len(under_way))))
        for event in ('requestfinished', 'requestfailed'):
            self.page.on(event, lambda sent: sent in under_way
                         and under_way.remove(sent))
        self.page.keyboard.press('b')
        for count in range(1, 30):
            self.page.fill('#book-hosts', str(count % 3 + 1))
        expect(self.verdict).to_contain_text(_POSSIBLE)
        self.assertEqual(1, max(most))

    def test_pinned_host_costs_a_word(self):
        self.open_days(open='gold')
        self.drag('gold-1', 6, 12)
        expect(self.page.get_by_text('Costs flexibility')).to_be_visible()
        self.page.get_by_label('Only the host gold-1').check()
        expect(self.verdict).to_contain_text(_POSSIBLE)
        self.press('Book', '.booking')
        self.titled('lease')
        wanted = self.service.ask_ironic('GET', 'nodes/gold-1')['uuid']
        node, = self.only_lease()['reservations'][0]['nodes']
        self.assertEqual(wanted, node['uuid'])

    def test_colleague_sees_the_same_form(self):
        """The name, the condition and the host that was chosen, too."""
        name = '<img src=x onerror=alert(1)> & co'
        condition = '["==", "$resource_class", "gold"]'
        self.open_days(open='gold')
        self.drag('gold-1', 6, 12)
        self.page.fill('#book-name', name)
        self.page.get_by_text('Properties of the hosts').click()
        self.page.fill('#book-properties', condition)
        self.page.get_by_label('Only the host gold-1').check()
        expect(self.verdict).to_contain_text(_POSSIBLE)
        said = self.verdict.inner_text()
        colleague = self.colleague()
        expect(colleague.locator('#book-name')).to_have_value(name)
        expect(colleague.locator('#book-properties')).to_have_value(condition)
        expect(colleague.get_by_label('Only the host gold-1')).to_be_checked()
        expect(colleague.locator('.verdict')).to_have_text(said)
        for field in ('#book-start', '#book-end', '#book-hosts'):
            expect(colleague.locator(field)).to_have_value(
                self.page.locator(field).input_value())
        self.assertEqual(0, colleague.locator('img').count())

    def test_class_that_has_no_hosts_is_the_one_that_is_shown(self):
        """As in the address, which may be an old one."""
        self.open(book='bronze', hosts=1, start='2049-01-01T00:00:00Z',
                  end='2049-01-02T00:00:00Z')
        expect(self.page.locator('#book-class')).to_have_value('bronze')
        expect(self.verdict).to_contain_text('no host matches')
        self.open(find='bronze')
        expect(self.page.locator('#find-class')).to_have_value('bronze')

    def test_mistakes_are_said_before_anything_is_asked(self):
        self.open_days()
        self.page.keyboard.press('b')
        self.page.fill('#book-hosts', '0')
        expect(self.verdict).to_contain_text('a number from 1 on')
        self.page.fill('#book-hosts', '1')
        self.page.get_by_text('Properties of the hosts').click()
        self.page.fill('#book-properties', '{no')
        expect(self.verdict).to_contain_text('cannot be read')
        self.page.fill('#book-properties', '["==", "$arch", "none"]')
        expect(self.verdict).to_contain_text('no host matches')
        self.check_accessible()

    def test_range_of_hosts(self):
        """As many as are free are promised."""
        self.service.lease(4, 30, name='others', hosts=1)
        self.open_days()
        self.drag('gold', 6, 12)
        self.page.fill('#book-hosts', '2')
        self.page.fill('#book-most', '1')
        expect(self.verdict).to_contain_text('The larger number of hosts')
        self.page.fill('#book-most', '3')
        expect(self.verdict).to_contain_text('Possible: 2 of 2 to 3 hosts')
        self.check_accessible()
        expect(self.colleague().locator('#book-most')).to_have_value('3')
        self.press('Book', '.booking')
        self.titled('lease')
        expect(self.page.get_by_role('heading', name='2–3 hosts of gold')
               ).to_be_visible()
        part, = self.service.leases()['lease']['reservations']
        self.assertEqual((2, 3, 2), (part['min'], part['max'],
                                     len(part['nodes'])))

    def test_queue(self):
        """A lease waits, and starts earlier as soon as it can."""
        taken = self.service.lease(8, 20, name='taken', hosts=3)
        self.open_days()
        self.drag('gold', 10, 16)
        expect(self.verdict).to_contain_text('In the way')
        self.page.select_option('#book-dates', 'queue')
        expect(self.verdict).to_contain_text('It waits, and starts at the '
                                             'latest: ')
        self.check_accessible()
        expect(self.colleague().locator('#book-dates')).to_have_value('queue')
        self.press('Book', '.booking')
        self.titled('lease')
        self.says('.summary', 'Queued: it starts earlier')
        found = self.service.leases()['lease']
        self.assertIs(True, found['queued'])
        self.assertGreaterEqual(window_of(found)[0], window_of(taken)[1])

    def test_queue_that_is_empty(self):
        """Nothing is said of waiting if the times are free."""
        self.open_days()
        self.drag('gold', 10, 16)
        self.page.select_option('#book-dates', 'queue')
        expect(self.verdict).to_contain_text(_POSSIBLE)
        expect(self.verdict).not_to_contain_text('waits')

    def test_open_dates(self):
        """The window is that of the times, the length that of the form."""
        taken = self.service.lease(60, 84, name='taken', hosts=3)
        self.open(**self.window(-4, 140))
        self.drag('gold', 66, 100)
        expect(self.page.locator('#book-length')).to_be_hidden()
        self.page.select_option('#book-dates', 'open')
        self.page.fill('#book-length', '100')
        expect(self.verdict).to_contain_text('no longer than the time')
        self.page.fill('#book-length', '4')
        self.page.select_option('#book-unit', 'hours')
        expect(self.verdict).to_contain_text('Planned for now: ')
        self.says('#book-dates-note', '4 h')
        self.check_accessible()
        colleague = self.colleague()
        expect(colleague.locator('#book-length')).to_have_value('4')
        expect(colleague.locator('#book-unit')).to_have_value('1')
        self.says('.verdict', 'Planned for now: ', colleague)
        self.page.fill('#book-length', '19')
        expect(self.verdict).to_have_class('verdict no')
        self.page.fill('#book-length', '4')
        expect(self.verdict).to_contain_text('Planned for now: ')
        self.press('Book', '.booking')
        self.titled('lease')
        self.says('.summary', 'Its dates are open: it may move between')
        start, end = window_of(self.service.leases()['lease'])
        self.assertEqual(datetime.timedelta(hours=4), end - start)
        self.assertGreaterEqual(start, window_of(taken)[1])

    def test_properties_are_typed_as_for_the_commands(self):
        """And the names of the properties are shown."""
        self.open_days()
        self.page.keyboard.press('b')
        self.page.get_by_text('Properties of the hosts').click()
        self.says('#book-properties-note', 'vcpus, memory_mb, local_gb')
        self.page.fill('#book-properties',
                       'resource_class=gold, resource_class != x')
        expect(self.verdict).to_contain_text(_POSSIBLE)
        self.check_accessible()
        self.press('Book', '.booking')
        self.titled('lease')
        part, = self.only_lease()['reservations']
        self.assertEqual(
            ['and', ['==', '$resource_class', 'gold'],
             ['==', '$resource_class', 'gold'],
             ['!=', '$resource_class', 'x']],
            json.loads(part['resource_properties']))

    def test_two_want_the_last_host_at_once(self):
        """One gets it; the other sees why, and the next offer."""
        self.service.lease(4, 30, name='others', hosts=2)
        pages = [self.page, self.someone()]
        for page in pages:
            self.open_days(page)
            self.drag('gold', 6, 12, page)
            self.says('.verdict', _POSSIBLE, page)
        # Both press before either is answered.
        for page in pages:
            page.evaluate('document.querySelector(".booking '
                          'button[type=submit]").click()')
        titles = [page.locator('#panel-title') for page in pages]
        for page in pages:
            expect(page.locator('.verdict.no, .lease .summary')
                   ).to_be_visible()
        said = sorted(title.inner_text() for title in titles)
        self.assertEqual(['Book hosts', 'lease'], said)
        loser = pages[[title.inner_text() for title in titles].index(
            'Book hosts')]
        self.says('.verdict', 'In the way', loser)
        loser.locator('.offer').first.click()
        self.titled('lease', loser)
        self.assertEqual(3, len(self.service.ask('GET', 'leases')['leases']))
