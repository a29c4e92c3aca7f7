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

"""The identity of the caller, for each way of authentication."""

from typing import Any
from typing import ClassVar
import uuid

from keystonemiddleware import fixture as ksm_fixture
from oslo_config import cfg
import testtools

from ironic_reservations.api import identity
from ironic_reservations.api import standalone
from tests.inprocess.api import asking
from tests.inprocess.api import on_its_own
from tests.inprocess.api import world

PATH = '/v1/reservations'
FORGED = {'x_user_id': 'mallory', 'x_user': 'mallory', 'x_roles': 'admin',
          'x_project_id': 'red', 'x_identity_status': 'Confirmed',
          'x_system_scope': 'all', 'x_is_admin': 'true'}
PUBLIC = ('/', '/v1', '/v1/', '/healthcheck', '/metrics', '/openapi.json')


def _reserve(served: world.World, **headers: str) -> world.Answer:
    node = served.ironic.add(owner='red')
    return world.request(
        served, 'POST', PATH,
        {'instance_uuid': node.uuid, 'node_uuid': [node.uuid]}, **headers)


class TestNoauth(testtools.TestCase):
    """Everybody is an administrator, whatever the headers say."""

    def test_headers_of_clients_are_ignored(self) -> None:
        """A forged user or project is not written to the row."""
        served = self.useFixture(on_its_own.Standalone(auth_strategy='noauth'))
        made = _reserve(served, **FORGED)
        self.assertEqual(201, made.status)
        self.assertIsNone(made.json['reservation']['project_id'])
        self.assertIsNone(made.json['reservation']['user_id'])

    def test_system_scope_of_clients_is_ignored(self) -> None:
        """A forged project sees the same list as no project."""
        served = self.useFixture(on_its_own.Standalone(auth_strategy='noauth'))
        _reserve(served)
        self.assertEqual(world.request(served, 'GET', PATH).json,
                         world.request(served, 'GET', PATH, **FORGED).json)


class TestHttpBasic(testtools.TestCase):
    """Every user in the file is an administrator."""

    def setUp(self) -> None:
        super().setUp()
        self.served = self.useFixture(on_its_own.WithUsers(
            {'olga': 'secret:1'}))

    def test_user_of_the_file(self) -> None:
        """The user has access, and the row has the name."""
        made = _reserve(self.served, **on_its_own.basic('olga', 'secret:1'))
        self.assertEqual(201, made.status)
        self.assertEqual('olga', made.json['reservation']['user_id'])
        self.assertIsNone(made.json['reservation']['project_id'])

    def test_forged_headers(self) -> None:
        """They replace no password, and change no user."""
        self.assertEqual(401, _reserve(self.served, **FORGED).status)
        made = _reserve(self.served, **FORGED,
                        **on_its_own.basic('olga', 'secret:1'))
        self.assertEqual('olga', made.json['reservation']['user_id'])

    def test_refused_credentials(self) -> None:
        """The answer is a 401 with the challenge, in Ironic's format."""
        for headers in ({}, on_its_own.basic('olga', 'wrong'),
                        on_its_own.basic('mallory', 'secret:1'),
                        {'authorization': 'Bearer x'},
                        {'authorization': 'Basic !'},
                        {'authorization': 'Basic'},
                        {'authorization': 'Basic b2xnYQ=='}):
            answer = world.request(self.served, 'GET', PATH, **headers)
            self.assertEqual(401, answer.status, headers)
            self.assertEqual(401, answer.json['error']['code'])
            self.assertIn('Basic realm', answer.headers['WWW-Authenticate'])
            self.assertIn('x-openstack-request-id', answer.headers)

    def test_refusals_of_requests_stay_what_they_are(self) -> None:
        """A bad request does not count as a wrong password."""
        answer = world.request(self.served, 'POST', PATH, raw=b'{',
                               **on_its_own.basic('olga', 'secret:1'))
        self.assertEqual((400, 'request.malformed'),
                         (answer.status, answer.code))

    def test_public_paths(self) -> None:
        """They need no credentials."""
        for path in PUBLIC:
            self.assertEqual(
                200, world.request(self.served, 'GET', path).status, path)


