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

"""Queries that only the API and the guard send, on each database server."""

from typing import Any
import uuid

import testtools

from ironic_reservations.api import identity
from ironic_reservations.db import lease_work
from ironic_reservations.engine.in_flight import protect
from tests.inprocess.api import asking
from tests.inprocess.api import world
from tests.real import migrated

_OPERATOR, _RED = asking.OPERATOR, asking.MEMBER


class _Asked:

    kind: str

    def serve(self, *provider: Any, **options: Any) -> None:
        url = self.useFixture(migrated.Database(self.kind)).url
        self.served = self.useFixture(world.World(
            *provider, leases__project_limits=True,
            leases__max_horizon=10 ** 9, database__connection=url,
            # NOTE: a test that waits for a CPU can hang for seconds.
            database__idle_in_transaction_timeout=60, **options))

    def send(self, method: str, path: str, document: Any = None,
             status: int = 200, **who: str) -> Any:
        answer = world.request(self.served, method, path, document,
                               **(who or _RED))
        self.assertEqual(status, answer.status, answer.body)
        return answer.json if answer.body.startswith(b'{') else (
            answer.body.decode())

    def host(self, name: str, **more: str) -> None:
        self.served.ironic.add(name=name, resource_class='gold', owner='red')
        self.send('POST', '/v1/os-hosts', {'name': name, **more}, 201,
                  **_OPERATOR)

    def lease(self, status: int = 201) -> Any:
        return self.send('POST', '/v1/leases', asking.lease(
            '02 10', '02 18', name='there'), status)

    def found(self, path: str, kind: str, key: str = 'id',
              **headers: str) -> list[str]:
        """Return a value of each object on the pages of a list."""
        found = []
        while path is not None:
            page = self.send('GET', path, **headers)
            found += [each[key] for each in page[kind]]
            path = page.get('next')
            path = path and path[path.index('/v1'):]
        return found

    def serve_leased(self, *provider: Any, **options: Any) -> None:
        """Serve one host, which a lease has."""
        self.serve(*provider, **options)
        self.host('a')
        self.lease()

    def check_limits(self, *provider: Any) -> None:
        """Check that a lease is counted."""
        self.serve_leased(*provider, leases__max_leases_per_project=2)
        told = self.send('GET', '/v1/limits')['limits']['absolute']
        self.assertIn(('max_leases_per_project', 2, 1), [
            (each['limit'], each['allowed'], each['used']) for each in told])

    def check_usage(self, *provider: Any) -> None:
        """Check that the hours of a lease are counted."""
        self.serve_leased(*provider)
        told = self.send('GET', '/v1/usage?first_day=2050-01-01&'
                         'last_day=2050-01-03')['usage']
        self.assertEqual(8, told['total']['promised'])

    def reserve(self) -> str:
        made = self.send('POST', '/v1/reservations', {
            'instance_uuid': str(uuid.uuid4()),
            'node_uuid': [self.served.ironic.add(owner='red').uuid]}, 201)
        return made['reservation']['instance_uuid']

    def test_pages_of_reservations(self) -> None:
        """In both orders, each reservation is there once."""
        self.serve()
        made = [self.reserve() for _ in range(3)]
        for query, expected in (
                ('', made),
                ('&sort_key=instance_uuid&sort_dir=desc',
                 sorted(made, reverse=True)),
                ('&sort_key=instance_uuid', sorted(made)),
                ('&sort_dir=desc', made[::-1])):
            self.assertEqual(expected, self.found(
                f'/v1/reservations?limit=1{query}', 'reservations',
                'instance_uuid'))

    def test_filters_of_leases(self) -> None:
        """Each filter, with and without pages, which keep it."""
        self.serve()
        nodes = [self.served.ironic.add(name=name, resource_class=name,
                                        owner='red').uuid
                 for name in ('gold', 'lead')]
        for name in ('gold', 'lead'):
            self.send('POST', '/v1/os-hosts', {'name': name}, 201, **_OPERATOR)
        for name, day, kind in (('a', 1, 'gold'), ('b', 2, 'gold'),
                                ('b', 4, 'gold'), ('b', 4, 'lead')):
            self.send('POST', '/v1/leases', asking.lease(
                f'0{day} 10', f'0{day} 18', 1,
                f'["==", "$resource_class", "{kind}"]', name=name), 201)
        every = [lease['id'] for lease
                 in self.send('GET', '/v1/leases')['leases']]
        for query, expected in (
                ('name=b', every[1:]), ('name=B', []), ('name=b ', []),
                ('status=PENDING', every), ('status=ACTIVE,ERROR', []),
                ('status=TERMINATED', []),
                (f'node={nodes[0]}', every[:3]),
                (f'node={nodes[1]}', every[3:]),
                ('from=2050-01-02 18:00', every[2:]),
                ('to=2050-01-02 10:00', every[:1]),
                ('from=now&to=now', []),
                ('from=2050-01-01T18:00Z&to=2050-01-04T11:00%2B01:00',
                 every[1:2]),
                (f'name=b&status=PENDING,ACTIVE&node={nodes[0]}'
                 '&from=2050-01-02 00:00&to=2050-01-05 00:00', every[1:3])):
            for limit in ('', '&limit=1'):
                path = f'/v1/leases?{query}{limit}'.replace(' ', '%20')
                self.assertEqual(expected, self.found(
                    path, 'leases', version=asking.since(27), **_RED), path)

    def test_pages_of_hosts(self) -> None:
        self.serve()
        for name in ('a', 'b'):
            self.host(name)
        self.assertEqual(['1', '2'], self.found('/v1/os-hosts?limit=1',
                                                'hosts', **_OPERATOR))

    def test_properties_of_hosts(self) -> None:
        self.serve()
        self.host('a', rack='r2')
        self.host('b', rack='r1', gpu='yes')
        self.send('PATCH', '/v1/os-hosts/properties/gpu', {'private': True},
                  **_OPERATOR)
        shown = self.send('GET', '/v1/os-hosts/properties?detail=True',
                          **_OPERATOR)['resource_properties']
        self.assertEqual([('rack', ['r1', 'r2'])], [
            (each['property'], sorted(each['values'])) for each in shown])

    def test_metrics(self) -> None:
        self.serve()
        self.reserve()
        self.host('a')
        self.lease()
        self.served.look_outside()
        shown = self.send('GET', '/metrics')
        for line in ('live{state="reserved"} 1.0',
                     'leases{status="PENDING"} 1.0'):
            self.assertIn(f'ironic_reservations_{line}\n', shown)

    def test_what_a_project_has(self) -> None:
        self.check_limits()

    def test_what_all_have_together(self) -> None:
        """Without Keystone all callers are one project."""
        self.check_limits(identity.administrator, 'noauth')

    def test_leases_of_a_project(self) -> None:
        self.serve_leased()
        self.assertEqual(['there'], [
            each['name'] for each in self.send('GET', '/v1/leases')['leases']])

    def test_usage_of_a_project(self) -> None:
        self.check_usage()

    def test_usage_without_projects(self) -> None:
        """The leases of an administrator without a project are counted."""
        self.check_usage(identity.administrator, 'noauth')

    def test_lease_in_the_way_is_named(self) -> None:
        self.serve_leased()
        reason, = self.lease(409)['details']['reasons']
        self.assertEqual(['there'], [each['lease_name']
                                     for each in reason['blockers']])

    def test_why_no_node_is_free(self) -> None:
        """By class and trait, for a caller who sees some of the nodes."""
        self.serve()
        self.served.ironic.add(owner='red', resource_class='gold',
                               maintenance=True)
        self.served.look_outside()
        refused = self.send('POST', '/v1/reservations', {
            'instance_uuid': str(uuid.uuid4()), 'resource_class': 'gold'},
            409)
        self.assertIn('maintenance', refused['errors'][0]['detail'])

    def test_lease_that_nobody_works_on_is_locked(self) -> None:
        """The lock keeps workers from the lease while it is ended."""
        self.serve()
        self.host('a')
        made = self.lease()['lease']['id']
        with self.served.engine.database.write() as connection:
            self.assertFalse(lease_work.lock(connection, made,
                                             self.served.clock()))

    def test_who_has_a_node(self) -> None:
        self.serve()
        instance = self.reserve()
        node, = self.served.ironic.nodes()
        view, _ = protect.read_view(self.served.engine, node.uuid)
        held = view.reservation
        self.assertEqual(instance, held.instance_uuid)


class TestOnMariaDB(_Asked, testtools.TestCase):
    kind = 'mysql'


class TestOnPostgreSQL(_Asked, testtools.TestCase):
    kind = 'postgresql'
