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


"""blazar-dashboard, as it is, in Horizon, with a real Keystone and Nova."""

from __future__ import annotations

import json
import pathlib
import re

from playwright import sync_api

from tests.processes.browser import base as browser_base
from tests.stack import base
from tools.stack import horizon
from tools.stack import people

LEASES, HOSTS = '/project/leases/', '/admin/hosts/'
CALENDAR = f'{LEASES}calendar/host/'
#: As the documentation has it.
POLICY = (pathlib.Path(__file__).parents[2]
          / 'doc/source/install/horizon-policy.yaml')


class TestHorizon(base.TestCase, browser_base.Browsing):

    def setUp(self) -> None:
        super().setUp()
        self.url = horizon.start(self.cloud.ground, self.cloud.keystone_url)
        self.addCleanup(self.cloud.ground.kill, horizon.NAME)

    def sign_in(self, person: people.Person, path: str) -> sync_api.Page:
        """Sign in as somebody; returns a page of Horizon."""
        page = self.someone()
        # NOTE: the style of all pages is compiled for the first one.
        page.set_default_timeout(base.SOON * 1000)
        page.goto(f'{self.url}/auth/login/?next={path}')
        page.fill('#id_username', person.name)
        page.fill('#id_password', people.PASSWORD)
        page.click('#loginBtn')
        page.wait_for_url(f'{self.url}{path}')
        return page

    def allow(self, rules: str) -> None:
        """Set the policy, until the test ends."""
        self.cloud.ironic.policy_file.write_text(rules)
        self.addCleanup(self.cloud.ironic.policy_file.write_text, '')

    def row(self, page: sync_api.Page, *texts: str) -> sync_api.Locator:
        """Return the row of a table that has these texts."""
        found = page.locator('tbody tr')
        for text in texts:
            found = found.filter(has_text=text)
        return found

    def confirm(self, page: sync_api.Page, row: sync_api.Locator,
                action: str) -> None:
        """Choose an action of a row, and confirm it."""
        there = row.get_by_role('button', name=action)
        if not there.is_visible():
            row.locator('.dropdown-toggle').click()
        there.click()
        page.locator('.modal-footer').get_by_text(
            action, exact=True).click()

    def said(self, page: sync_api.Page, text: str) -> None:
        """Wait until Horizon says something."""
        sync_api.expect(page.locator('.alert').filter(
            has_text=text)).to_be_visible()

    def member_leases(self) -> dict[str, dict[str, object]]:
        """Return the leases of the member by their names."""
        return {each['name']: each for each in self.ask_leases(
            base.MEMBER, 'GET', '')['leases']
            if each['status'] != 'TERMINATED'}

    def test_member_makes_changes_and_ends_a_lease(self) -> None:
        self.open_hosts(*self.nodes)
        page = self.sign_in(base.MEMBER, LEASES)
        page.get_by_role('link', name='Create Lease').click()
        page.get_by_label('Lease Name').fill('from Horizon')
        page.get_by_label('Maximum Number of Hosts').fill('2')
        page.get_by_role('button', name='Create Lease').click()
        self.said(page, 'from Horizon was successfully created')
        lease = self.member_leases()['from Horizon']
        self.assertEqual(2, len(self.nodes_of(lease)))
        page.get_by_role('link', name='from Horizon').click()
        sync_api.expect(page.locator('.detail').first).to_contain_text(
            str(lease['id']))
        # NOTE: no button leads there; see peers.rst.
        page.goto(f'{self.url}{LEASES}{lease["id"]}/update')
        page.get_by_label('Lease name').fill('renamed')
        page.get_by_label('End time').fill('+1h')
        page.get_by_role('button', name='Update').click()
        self.said(page, 'Lease update started')
        changed = self.member_leases()['renamed']
        self.assertEqual(lease['id'], changed['id'])
        self.assertGreater(str(changed['end_date']), str(lease['end_date']))
        row = self.row(page, 'renamed')
        self.until('Horizon shows that the lease is active', lambda: (
            page.reload(), 'ACTIVE' in row.inner_text())[1])
        self.confirm(page, row, 'Delete Lease')
        self.said(page, 'Deleted Lease: renamed')
        self.until('the lease has ended', lambda: not self.member_leases())

    def test_member_reads_why_a_lease_is_refused(self) -> None:
        self.open_hosts(self.nodes[0])
        page = self.sign_in(base.MEMBER, f'{LEASES}create/')
        page.get_by_label('Lease Name').fill('too many')
        page.get_by_label('Minimum Number of Hosts').fill('2')
        page.get_by_label('Maximum Number of Hosts').fill('2')
        page.get_by_role('button', name='Create Lease').click()
        self.said(page, 'An error occurred while creating this lease')
        self.assertEqual({}, self.member_leases())

    def test_administrator_opens_changes_and_closes_a_host(self) -> None:
        self.allow(POLICY.read_text())
        node = self.nodes[0]
        page = self.sign_in(base.ADMIN, HOSTS)
        page.get_by_role('link', name='Create Hosts').click()
        member = page.locator('.available_members > ul').filter(has_text=node)
        member.get_by_text('+').click()
        page.get_by_role('link', name='Extra Capabilities').click()
        page.locator('[name=extra_caps]').fill('{"rack": "r1"}')
        page.get_by_role('button', name='Create Hosts').click()
        self.said(page, f'Host {node} was successfully created')
        page.get_by_role('link', name=node).click()
        sync_api.expect(page.locator('dl', has_text='rack')
                        ).to_contain_text('r1')
        page.goto(f'{self.url}{HOSTS}')
        self.row(page, node).get_by_role('link', name='Update Host').click()
        page.locator('[name=values]').fill('{"rack": "r2"}')
        page.get_by_role('button', name='Update').click()
        self.said(page, 'Host was successfully updated')
        page.get_by_role('link', name=node).click()
        sync_api.expect(page.locator('dl', has_text='rack')
                        ).to_contain_text('r2')
        page.goto(f'{self.url}{HOSTS}')
        self.confirm(page, self.row(page, node), 'Delete Host')
        self.said(page, 'Deleted Host')
        self.assertEqual([], self.cloud.ask(
            base.SYSTEM, 'GET',
            f'{self.cloud.ironic.url}/v1/os-hosts')['hosts'])

    def test_calendar_of_hosts_follows_the_policy(self) -> None:
        self.open_hosts(*self.nodes)
        theirs = self.lease(self.hosts(2), person=base.OTHER)
        page = self.sign_in(base.MEMBER, CALENDAR)
        self.said(page, 'Unable to load reservations')
        self.allow(POLICY.read_text())
        with page.expect_response(re.compile('resources.json$')) as answer:
            page.reload()
        chart = page.locator('#blazar-calendar-host svg')
        sync_api.expect(chart.first).to_be_visible()
        for node in self.nodes:
            # A long label is cut, and its title has the whole name.
            sync_api.expect(chart.get_by_text(node).first).to_be_attached()
        shown = answer.value.json()
        self.assertEqual(
            sorted(self.nodes_of(theirs)),
            sorted(each['hypervisor_hostname']
                   for each in shown['reservations']))
        self.assertEqual(1, len({each['reservation_id']
                                 for each in shown['reservations']}))
        for secret in (theirs['id'], theirs['reservations'][0]['id']):
            self.assertNotIn(secret, json.dumps(shown))
