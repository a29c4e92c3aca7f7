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


"""Somebody signs in, stays for as long as that lasts, and signs out."""

from __future__ import annotations

import re
import urllib.parse

from playwright import sync_api

from ironic_reservations.engine import hosts
from ironic_reservations.engine.leases import create as lease_create
from ironic_reservations.engine.leases import end as lease_end
from ironic_reservations.engine.leases import find as lease_find
from ironic_reservations.model import leases
from tests import listening
from tests.inprocess.api import on_its_own
from tests.inprocess.api.calendar import small_keystone
from tests.processes.browser import base

expect = sync_api.expect
_USERS = {'olga': 'secret:1', 'pia': 'secret:2'}


class PasswordTestCase(base.BrowserCase):
    """An Ironic with http_basic."""

    hosts = {'gold': 2}

    @classmethod
    def serve(cls):
        """Start a service with users."""
        return base.Service(cls.hosts, users=_USERS, reservations={
            'ironic': {'auth_type': 'http_basic', 'username': 'pia',
                       'password': _USERS['pia']}})

    def sign_in(self, password='secret:1', page=None, user='olga'):
        """Fill in the form, and send it."""
        page = page or self.page
        page.get_by_label('User', exact=True).fill(user)
        page.get_by_label('Password').fill(password)
        page.locator('#sign-in button.primary').click()

    def test_signs_in_and_books(self):
        self.page.goto(self.service.page)
        expect(self.page.locator('#sign-in')).to_be_visible()
        self.check_accessible()
        self.sign_in('wrong')
        expect(self.page.locator('#sign-in .failed')).to_have_text(
            re.compile('^These credentials were not accepted'))
        self.check_accessible()
        self.sign_in()
        expect(self.row('gold')).to_contain_text('2 of 2 free')
        self.says('#user', 'olga')
        self.page.keyboard.press('b')
        self.says('.verdict', 'Possible')
        self.page.keyboard.press('Enter')
        self.titled('lease')
        lease, = self.service.ask('GET', 'leases')['leases']
        self.assertEqual('olga', lease['user_id'])

    def test_session_ends(self):
        """Whoever signs in again is where they were."""
        self.page.goto(f'{self.service.page}?range=30')
        self.sign_in()
        expect(self.row('gold')).to_be_visible()
        self.page.context.clear_cookies()
        self.says('#sign-in', 'Your session has ended')
        expect(self.page.locator('main')).to_have_attribute('inert', '')
        self.sign_in()
        expect(self.page.locator('#sign-in')).to_be_hidden()
        expect(self.page.locator('main')).not_to_have_attribute('inert', '')
        expect(self.page.locator('#connection')).to_be_hidden()
        self.assertIn('range=30', self.page.url)
        self.service.lease(0, 30, hosts=1)
        expect(self.row('gold')).to_contain_text('1 of 2 free')

    def test_somebody_else_signs_in(self):
        """Nothing stays of what the one before has seen."""
        self.page.goto(self.service.page)
        self.sign_in()
        expect(self.row('gold')).to_be_visible()
        self.page.evaluate('window.isOfOlga = true')
        self.page.context.clear_cookies()
        self.says('#sign-in', 'Your session has ended')
        self.sign_in('secret:2', user='pia')
        self.says('#user', 'pia')
        self.wait_until('!window.isOfOlga')
        expect(self.row('gold')).to_be_visible()

    def test_somebody_else_signs_in_in_another_tab(self):
        self.page.goto(self.service.page)
        self.sign_in()
        expect(self.row('gold')).to_be_visible()
        answer = self.page.context.request.post(
            f'{self.service.page}session',
            data={'username': 'pia', 'password': 'secret:2'})
        self.assertEqual(200, answer.status, answer.text())
        self.page.keyboard.press('b')
        self.says('#user', 'pia')
        self.press('Sign out')
        expect(self.page.locator('#sign-in')).to_be_visible()

    def test_leases_of_other_users(self):
        """They are named with their user, and none is called the reader's."""
        self.service.lease(2, 12, name='his')
        self.page.goto(f'{self.service.page}?'
                       + urllib.parse.urlencode({**self.window(0, 24),
                                                 'open': 'gold'}))
        self.sign_in('secret:2', user='pia')
        expect(self.page.locator('.said', has_text='of the lease his of olga')
               ).to_have_count(1)
        self.page.keyboard.press('b')
        self.page.fill('#book-hosts', '2')
        self.page.fill('#book-name', 'mine')
        start = self.page.locator('#book-start')
        self.page.fill('#book-end', start.input_value())
        self.page.fill('#book-end', start.evaluate(
            'each => new Date(Date.parse(each.value + "Z") + 6 * 3600000)'
            '.toISOString().slice(0, 16)'))
        self.says('.blockers', 'of the lease his of olga: ')
        self.page.fill('#book-hosts', '1')
        self.says('.verdict', 'Possible')
        self.page.locator('.booking button.primary').click()
        self.titled('mine')
        self.page.keyboard.press('l')
        self.titled('My leases')
        listed = self.page.locator('.leases > .lease-list li')
        expect(listed).to_have_count(1)
        expect(listed).to_contain_text('mine')
        expect(listed).to_contain_text('pia')
        self.page.get_by_text('Of other users (1)').click()
        self.page.locator('.leases details .offer', has_text='olga').click()
        self.titled('his')
        self.says('.lease dl', 'olga')
        self.check_accessible()

    def test_signs_out(self):
        self.page.goto(self.service.page)
        self.sign_in()
        self.press('Sign out')
        expect(self.page.locator('#sign-in')).to_be_visible()
        self.assertEqual([], [
            each for each in self.page.context.cookies() if each['value']])

    def test_calendar_link(self):
        """The link shows the leases until it is taken back."""
        self.page.goto(self.service.page)
        self.sign_in()
        self.service.lease(2, 12, name='training')
        self.page.locator('#leases').click()
        self.page.get_by_text('In another calendar').click()
        self.press('Make a link')
        link = self.page.locator('.ical code').inner_text()
        self.service.lease(2, 12, name='workshop')
        self.says('.lease-list', 'workshop')
        expect(self.page.locator('.ical code')).to_have_text(link)
        reader = self.someone()
        told = reader.request.get(link)
        self.assertEqual(200, told.status, told.text())
        self.assertIn('SUMMARY:training', told.text())
        self.check_accessible()
        self.press('Take it back')
        self.says('.ical', 'shows nothing any more')
        self.assertIn(reader.request.get(link).status, (401, 403, 404))


