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

"""A Keystone that issues and revokes tokens, and can be delayed.

The sign-in speaks HTTP to it; the API asks keystonemiddleware's own fixture,
which knows the same tokens.
"""

from collections.abc import Iterable
import json
import threading
from typing import Any
import uuid

import fixtures
from keystoneauth1 import fixture as ksa_fixture
from keystonemiddleware import fixture as ksm_fixture

from ironic_reservations.api import wsgi
from tests import listening

#: For tests that make tokens of their own.
__all__ = ('SmallKeystone', 'ksa_fixture', 'ksm_fixture')

USERS = {('anna', 'Default'): 'secret', ('anna', 'other'): 'different'}
PROJECTS = {('red', 'Default'), ('red', 'other')}
CREDENTIALS = {'a1b2c3': 'credential-secret'}


class SmallKeystone(fixtures.Fixture):
    """Serves POST and DELETE of /v3/auth/tokens, and role assignments.

    :ivar url: the URL of its root.
    :ivar asked: the bodies of the requests.
    :ivar fails: the status and headers of a failure that it returns instead.
    :ivar failure: the body of that answer.
    :ivar silent: whether it sends no answers.
    :ivar size: the length of its tokens.
    :ivar roles: the roles of each user in each project.
    :ivar enabled: the state of "users" and "projects"; ``None``: they do not
        exist.

    :ivar projects: the ids of all projects; ``None``: any.
    """

    url: str

    def __init__(self) -> None:
        super().__init__()
        self.asked: list[Any] = []
        self.fails: tuple[int, list[tuple[str, str]]] | None = None
        self.failure = b'{}'
        self.silent = False
        self.size = 180
        self.roles: list[str] = []
        self.enabled: dict[str, bool | None] = {}
        self.projects: set[str] | None = None
        self._go_on = threading.Event()

    def _setUp(self) -> None:
        self.tokens = self.useFixture(ksm_fixture.AuthTokenFixture())
        self.url = self.useFixture(listening.Listening(self)).url
        self.addCleanup(self._go_on.set)

    def __call__(self, environ: wsgi.Environ,
                 start_response: wsgi.StartResponse) -> Iterable[bytes]:
        raw = environ['wsgi.input'].read(
            int(environ.get('CONTENT_LENGTH') or 0))
        self.asked.append(json.loads(raw) if raw else None)
        if self.silent:
            self._go_on.wait()
        if self.fails is not None:
            return wsgi.Answer(*self.fails, self.failure).send(start_response)
        path = environ['PATH_INFO']
        if path == '/v3/role_assignments':
            return _json(200, {'role_assignments': [
                {'role': {'name': role}} for role in self.roles]},
                []).send(start_response)
        if path.startswith('/v3/projects') and self.projects is not None:
            return self._shown(path.removeprefix('/v3/projects').strip('/')
                               ).send(start_response)
        if path.startswith(('/v3/users/', '/v3/projects/')):
            kind = path.split('/')[2]
            enabled = self.enabled.get(kind, True)
            return _json(*(
                (404, {'error': {'code': 404}}) if enabled is None else
                (200, {kind.removesuffix('s'): {'enabled': enabled}})),
                []).send(start_response)
        if path in ('/', '/v3'):
            version = {'id': 'v3.14', 'status': 'stable', 'links': [
                {'rel': 'self', 'href': f'{self.url}/v3/'}]}
            return _json(*((300, {'versions': {'values': [version]}})
                           if path == '/' else (200, {'version': version})),
                         []).send(start_response)
        if path != '/v3/auth/tokens':
            return wsgi.Answer(404, [], b'').send(start_response)
        if environ['REQUEST_METHOD'] == 'DELETE':
            self.end(environ['HTTP_X_SUBJECT_TOKEN'])
            return wsgi.Answer(204, [], b'').send(start_response)
        token = self._issued(json.loads(raw)['auth'])
        if token is None:
            return _json(401, {'error': {'code': 401}}, []).send(
                start_response)
        data = self.tokens._token_data[token]
        return _json(201, data, [('X-Subject-Token', token)]).send(
            start_response)

    def _shown(self, ident: str) -> wsgi.Answer:
        assert self.projects is not None
        if not ident:
            return _json(200, {'projects': [
                {'id': each} for each in sorted(self.projects)]}, [])
        if ident in self.projects:
            return _json(200, {'project': {'id': ident}}, [])
        return _json(404, {'error': {'code': 404, 'title': 'Not Found'}}, [])

    def end(self, token: str) -> None:
        """Revoke a token."""
        del self.tokens._token_data[token]

    def _issued(self, auth: dict[str, Any]) -> str | None:
        identity = auth['identity']
        if identity['methods'] == ['application_credential']:
            given = identity['application_credential']
            if CREDENTIALS.get(given['id']) != given['secret']:
                return None
            return self._token('anna', 'Default', 'red', 'Default')
        user = identity['password']['user']
        project = auth['scope']['project']
        named = (user['name'], user['domain']['name'])
        wanted = (project['name'], project['domain']['name'])
        if USERS.get(named) != user['password'] or wanted not in PROJECTS:
            return None
        return self._token(*named, *wanted)

    def _token(self, user: str, user_domain: str, project: str,
               project_domain: str) -> str:
        token = uuid.uuid4().hex.ljust(self.size, 'x')
        self.tokens.add_token_data(
            token_id=token, user_id=f'id-of-{user}', user_name=user,
            user_domain_id='default', user_domain_name=user_domain,
            project_id=f'id-of-{project}', project_name=project,
            project_domain_id='default', project_domain_name=project_domain,
            role_list=('member', 'reader'))
        return token


def _json(status: int, document: Any,
          headers: list[tuple[str, str]]) -> wsgi.Answer:
    raw = json.dumps(document).encode()
    return wsgi.Answer(status, [
        ('Content-Type', 'application/json'),
        ('Content-Length', str(len(raw))), *headers], raw)
