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

"""Hosts in Blazar's format: their names and their allocations."""

import datetime
from typing import Any

from tests.inprocess.api import asking
from tests.inprocess.api import world

_DAY: dict[str, Any] = {'start_date': '2050-01-01 10:00',
                        'end_date': '2050-01-02 10:00'}


class HostsCase(asking.AskingCase):
    """An application with two hosts, and a client of Blazar."""

    nodes = {name: {'resource_class': 'gold'} for name in (
        'compute-1', 'compute-2')}
    member = operator = {}
    version = None

    def serve(self) -> world.World:
        return world.OpenWorld()

    def on(self, text: str, status: int = 201) -> Any:
        """Request one host by a condition, and return the planned host."""
        answer = self.ask('POST', '/v1/leases?dry_run=true',
                          200 if status == 201 else status, {
                              **_DAY, 'name': 'on', 'reservations':
                              asking.hosts(1, 2, text)})
        return [node['uuid'] for node in answer['lease']['reservations'][0][
            'nodes']] if status == 201 else answer


class TestUpperCase(HostsCase):
    """A path or a body with a UUID in upper case found nothing."""

    def written(self, uuid: str) -> tuple[str, ...]:
        return uuid.upper(), uuid.replace('-', '')

    def test_host_by_its_uuid_in_upper_case(self) -> None:
        node = self.ask('GET', '/v1/os-hosts/1')['host'][
            'hypervisor_hostname']
        for ident in self.written(node):
            path = f'/v1/os-hosts/{ident}'
            self.assertEqual('1', self.ask('GET', path)['host']['id'])
            self.ask('GET', f'{path}/allocation')
            self.ask('PUT', path, 200, {'rack': 'r1'})
        self.ask('DELETE', f'/v1/os-hosts/{node.upper()}', 204)
        self.ask('POST', '/v1/os-hosts', 201, {'name': node.upper()})

    def test_maintenance_by_its_uuid_in_upper_case(self) -> None:
        self.version = 'baremetal-reservation latest'
        node = self.ask('GET', '/v1/os-hosts/1')['host'][
            'hypervisor_hostname']
        for number, ident in enumerate(self.written(node)):
            made = self.ask('POST', '/v1/maintenances', 201, {
                'name': 'now', 'nodes': [ident],
                'starts_at': f'205{number}-01-01T00:00:00Z',
                'ends_at': f'205{number}-01-02T00:00:00Z'})['maintenance']
            path = f'/v1/maintenances/{made["uuid"].upper()}'
            self.ask('GET', path)
            self.ask('DELETE', path, 204)


class TestUnknownPath(HostsCase):
    """The answer names what the path asked for, in printable ASCII."""

    def test_control_characters_and_long_names_are_not_repeated(self) -> None:
        for method, kind, body in (
                ('GET', 'os-hosts', None), ('PUT', 'os-hosts', {'rack': 'r'}),
                ('DELETE', 'os-hosts', None), ('GET', 'maintenances', None),
                ('DELETE', 'maintenances', None)):
            for ident, shown in (('a%0a%1b%5b31m', r"'a\n\x1b[31m'"),
                                 ('q' * 3000, 'q' * 60)):
                with self.subTest(f'{method} {kind} {ident[:20]}'):
                    answer = self.ask(method, f'/v1/{kind}/{ident}', 404,
                                      body, version=world.LATEST)
                    text, = (each['detail'] for each in answer['errors'])
                    self.assertIn(shown, text)
                    self.assertTrue(text.isprintable())
                    self.assertLess(len(text), 200)


