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


"""Who may do what, with the tokens of a real Keystone."""

from __future__ import annotations

import json

from keystoneauth1 import exceptions as ksa_exc

from tests.stack import base
from tools.stack import people

SERVICE = people.Person('nova', people.SYSTEM, 'service')


class TestReservations(base.TestCase):

    def setUp(self) -> None:
        super().setUp()
        self.mine, self.theirs, self.nobodys = self.nodes[:3]
        self.own(self.mine, 'alpha')
        self.own(self.theirs, 'beta')

    def own(self, node: str, project: str) -> None:
        """Give a node to a project, until the test ends."""
        path = f'/v1/nodes/{node}'
        self.baremetal('PATCH', path, [
            {'op': 'add', 'path': '/owner',
             'value': self.cloud.projects[project]}])
        self.addCleanup(self.baremetal, 'PATCH', path, [
            {'op': 'remove', 'path': '/owner'}])
        self.until('the owner is known', lambda: self.node(node)['owner'])

    def uuids(self, person: people.Person) -> set[str]:
        """Return the reservations that somebody finds."""
        return {each['uuid'] for each in self.reservations(person)}

    def test_member_reserves_what_its_project_owns(self) -> None:
        own = self.reserve(self.mine, person=base.MEMBER)
        self.assertEqual(self.mine, own['node_uuid'])
        for other in (self.theirs, self.nobodys):
            refused = self.assertRaises(
                ksa_exc.HttpError, self.reserve, other, person=base.MEMBER)
            self.assertIn(refused.http_status, (403, 404, 409))
        self.assertEqual(1, len(self.reservations()))

    def test_reader_sees_its_own_and_changes_nothing(self) -> None:
        own = self.reserve(self.mine, person=base.MEMBER)
        self.reserve(self.theirs, person=base.OTHER)
        self.assertEqual({own['uuid']}, self.uuids(base.READER))
        self.assertRaises(ksa_exc.Forbidden, self.reserve, self.mine,
                          person=base.READER)
        self.assertRaises(ksa_exc.Forbidden, self.release, own, base.READER)
        self.release(own, base.MEMBER)
        self.assertEqual(set(), self.uuids(base.READER))

    def test_uuid_of_others_is_never_shown(self) -> None:
        """It is a proof: neither in a list, nor in any refusal."""
        theirs = self.reserve(self.theirs, person=base.OTHER)
        root = f'{self.cloud.ironic.url}/v1/reservations'
        self.assertEqual(set(), self.uuids(base.MEMBER))
        texts = [json.dumps(self.reservations(base.MEMBER))]
        for method, url, body in (
                ('GET', f'{root}?all_projects=true', None),
                ('GET', f'{root}?node={self.theirs}', None),
                ('POST', root, {
                    'instance_uuid': theirs['instance_uuid'],
                    'node_uuid': [self.theirs]}),
                ('PUT', f'{self.cloud.ironic.url}/v1/nodes/{self.theirs}'
                        '/states/provision', {'target': 'active'}),
                ('GET', f'{self.cloud.ironic.url}/v1/nodes', None)):
            answer = self.cloud.session(base.MEMBER).request(
                url, method, json=body, raise_exc=False,
                headers=base.LATEST)
            texts.append(answer.text)
        for text in texts:
            self.assertNotIn(theirs['uuid'], text)
        for act in ('GET', 'DELETE'):
            refused = self.assertRaises(
                ksa_exc.HttpError, self.cloud.ask, base.MEMBER, act,
                f'{root}/{theirs["uuid"]}')
            self.assertIn(refused.http_status, (403, 404))
        self.assertEqual({theirs['uuid']}, self.uuids(base.OTHER))

    def test_the_system_sees_and_ends_all(self) -> None:
        """And an administrator of a project does not."""
        both = {self.reserve(self.mine, person=base.MEMBER)['uuid'],
                self.reserve(self.theirs, person=base.OTHER)['uuid']}
        for person in (base.SYSTEM, SERVICE):
            self.assertEqual(both, self.uuids(person))
        self.assertEqual(set(), self.uuids(base.ADMIN))
        for each in self.reservations(base.SYSTEM):
            self.assertRaises(ksa_exc.NotFound, self.release, each,
                              base.ADMIN)
            self.release(each, base.SYSTEM)
        self.assertEqual([], self.reservations())

    def test_node_of_another_is_not_deployed_with_a_guess(self) -> None:
        theirs = self.reserve(self.theirs, person=base.OTHER)
        path = f'/v1/nodes/{self.theirs}/states/provision'
        for proof in ({}, {'reservation_uuid': theirs['instance_uuid']}):
            refused = self.assertRaises(
                ksa_exc.Forbidden, self.baremetal, 'PUT', path,
                {'target': 'active', **proof})
            self.assertNotIn(theirs['uuid'], refused.response.text)


