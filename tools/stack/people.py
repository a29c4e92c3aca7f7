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


"""Who is known to the cloud's Keystone: projects, users and their roles."""

from __future__ import annotations

from collections.abc import Mapping
import dataclasses
from typing import Any

from keystoneauth1 import session as ksa_session
from keystoneauth1.identity import v3
import requests

PASSWORD = 'stack'
REGION = 'RegionOne'
SERVICE_PROJECT = 'service'
#: For users who act on the system, and not in a project.
SYSTEM = ''
PROJECTS = (SERVICE_PROJECT, 'alpha', 'beta')


@dataclasses.dataclass(frozen=True)
class Person:
    """A user with the roles that the user has.

    :ivar project: the scope; empty: the system.
    """

    name: str
    project: str
    role: str


ADMIN = Person('admin', 'admin', 'admin')
SYSTEM_ADMIN = Person('admin', SYSTEM, 'admin')
MEMBER = Person('alpha-member', 'alpha', 'member')
READER = Person('alpha-reader', 'alpha', 'reader')
OTHER_MEMBER = Person('beta-member', 'beta', 'member')

_SERVICES = ('glance', 'placement', 'ironic', 'nova', 'neutron',
             'ironic-reservations')
#: All roles; the first two are made by the bootstrap of Keystone.
ASSIGNED = (
    SYSTEM_ADMIN, MEMBER, READER, OTHER_MEMBER,
    *(Person(name, SERVICE_PROJECT, role) for name in _SERVICES
      for role in ('admin', 'service')),
    # NOTE: Ironic shows no node, and no error, to a service of a project.
    *(Person('nova', SYSTEM, role) for role in ('admin', 'service')),
    Person('ironic-reservations', SYSTEM, 'member'))


def login(url: str, name: str, project: str) -> dict[str, str]:
    """Return the options of auth_type password for a user.

    :param url: of Keystone.
    :param project: empty: the system.
    """
    options = {'auth_type': 'password', 'auth_url': f'{url}/v3',
               'username': name, 'password': PASSWORD,
               'user_domain_name': 'Default'}
    if project:
        return {**options, 'project_name': project,
                'project_domain_name': 'Default'}
    return {**options, 'system_scope': 'all'}


def service_login(url: str, name: str) -> dict[str, str]:
    """Return the options by which a service logs in."""
    return {**login(url, name, SERVICE_PROJECT), 'region_name': REGION,
            'valid_interfaces': 'public'}


def token_options(url: str, name: str) -> dict[str, str]:
    """Return the options by which a service checks the tokens of callers."""
    return {**login(url, name, SERVICE_PROJECT), 'www_authenticate_uri': url,
            'service_token_roles_required': 'true',
            'service_token_roles': 'service', 'interface': 'public'}


def environment(url: str, person: Person) -> dict[str, str]:
    """Return the variables by which commands log in."""
    options = login(url, person.name, person.project)
    return {'OS_IDENTITY_API_VERSION': '3', 'OS_REGION_NAME': REGION,
            'OS_INTERFACE': 'public',
            **{f'OS_{key.upper()}': value for key, value in options.items()}}


def session(url: str, person: Person) -> ksa_session.Session:
    """Return a session of HTTP as somebody."""
    options = login(url, person.name, person.project)
    del options['auth_type']
    plain = requests.Session()
    # A proxy in the environment has no business with 127.0.0.1.
    plain.trust_env = False
    return ksa_session.Session(v3.Password(**options), session=plain,
                               timeout=60)


class Directory:
    """Makes what there is in Keystone.

    :param url: of Keystone.
    :ivar projects: their ids, by name.
    """

    def __init__(self, url: str) -> None:
        self._url = url
        self._session = session(url, SYSTEM_ADMIN)
        self.projects: dict[str, str] = {}

    def fill(self) -> None:
        """Make projects and users, and give them their roles."""
        roles = {each['name']: each['id'] for each in self._list('roles')}
        for role in {person.role for person in ASSIGNED} - roles.keys():
            roles[role] = self._make('roles', 'role', {'name': role})
        for name in PROJECTS:
            self._make('projects', 'project', {'name': name,
                                               'domain_id': 'default'})
        self.projects = {each['name']: each['id']
                         for each in self._list('projects')}
        users = {each['name']: each['id'] for each in self._list('users')}
        for person in ASSIGNED:
            if person.name not in users:
                users[person.name] = self._make('users', 'user', {
                    'name': person.name, 'password': PASSWORD,
                    'domain_id': 'default'})
            where = (f'projects/{self.projects[person.project]}'
                     if person.project else 'system')
            self._ask('PUT', f'/{where}/users/{users[person.name]}/roles/'
                             f'{roles[person.role]}')

    def offer(self, endpoints: Mapping[str, str]) -> None:
        """Write the catalog.

        :param endpoints: by the type of the service.
        """
        for kind, url in endpoints.items():
            service = self._make('services', 'service',
                                 {'type': kind, 'name': kind})
            self._make('endpoints', 'endpoint', {
                'service_id': service, 'interface': 'public', 'url': url,
                'region_id': REGION})

    def _list(self, kind: str) -> list[dict[str, Any]]:
        return self._ask('GET', f'/{kind}')[kind]

    def _make(self, kind: str, name: str, body: Mapping[str, str]) -> str:
        return self._ask('POST', f'/{kind}', {name: body})[name]['id']

    def _ask(self, method: str, path: str, body: object = None) -> Any:
        answer = self._session.request(f'{self._url}/v3{path}', method,
                                       json=body)
        return answer.json() if answer.content else None