class TestName(HostsCase):
    """Nova's name of a bare-metal host is the UUID of its node."""

    def setUp(self) -> None:
        super().setUp()
        self.one, self.two = self.ask('GET', '/v1/os-hosts')['hosts']

    def test_of_a_node(self) -> None:
        """The name is the UUID; the name of the node has a key of its own."""
        for host, name in ((self.one, 'compute-1'), (self.two, 'compute-2')):
            self.assertEqual(
                (host['node_uuid'], name),
                (host['hypervisor_hostname'], host['name']))

    def test_of_a_node_without_a_name(self) -> None:
        """The name is the UUID, and there is no name of the node."""
        node = self.served.ironic.add(resource_class='gold')
        host = self.ask('POST', '/v1/os-hosts', 201,
                        {'name': node.uuid})['host']
        self.assertEqual((node.uuid, None), (host['hypervisor_hostname'],
                                             host['name']))

    def test_in_conditions(self) -> None:
        """The UUID and the name match, alone and in a list."""
        uuid, other = self.one['node_uuid'], self.two['node_uuid']
        for mine in (uuid, 'compute-1'):
            for text, found in (
                    (f'["==", "$hypervisor_hostname", "{mine}"]', [uuid]),
                    (f'["=", "$hypervisor_hostname", "{mine}"]', [uuid]),
                    (f'["!=", "$hypervisor_hostname", "{mine}"]', [other]),
                    (f'["in", "$hypervisor_hostname", ["{mine}", "x"]]',
                     [uuid]),
                    (f'["not", ["==", "$hypervisor_hostname", "{mine}"]]',
                     [other])):
                with self.subTest(text):
                    self.assertEqual(found, self.on(text))
        self.on('["==", "$hypervisor_hostname", "compute-3"]', 409)

    def test_is_no_name_for_a_capability(self) -> None:
        """The key is reserved for the name of the host."""
        self.assertIn('name', self.ask(
            'PUT', '/v1/os-hosts/1', 400, {'name': 'x'})['error_message'])


class TestAllocations(HostsCase):
    """The allocations of each host."""

    def made(self, **what: Any) -> Any:
        """Make a lease of a host."""
        return self.ask('POST', '/v1/leases', 201, {
            **_DAY, 'name': 'one', 'reservations': asking.hosts(), **what,
        })['lease']

    def listed(self, query: str = '') -> dict[str, list[Any]]:
        """Return the allocations by the ids of the hosts."""
        found = self.ask('GET', f'/v1/os-hosts/allocations{query}')
        return {each['resource_id']: each['reservations']
                for each in found['allocations']}

    def test_of_hosts_that_are_free(self) -> None:
        """They are in the list, without reservations."""
        self.assertEqual({'1': [], '2': []}, self.listed())
        lease = self.made()
        reservation, = lease['reservations']
        self.assertEqual(
            [[], [{'id': reservation['id'], 'lease_id': lease['id'],
                   'start_date': '2050-01-01T10:00:00.000000',
                   'end_date': '2050-01-02T10:00:00.000000'}]],
            sorted(self.listed().values(), key=len))

    def test_of_one_lease(self) -> None:
        """A filter hides allocations but no hosts, as in Blazar."""
        first, second = self.made(), self.made(name='two')
        for query in (f'?lease_id={first["id"]}',
                      f'?reservation_id={first["reservations"][0]["id"]}'):
            listed = self.listed(query)
            self.assertEqual({'1', '2'}, set(listed))
            self.assertEqual(
                [first['id']], [each['lease_id'] for promised in
                                listed.values() for each in promised])
        self.assertNotEqual(first['id'], second['id'])

    def test_start_is_that_of_the_lease(self) -> None:
        """The start is not the time at which a host replaced another."""
        lease = self.made(start_date='now')
        self.served.clock.ahead += datetime.timedelta(hours=1)
        grown = self.ask('PUT', f'/v1/leases/{lease["id"]}', 200, {
            'reservations': [{'id': lease['reservations'][0]['id'],
                              'min': 2, 'max': 2}]})['lease']
        self.assertEqual(2, len(grown['reservations'][0]['nodes']))
        for promised in (*self.listed().values(), *(
                self.ask('GET', f'/v1/os-hosts/{ident}/allocation')[
                    'allocation']['reservations'] for ident in '12')):
            self.assertEqual([(lease['start_date'], lease['end_date'])],
                             [(each['start_date'], each['end_date'])
                              for each in promised])