class _Standalone:
    """Our own API with a small Keystone, in this process."""

    def __init__(self) -> None:
        self.keystone = small_keystone.SmallKeystone()
        self.keystone.setUp()
        self.world = on_its_own.Standalone(
            on_its_own.keystone_at(self.keystone.url),
            auth_strategy='keystone')
        self.world.setUp()
        self._listening = listening.Listening(self.world)
        self._listening.setUp()
        for number in range(3):
            node = self.world.ironic.add(
                name=f'gold-{number}', resource_class='gold',
                provision_state='available')
            hosts.add(self.world.engine, node.uuid, {})

    @property
    def page(self) -> str:
        """Return where the page is."""
        return f'{self._listening.url}/reservation/calendar/'

    def lease(self, name: str, project: str) -> None:
        """Make a lease of one host, from now on, for somebody's project."""
        lease_create.create(
            self.world.engine,
            leases.LeaseRequest(name=name,
                                start=base.minute(2),
                                end=base.minute(40),
                                reservations=(leases.LeaseReservationRequest(
                                    1, 1),),
                                project_id=project))

    def forget_leases(self) -> None:
        """Delete all leases."""
        for lease in lease_find.page(self.world.engine, None, 100, None,
                                     None):
            lease_end.end(self.world.engine, lease.id)

    def stop(self) -> None:
        """End it."""
        for each in (self._listening, self.world, self.keystone):
            each.cleanUp()


