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


"""Somebody changes a lease, and looks at its page."""

from __future__ import annotations

import datetime
import re

from playwright import sync_api
from testtools import matchers

from tests import waiting
from tests.processes.browser import base

expect = sync_api.expect


class ChangeTestCase(base.BrowserCase):
    """Two gold hosts, and a lease of somebody's own."""

    hosts = {'gold': 2}

    def hours_of(self, name, key='end_date'):
        """Return in how many hours from now a lease ends, or starts."""
        there = datetime.datetime.fromisoformat(
            self.service.leases()[name][key]).replace(tzinfo=datetime.UTC)
        return (there - base.minute(0)).total_seconds() / 3600

    def saw(self, name):
        """Wait until a row shows a lease of that name."""
        expect(self.page.locator('.host-row .said').filter(
            has_text=f'your lease {name}').first).to_be_attached()

    def drawn(self, start, end):
        """Make a lease, wait until it is drawn, and return its host."""
        host = self.host_of(self.service.lease(start, end, name='training'))
        self.open_days(open='gold')
        self.saw('training')
        return host

    def shown(self, start, end):
        """Make a lease, open its page, and return it."""
        lease = self.service.lease(start, end, name='training')
        self.open(lease=lease['id'])
        return lease

    def test_end_is_dragged(self):
        host = self.drawn(2, 12)
        with self.answer_to('PUT') as sent:
            self.drag_edge(host, 12, 20)
            self.says('#notice', 'possible; it keeps its hosts')
            self.assertThat(self.hours_of('training'), matchers.LessThan(12.1))
            self.page.mouse.up()
        self.assertEqual(200, sent.value.status)
        self.assertThat(self.hours_of('training'), matchers.GreaterThan(18))
        self.assertThat(self.hours_of('training'), matchers.LessThan(22))

    def test_copy_of_a_drop_that_comes_late(self):
        """A proxy held it back; it does not undo what came after it."""
        made = self.service.lease(2, 12, name='training')
        host = self.host_of(made)
        self.open_days(open='gold')
        self.saw('training')
        with self.answer_to('PUT') as dropped:
            self.drag_edge(host, 12, 20)
            self.says('#notice', 'possible')
            self.page.mouse.up()
        self.assertEqual(200, dropped.value.status)
        self.service.ask('PUT', f'leases/{made["id"]}', {
            'end_date': base.written(base.minute(30))})
        copy = self.page.request.fetch(dropped.value.request)
        self.assertEqual(200, copy.status)
        self.assertThat(self.hours_of('training'), matchers.GreaterThan(29))

    def test_start_is_dragged(self):
        host = self.drawn(10, 20)
        with self.answer_to('PUT'):
            self.drag_edge(host, 10, 5, 1)
            self.says('#notice', 'possible')
            self.page.mouse.up()
        self.assertThat(self.hours_of('training', 'start_date'),
                        matchers.LessThan(7))

    def test_who_makes_room(self):
        """Is said while the edge is dragged: it gets another host."""
        other = self.service.lease(14, 30, name='other')
        node = other['reservations'][0]['nodes'][0]['uuid']
        self.service.lease(2, 12, name='training', node=node)
        host = self.host_of(other)
        self.open_days(open='gold')
        self.saw('training')
        self.drag_edge(host, 12, 20)
        self.says('#notice', 'To make room, other moves to another host.')
        self.page.keyboard.press('Escape')
        self.page.mouse.up()
        self.assertEqual(host, self.host_of(self.service.leases()['other']))

    def test_escape_leaves_it(self):
        host = self.drawn(2, 12)
        self.drag_edge(host, 12, 20)
        self.says('#notice', 'Drop to do it')
        changed = []
        self.page.on('request', lambda sent: changed.append(sent.url)
                     if sent.method == 'PUT' and 'dry_run' not in sent.url
                     else None)
        self.page.keyboard.press('Escape')
        self.page.mouse.up()
        expect(self.page.locator('#notice')).to_be_empty()
        # NOTE: a drop is sent while it is handled, before this is.
        self.page.evaluate('async () => { await fetch(location); }')
        self.assertEqual([], changed)
        self.assertThat(self.hours_of('training'), matchers.LessThan(12.1))

    def test_end_that_is_in_the_way(self):
        """Whoever drops it there learns why not; nothing changes."""
        host = self.host_of(self.service.lease(2, 12, name='training'))
        self.service.lease(14, 30, name='others', hosts=2)
        self.open_days(open='gold')
        self.saw('training')
        self.drag_edge(host, 12, 20)
        self.says('#notice', 'Not enough hosts')
        self.says('#notice', 'In the way: your lease others.')
        self.page.mouse.up()
        self.says('#notice', 'Not changed')
        expect(self.page.locator('#notice time').first).to_be_visible()
        expect(self.page.locator('#notice')).not_to_contain_text('UTC')
        self.assertThat(self.hours_of('training'), matchers.LessThan(12.1))

    def test_page_of_a_lease(self):
        lease = self.service.lease(0, 12, name='training')
        proof = lease['reservations'][0]['id']
        self.open(lease=lease['id'])
        page = self.page.locator('#panel')
        expect(page).to_contain_text('ends in')
        host = re.compile(f'^{re.escape(self.host_of(lease))} ')
        expect(page.get_by_role('row', name=host)).to_contain_text('available')
        expect(page).to_contain_text('end is near')
        expect(page).to_contain_text('baremetal reservation deploy')
        self.assertNotIn(proof, page.inner_text())
        page.get_by_text('Show the proof').click()
        expect(page).to_contain_text(proof)
        self.check_accessible()

    def test_history_of_a_lease(self):
        """What has happened to it, with the names of its hosts."""
        lease = self.service.lease(0, 12, name='training', hosts=2)
        self.wait_until_active('training')
        self.open(lease=lease['id'])
        history = self.page.locator('section.history')
        for said in ('Booked', 'Started', 'Hosts handed over: gold-'):
            expect(history).to_contain_text(said)
        expect(history).not_to_contain_text('Taken back')
        expect(history.locator('time').first).to_have_attribute(
            'title', re.compile('UTC'))
        host = self.host_of(lease)
        self.press(f'Give back {host}')
        self.press('Give back', 'dialog')
        expect(history).to_contain_text('Taken back: 1 host of gold')
        self.check_accessible()

    def test_failures_tell_local_times(self):
        """Of a lease, of the list, and of what is done to one."""
        said = {'status': 409, 'json': {'errors': [{
            'status': 409, 'code': 'lease.busy',
            'detail': 'Try again after 2050-01-31 23:30 UTC.'}]}}
        lease = self.shown(2, 12)
        self.press('Delete')
        self.page.route('**/api/v1/leases**', lambda route: route.fulfill(
            **said))
        self.page.route('**/api/v1/leases/**', lambda route: route.fulfill(
            **said))
        self.press('Delete', 'dialog')
        for place in ('#notice', '.leases', '.lease'):
            if place == '.leases':
                self.page.locator('#leases').click()
            elif place == '.lease':
                self.open(lease=lease['id'])
            self.says(f'{place} .failed',
                      'Try again after Tue, 1 Feb 2050, 00:30')

    def test_commands_for_each_reservation(self):
        """Instances are booted in Nova; compute hosts are not deployed."""
        self.open()
        commands = self.script('commandsFor', 'lease_page', '''
            return commandsFor({id: 'L', reservations: [
              {id: 'R0', min: 2, max: 2, nodes: [{uuid: 'N0'}]},
              {id: 'R1', amount: 3, nodes: [{uuid: 'N1'}]},
              {id: 'R2', amount: 1, nodes: [{uuid: 'N2'}]}]},
              new Map([['N0', {kind: 'node'}], ['N1', {kind: 'compute host'}],
                       ['N2', {kind: 'node'}]]));''')
        titles = [title for title, _ in commands]
        self.assertEqual([
            'Deploy its hosts',
            'Put its proof into a variable, reservation 2 (3 instances)',
            'Boot a server in Nova, with its private flavor, '
            'reservation 2 (3 instances)',
            'Put its proof into a variable, reservation 3 (1 instance)',
            'Boot a server in Nova, with its private flavor, '
            'reservation 3 (1 instance)'], titles[1:-1])
        for number, (_, text) in zip((1, 2), (
                each for each in commands if 'proof' in each[0]),
                strict=True):
            self.assertIn(f'["reservations"][{number}]["id"]', text)
        self.assertEqual(
            'baremetal reservation deploy L --node N0 --node N2 --wait 1800',
            commands[1][1])
        self.assertIn('openstack server create --flavor "$proof"',
                      commands[3][1])

    def test_one_command_deploys_a_lease(self):
        """It is the one that the page shows."""
        lease = self.service.lease(0, 12, hosts=2)
        self.open(lease=lease['id'])
        expect(self.page.locator('.lease')).to_contain_text(
            f'baremetal reservation deploy {lease["id"]} --all --wait 1800')
        expect(self.page.locator('.lease')).not_to_contain_text('proof=')

    def test_proof_is_copied(self):
        lease = self.service.lease(2, 12, name='training')
        self.page.context.grant_permissions(
            ['clipboard-read', 'clipboard-write'])
        self.open(lease=lease['id'])
        self.page.get_by_text('Show the proof').click()
        self.press('Copy: proof')
        expect(self.page.get_by_text('copied')).to_be_visible()
        self.assertEqual(
            lease['reservations'][0]['id'],
            self.page.evaluate('navigator.clipboard.readText()'))

    def test_renamed_with_keys(self):
        self.shown(2, 12)
        self.page.get_by_role('button', name='Rename').press('Enter')
        expect(self.page.locator('#lease-name')).to_be_focused()
        self.page.keyboard.type('drill')
        self.page.keyboard.press('Enter')
        self.titled('drill')
        self.assertEqual({'drill'}, set(self.service.leases()))

    def test_escape_leaves_what_is_typed(self):
        """First the field, and the focus is back; then the panel."""
        self.shown(2, 12)
        button = self.page.get_by_role('button', name='Rename')
        for leave in (lambda: self.page.keyboard.press('Escape'),
                      lambda: self.page.get_by_role(
                          'button', name='Cancel').click()):
            button.click()
            expect(self.page.locator('#lease-name')).to_be_focused()
            self.page.keyboard.type('other')
            leave()
            expect(self.page.locator('#lease-name')).to_have_count(0)
            expect(button).to_be_focused()
        self.page.keyboard.press('Escape')
        expect(self.page.locator('#panel')).to_be_hidden()
        self.assertEqual({'training'}, set(self.service.leases()))

    def test_times_without_a_mouse(self):
        lease = self.service.lease(2, 12, name='training')
        self.service.lease(20, 30, name='others', hosts=2)
        self.open(lease=lease['id'])
        self.press('Change times')
        end = self.page.locator('#lease-end')
        local = datetime.datetime.fromisoformat(end.input_value())
        end.fill((local + datetime.timedelta(hours=12)).isoformat()[:16])
        self.says('.editor .verdict', 'In the way')
        self.check_accessible()
        end.fill((local + datetime.timedelta(hours=4)).isoformat()[:16])
        self.says('.editor .verdict', 'Possible: it keeps its hosts')
        self.press('Change')
        self.says('#notice', 'Changed')
        self.assertThat(self.hours_of('training'), matchers.GreaterThan(15))

    def open_lease(self):
        """Return a lease of four hours in a window of two days."""
        return self.service.ask('POST', 'leases', {
            'name': 'anytime', 'duration': 4 * 3600, 'fix_before': 3600,
            'between': [base.minute(30).isoformat(),
                        base.minute(78).isoformat()],
            'reservations': [{
                'resource_type': 'physical:host', 'min': 1, 'max': 1,
                'hypervisor_properties': '', 'resource_properties': ''}]}
        )['lease']

    def test_open_dates_are_changed(self):
        """The window, the length, and when they are fixed."""
        lease = self.open_lease()
        earliest, latest = lease['between']
        self.open(lease=lease['id'])
        self.says('.summary', 'until 1 h before its start')
        self.press('Change times')
        start, end = (self.page.locator(f'#lease-{edge}')
                      for edge in ('start', 'end'))
        expect(start).to_be_focused()
        expect(self.page.locator('#lease-dates')).to_have_value('open')
        expect(self.page.locator('#lease-length')).to_have_value('4')
        expect(self.page.locator('#lease-fix-before')).to_have_value('1')
        self.page.fill('#lease-length', '49')
        self.says('.editor .verdict', 'no longer than the time')
        self.page.fill('#lease-length', '6')
        self.says('.editor .verdict', 'Planned for now: ')
        self.check_accessible()
        local = datetime.datetime.fromisoformat(end.input_value())
        end.fill((local + datetime.timedelta(days=2)).isoformat()[:16])
        self.page.fill('#lease-fix-before', '-1')
        self.says('.editor .verdict', 'a number of hours from 0 on')
        self.page.fill('#lease-fix-before', '0.5')
        self.says('.editor .verdict', 'Planned for now: ')
        self.press('Change')
        self.says('#notice', 'Changed')
        self.says('.summary', 'until 30 min before its start')
        found = self.service.leases()['anytime']
        self.assertEqual(
            (earliest, 6 * 3600, 1800, False),
            (found['between'][0], found['duration'], found['fix_before'],
             found['fixed']))
        self.assertEqual(datetime.timedelta(days=2), (
            datetime.datetime.fromisoformat(found['between'][1])
            - datetime.datetime.fromisoformat(latest)))
        self.assertEqual(lease['start_date'], found['start_date'])

    def test_dates_are_fixed_and_opened_again_with_keys(self):
        """In a narrow window, too."""
        lease = self.open_lease()
        self.page.set_viewport_size({'width': 390, 'height': 780})
        self.open(lease=lease['id'])
        self.page.get_by_role('button', name='Change times').press('Enter')
        choice = self.page.locator('#lease-dates')
        self.assert_nothing_beside()
        for chosen, fixed, said in (('ArrowUp', True, 'it keeps its hosts'),
                                    ('ArrowDown', False, 'Planned for now')):
            choice.press(chosen)
            self.says('.editor .verdict', said)
            self.check_accessible()
            self.press('Change')
            self.says('#notice', 'Changed')
            expect(choice).to_have_count(0)
            found = self.service.leases()['anytime']
            self.assertEqual(
                (fixed, lease['start_date'], lease['end_date']),
                (found['fixed'], found['start_date'], found['end_date']))
            self.page.get_by_role('button', name='Change times').press('Enter')
            expect(choice).to_have_value('fixed' if fixed else 'open')

    def test_lease_starts_while_its_times_are_changed(self):
        """Its page says so, and its start is not asked for any more."""
        start = datetime.datetime.now(datetime.UTC) + datetime.timedelta(
            seconds=15)
        lease = self.service.ask('POST', 'leases', {
            'name': 'training', 'events': [], 'start_date': start.isoformat(),
            'end_date': base.written(base.minute(12)), 'reservations': [{
                'resource_type': 'physical:host', 'min': 1, 'max': 1,
                'hypervisor_properties': '', 'resource_properties': ''}]}
        )['lease']
        self.open(lease=lease['id'])
        summary = self.page.locator('#panel .summary')
        self.press('Change times')
        expect(self.page.locator('#lease-start')).to_be_disabled()
        self.says('.editor', 'only its end can change')
        expect(summary).to_contain_text('ends in')
        expect(summary).to_contain_text('active')
        self.check_accessible()
        self.press('Cancel')
        expect(self.page.get_by_role('button', name='End now')).to_be_visible()

    def test_deleted_after_a_question(self):
        self.shown(2, 12)
        self.press('Delete')
        self.check_accessible()
        self.press('Keep it')
        self.assertEqual({'training'}, set(self.service.leases()))
        self.press('Delete')
        self.press('Delete', 'dialog')
        self.says('#notice', 'Deleted')
        self.assertEqual({}, self.service.leases())

    def test_host_is_given_back(self):
        lease = self.service.lease(0, 12, name='training', hosts=2)
        self.wait_until_active('training')
        self.open(lease=lease['id'])
        host = self.host_of(lease)
        self.press(f'Give back {host}')
        self.press('Give back', 'dialog')
        self.says('#notice', 'given back')
        expect(self.row('gold')).to_contain_text('1 of 2 free')
        expect(self.page.get_by_role('button', name='Give back')
               ).to_have_count(0)

    def wait_until_active(self, name):
        """Wait until a lease has started."""
        waiting.until(lambda: self.service.leases()[name]['status']
                      == 'ACTIVE')

    def test_ended_now(self):
        self.shown(0, 12)
        self.press('End now')
        self.press('End now', 'dialog')
        self.says('#notice', 'ends now')
        self.assertThat(self.hours_of('training'), matchers.LessThan(0.1))

    def test_panel_begins_at_its_top(self):
        """However far down somebody was in what it showed before."""
        self.shown(2, 12)
        self.says('section.history', 'Booked')
        panel = self.page.locator('#panel')
        panel.evaluate('(each) => { each.scrollTop = 10000; }')
        self.assertGreater(panel.evaluate('(each) => each.scrollTop'), 0)
        self.page.keyboard.press('?')
        self.titled('Keys and mouse')
        self.assertEqual(0, panel.evaluate('(each) => each.scrollTop'))

    def test_keys_lead_to_a_lease(self):
        """Down to the host, to its lease, and into its page."""
        host = self.host_of(self.service.lease(2, 12, name='training'))
        self.open(**self.window(-4, 44))
        self.row('gold').focus()
        self.page.keyboard.press('ArrowRight')
        expect(self.row(host)).to_be_visible()
        for _ in range(int(host.rpartition('-')[2]) + 1):
            self.page.keyboard.press('ArrowDown')
        expect(self.row(host)).to_be_focused()
        self.saw('training')
        self.page.keyboard.press('n')
        self.says('#said', 'training')
        self.page.keyboard.press('Enter')
        self.titled('training')
        self.page.keyboard.press('Escape')
        expect(self.page.locator('#panel')).to_be_hidden()
        self.page.keyboard.press('?')
        self.titled('Keys and mouse')
        self.check_accessible()