class TestKeystone(testtools.TestCase):
    """keystonemiddleware identifies the caller, with each role."""

    def setUp(self) -> None:
        super().setUp()
        self.tokens = self.useFixture(ksm_fixture.AuthTokenFixture())
        self.served = self.useFixture(
            on_its_own.Standalone(auth_strategy='keystone'))

    def _as(self, project: str | None, *roles: str) -> dict[str, str]:
        token = uuid.uuid4().hex
        self.tokens.add_token_data(
            token_id=token, project_id=project, user_id='u' + '-'.join(roles),
            user_domain_id='default', user_domain_name='Default',
            project_domain_id='default' if project else None,
            project_domain_name='Default' if project else None,
            project_name=project, user_name='someone', role_list=roles)
        return {'x_auth_token': token}

    def test_no_token(self) -> None:
        """The answer is keystonemiddleware's 401."""
        answer = world.request(self.served, 'GET', PATH)
        self.assertEqual(401, answer.status)
        self.assertIn('WWW-Authenticate', answer.headers)
        self.assertIn('OpenStack-API-Maximum-Version', answer.headers)

    def test_keystone_that_is_nowhere(self) -> None:
        """The error comes at the start, not as a 500 to a caller."""
        nowhere = world.World(identity.keystone, 'keystone')
        served = self.useFixture(nowhere)
        served.conf.set_override('auth_strategy', 'keystone')
        with self.assertRaisesRegex(cfg.Error, 'auth_strategy is keystone.*'
                                    'http_basic or noauth'):
            standalone.with_engine(served.conf, served.engine)

    def test_no_token_but_forged_headers(self) -> None:
        """Forged headers give no access."""
        self.assertEqual(401, _reserve(self.served, **FORGED).status)

    def test_public_paths(self) -> None:
        """They need no token."""
        for path in PUBLIC:
            self.assertEqual(
                200, world.request(self.served, 'GET', path).status, path)

    def test_member_with_forged_headers(self) -> None:
        """The project and roles are those of the token."""
        made = _reserve(self.served, **{
            **FORGED, 'x_project_id': 'blue',
            **self._as('red', 'member', 'reader')})
        self.assertEqual(201, made.status)
        self.assertEqual('red', made.json['reservation']['project_id'])

    def test_each_role(self) -> None:
        """The operations of a reader, a member, an admin and a service."""
        own = _reserve(self.served, **self._as('red', 'member', 'reader'))
        path = f"{PATH}/{own.json['reservation']['uuid']}"
        renewal = [{'op': 'replace', 'path': '/ttl', 'value': 60}]
        for project, roles, shown, renewed, listed, posted in (
                ('red', ('member', 'reader'), 200, 200, 1, 201),
                ('red', ('reader',), 200, 403, 1, 403),
                ('red', ('guest',), 403, 403, 403, 403),
                ('blue', ('member', 'reader'), 404, 404, 0, 409),
                ('blue', ('reader',), 404, 404, 0, 403),
                # An administrator of a project is not one of the cloud.
                ('operators', ('admin', 'member', 'reader'), 404, 404, 0,
                 409),
                ('service', ('service',), 404, 404, 0, 403)):
            who = self._as(project, *roles)
            got = (
                world.request(self.served, 'GET', path, **who).status,
                world.request(self.served, 'PATCH', path, renewal,
                              **who).status)
            self.assertEqual((shown, renewed), got, (project, roles))
            page = world.request(self.served, 'GET', f'{PATH}?limit=1', **who)
            self.assertEqual(
                listed, len(page.json['reservations'])
                if page.status == 200 else page.status, (project, roles))
            made = _reserve(self.served, **who)
            self.assertEqual(posted, made.status, (project, roles))
            if made.status == 201:
                world.request(
                    self.served, 'DELETE',
                    f"{PATH}/{made.json['reservation']['uuid']}", **who)


class TestEmptyProject(asking.AskingCase):
    """An authentication that writes an empty header for a missing project."""

    nodes: ClassVar[dict[str, dict[str, Any]]] = {'a': {}}
    administrator: ClassVar[dict[str, str]] = {
        'x_roles': 'admin,member,reader', 'openstack_system_scope': 'all'}

    def test_it_has_nothing_of_what_an_administrator_has_made(self) -> None:
        """Its callers read and changed the leases without a project."""
        made = self.book('04 10', '04 12', who=self.administrator)
        nobody = {**self.member, 'x_project_id': ''}
        for method, document in (('GET', None), ('PUT', {'name': 'b'})):
            self.ask(method, f'/v1/leases/{made["id"]}', 403, document,
                     nobody)