class KeystoneTestCase(base.BrowserCase):
    """A member of a project of Keystone's."""

    @classmethod
    def serve(cls):
        """Start the service."""
        return _Standalone()

    def sign_in(self, project='red'):
        """Fill in the form, and send it."""
        self.page.goto(f'{self.service.page}?range=7&open=gold')
        self.fill_in(project)

    def fill_in(self, project='red'):
        """Fill in the form that is there."""
        page = self.page
        page.get_by_label('User', exact=True).fill('anna')
        page.get_by_label('Password').last.fill('secret')
        page.get_by_label('Project', exact=True).fill(project)
        page.locator('#sign-in button.primary').click()

    def end_sessions(self):
        """Revoke all tokens."""
        for token in list(self.service.keystone.tokens._token_data):
            self.service.keystone.end(token)

    def test_member_sees_windows_without_names(self):
        """Of others; of the own project everything, and no role besides."""
        self.service.lease('ours', 'id-of-red')
        self.service.lease('theirs', 'id-of-others')
        self.sign_in()
        expect(self.row('gold')).to_contain_text('3 of 3 free')
        expect(self.row('gold').locator('.said')).to_contain_text(
            '1 free from')
        said = self.page.locator('.host-row .said')
        expect(said.filter(has_text='of your lease ours')).to_have_count(1)
        expect(said.filter(has_text='of somebody else')).to_have_count(1)
        self.says('#user', 'anna · red')
        self.assertNotIn('theirs', self.page.content())
        self.check_accessible()

    def test_member_books(self):
        self.sign_in()
        expect(self.row('gold')).to_be_visible()
        self.page.keyboard.press('b')
        self.says('.verdict', 'Possible')
        self.page.keyboard.press('Enter')
        self.titled('lease')
        made, = lease_find.page(self.service.world.engine, None, 100, None,
                                None)
        self.assertEqual('id-of-red', made.project_id)

    def test_application_credential(self):
        self.page.goto(self.service.page)
        self.press('Application credential')
        self.check_accessible()
        self.page.get_by_label('ID of the credential').fill('a1b2c3')
        self.page.get_by_label('Secret').fill('credential-secret')
        self.page.locator('#sign-in button.primary').click()
        expect(self.row('gold')).to_be_visible()

    def test_session_ends_while_a_form_is_open(self):
        """Whoever signs in again finds it as it was, and it is judged."""
        self.sign_in()
        expect(self.row('gold')).to_be_visible()
        self.page.keyboard.press('b')
        self.page.fill('#book-name', 'training')
        self.says('.verdict', 'Possible')
        self.end_sessions()
        # NOTE: the page may have seen it before, and lets nobody type.
        self.page.locator('#book-hosts').evaluate("""(input) => {
          input.value = '2';
          input.dispatchEvent(new Event('input', {bubbles: true}));
        }""")
        self.says('.verdict', 'no session')
        expect(self.page.locator('#sign-in')).to_be_visible()
        self.fill_in()
        self.says('.verdict', 'Possible: 2 hosts')
        expect(self.page.locator('#book-name')).to_have_value('training')
        self.page.locator('.booking button[type=submit]').click()
        self.titled('training')

    def test_session_ends_while_an_edge_is_dragged(self):
        """The drag is over: what is dropped then changes nothing."""
        self.service.lease('ours', 'id-of-red')
        self.sign_in()
        said = self.page.locator('.host-row').filter(
            has=self.page.locator('.said', has_text='of your lease ours'))
        expect(said).to_have_count(1)
        self.page.goto(f'{self.service.page}?' + urllib.parse.urlencode(
            {**self.window(-4, 60), 'open': 'gold'}))
        expect(said).to_have_count(1)
        host = said.locator('.name').inner_text()
        self.drag_edge(host, 40, 44)
        self.says('#notice', 'possible')
        self.end_sessions()
        self.page.mouse.move(self.x(48), self.y(host), steps=4)
        expect(self.page.locator('#sign-in')).to_be_visible()
        changed = []
        self.page.on('request', lambda sent: sent.method == 'PUT'
                     and changed.append(sent.url))
        self.page.mouse.up()
        self.fill_in()
        expect(self.page.locator('#sign-in')).to_be_hidden()
        expect(self.page.locator('#notice')).to_be_empty()
        self.assertEqual([], changed)

    def test_token_is_revoked_elsewhere(self):
        self.sign_in()
        expect(self.row('gold')).to_be_visible()
        self.end_sessions()
        self.says('#sign-in', 'Your session has ended')
