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
"""The roles that may read and end leases, by the policies."""

import pathlib
from typing import Any
from urllib.parse import quote

import fixtures

from tests.inprocess.api import asking
from tests.inprocess.api import world

_DAY = 'start_date=2050-01-01 00:00&end_date=2050-01-03 00:00'


class TestRoles(asking.AskingCase):
    """An application with a host, and the file of policies of an operator."""

    def serve(self) -> world.World:
        self.policy = pathlib.Path(
            self.useFixture(fixtures.TempDir()).path, 'policy.yaml')
        self.policy.write_text('')
        return world.World(oslo_policy__policy_file=str(self.policy))

    def setUp(self) -> None:
        super().setUp()
        self.path = '/v1/os-hosts/' + self.open_host(
            'compute-1', resource_class='gold')['id']

    def allow(self, *rules: str) -> None:
        """Write the file of policies."""
        self.policy.write_text('\n'.join(rules))

    def as_operator(self, method: str, path: str, document: Any = None) -> Any:
        return self.ask(method, path, 200, document, asking.OPERATOR)

    def name_a_rack_and_a_private_price(self) -> None:
        self.as_operator('PUT', self.path, {'rack': 'r1', 'price': '9'})
        self.as_operator('PATCH', '/v1/os-hosts/properties/price',
                         {'private': True})

    def test_members_see_what_is_free_and_not_the_hosts(self) -> None:
        """Blazar: hosts and allocations are hidden from members."""
        self.book('01 10', '02 10')
        shown = self.ask('GET', f'/v1/availability?{_DAY}', who=asking.OTHER)
        (gold,) = shown['availability']['classes']
        self.assertEqual(('gold', 1, [1, 0, 1]), (
            gold['resource_class'], gold['hosts'],
            [span['free'] for span in gold['spans']]))
        self.ask('GET', '/v1/os-hosts', 403)

    def test_operator_shows_members_when_hosts_are_promised(self) -> None:
        """Proofs of others and private properties stay hidden."""
        self.allow('"reservation:host:get": "role:reader"',
                   '"reservation:host:get_allocation_times": "role:reader"')
        self.name_a_rack_and_a_private_price()
        lease, path = self.book('01 10', '02 10')['id'], self.path
        shown = [self.ask('GET', '/v1/os-hosts', who=asking.OTHER)['hosts'][0],
                 self.ask('GET', path, who=asking.OTHER)['host']]
        for each in shown:
            self.assertEqual('r1', each['rack'])
            self.assertNotIn('price', each)
        self.assertEqual('9', self.as_operator('GET', path)['host']['price'])
        everywhere = '/v1/os-hosts/allocations'
        whole, = self.as_operator('GET', everywhere)['allocations']
        for who in (asking.OTHER, asking.MEMBER):
            times, = self.ask('GET', everywhere, who=who)['allocations']
            self.assertEqual(times, self.ask(
                'GET', f'{path}/allocation', who=who)['allocation'])
            (proof,), (stand_in,) = (whole['reservations'],
                                     times['reservations'])
            self.assertEqual({**proof, 'lease_id': None,
                              'id': stand_in['id']}, stand_in)
            self.assertNotEqual(proof['id'], stand_in['id'])
        # The id of a lease does not reveal its hosts.
        for query in (f'lease_id={lease}', f'reservation_id={proof["id"]}'):
            for at in (everywhere, f'{path}/allocation'):
                self.ask('GET', f'{at}?{query}', 403, who=asking.OTHER)
                self.as_operator('GET', f'{at}?{query}')

    def test_availability_oracle(self) -> None:
        """Yes and no revealed names, owners and private properties one by one.
        """
        self.name_a_rack_and_a_private_price()
        host = self.as_operator('GET', self.path)['host']

        def available(text: str) -> str:
            return (f'/v1/availability?{_DAY}'
                    f'&resource_properties={quote(text)}')
        told = set()
        for name, value in (
                ('name', 'compute-1'), ('name', 'other'),
                ('hypervisor_hostname', 'compute-1'), ('owner', 'blue'),
                ('node_uuid', host['node_uuid']), ('status', 'available'),
                ('price', '9'), ('price', '8'), ('no_such_thing', '1')):
            for text in (f'["==", "${name}", "{value}"]',
                         f'["not", ["==", "${name}", "{value}"]]'):
                wish = asking.lease('01 10', '02 10', 1, text)
                for method, path, body in (
                        ('GET', available(text), None),
                        ('POST', '/v1/leases', wish),
                        ('POST', '/v1/leases?dry_run=true', wish)):
                    answer = world.request(self.served, method, path, body,
                                           **asking.MEMBER)
                    told.add((answer.status, answer.code,
                              answer.detail.replace(name, 'X')))
                self.as_operator('GET', available(text))
        self.assertEqual(1, len(told), told)
        for text in ('["==", "$rack", "r1"]', '["==", "$vcpus", "4"]',
                     '["==", "$resource_class", "gold"]',
                     '["==", "$owner", "red"]'):
            self.ask('GET', available(text))

    def test_role_that_sees_all_projects_sees_its_own(self) -> None:
        """It needed the rule for its own project, too."""
        auditor = {**asking.MEMBER, 'x_roles': 'auditor'}
        for path in ('/v1/limits', '/v1/usage'):
            rule = path.replace('/v1/', 'reservation:')
            self.ask('GET', path, 403, who=auditor)
            self.allow(f'"{rule}:get_all": "role:auditor"')
            for project in ('', '?project=red', '?project=blue'):
                self.ask('GET', path + project, who=auditor)
            self.ask('GET', f'{path}?project=blue', 403)

    def test_who_may_look_may_not_end(self) -> None:
        """esi-leap: DELETE checks the policy of GET."""
        self.allow('"reservation:lease:delete": "!"')
        path = f'/v1/leases/{self.book("01 10", "02 10")["id"]}'
        for who in (asking.MEMBER, asking.OPERATOR):
            self.ask('GET', path, who=who)
            self.ask('DELETE', path, 403, who=who)
        self.ask('GET', path)