class TestLeases(base.TestCase):

    def setUp(self) -> None:
        super().setUp()
        self.open_hosts(*self.nodes)

    def ids(self, person: people.Person) -> set[str]:
        """Return the leases that somebody finds."""
        return {each['id'] for each in
                self.ask_leases(person, 'GET', '')['leases']
                if each['status'] != 'TERMINATED'}

    def test_project_sees_its_own_and_the_availability_of_all(self) -> None:
        mine = self.lease(self.hosts(1))
        theirs = self.lease(self.hosts(2), person=base.OTHER)
        self.assertEqual({mine['id']}, self.ids(base.MEMBER))
        self.assertEqual({mine['id']}, self.ids(base.READER))
        self.assertEqual({theirs['id']}, self.ids(base.OTHER))
        self.assertTrue({mine['id'], theirs['id']} <= self.ids(base.SYSTEM))
        self.assertEqual(set(), self.ids(base.ADMIN))
        shown = self.cloud.ask(
            base.READER, 'GET', f'{self.cloud.ironic.url}/v1/availability')
        gold, = [each for each in shown['availability']['classes']
                 if each['resource_class'] == 'gold']
        self.assertEqual((len(self.nodes), len(self.nodes) - 3),
                         (gold['hosts'], gold['spans'][0]['free']))
        for secret in (theirs['id'], theirs['reservations'][0]['id'],
                       *self.nodes_of(theirs)):
            self.assertNotIn(secret, json.dumps(shown))

    def test_reader_makes_and_ends_no_lease(self) -> None:
        mine = self.lease(self.hosts(1))
        self.assertRaises(ksa_exc.Forbidden, self.lease, self.hosts(1),
                          person=base.READER)
        for person in (base.READER, base.OTHER):
            refused = self.assertRaises(
                ksa_exc.HttpError, self.ask_leases, person, 'DELETE',
                f'/{mine["id"]}')
            self.assertIn(refused.http_status, (403, 404))
        self.assertEqual('ACTIVE', self.shown(mine)['status'])

    def test_reservation_of_a_lease_is_shown_to_no_other_project(
            self) -> None:
        theirs = self.lease(self.hosts(1), person=base.OTHER)
        proof, node = theirs['reservations'][0]['id'], self.nodes_of(theirs)
        self.assertRaises(ksa_exc.HttpError, self.ask_leases, base.MEMBER,
                          'GET', f'/{theirs["id"]}')
        refused = self.assertRaises(ksa_exc.HttpError, self.lease,
                                    self.hosts(len(self.nodes)))
        self.assertNotIn(proof, refused.response.text)
        refused = self.assertRaises(
            ksa_exc.Forbidden, self.baremetal, 'PUT',
            f'/v1/nodes/{node[0]}/states/provision', {'target': 'active'})
        self.assertNotIn(proof, refused.response.text)

    def test_hosts_are_the_administrators(self) -> None:
        root = f'{self.cloud.ironic.url}/v1/os-hosts'
        for person in (base.MEMBER, base.READER):
            self.assertRaises(ksa_exc.Forbidden, self.cloud.ask, person,
                              'POST', root, {'name': self.nodes[0]})
        self.assertEqual(len(self.nodes), len(self.cloud.ask(
            base.SYSTEM, 'GET', root)['hosts']))

    def test_command_of_blazar_works_with_the_catalog(self) -> None:
        """An unmodified client finds us by the type of the service."""
        mine = self.lease(self.hosts(1))
        listed = json.loads(self.openstack(
            base.MEMBER, 'reservation', 'lease', 'list', '-f', 'json'))
        self.assertIn(mine['id'], {each['id'] for each in listed})
        listed = json.loads(self.openstack(
            base.OTHER, 'reservation', 'lease', 'list', '-f', 'json'))
        self.assertNotIn(mine['id'], {each['id'] for each in listed})

    def test_somebody_without_a_token_gets_nothing(self) -> None:
        for path in ('/v1/leases', '/v1/reservations', '/v1/os-hosts',
                     '/v1/availability'):
            refused = self.assertRaises(
                ksa_exc.Unauthorized, self.cloud.session(base.MEMBER).get,
                f'{self.cloud.ironic.url}{path}', authenticated=False)
            self.assertEqual(401, refused.http_status)
