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


"""An operator and members of projects, with an application with hosts."""

import datetime
from typing import Any

import testtools

from tests.inprocess.api import world

OPERATOR = {'x_roles': 'admin,member,reader', 'x_project_id': 'operators',
            'openstack_system_scope': 'all'}
MEMBER = {'x_roles': 'member,reader', 'x_project_id': 'red'}
OTHER = {**MEMBER, 'x_project_id': 'blue'}


def since(minor: int) -> str:
    """Return the version header of a client of Blazar's API and of ours."""
    return f'reservation 1.0, baremetal-reservation 1.{minor}'


def ahead(hours: int) -> str:
    """Return a time in some hours, as requests have it."""
    then = datetime.datetime.now(datetime.UTC) + datetime.timedelta(
        hours=hours)
    return then.strftime('%Y-%m-%d %H:%M')


def hosts(least: int = 1, most: int | None = None,
          properties: str = '') -> list[dict[str, Any]]:
    """Return the reservations of a lease of hosts."""
    return [{'resource_type': 'physical:host', 'min': least,
             'max': most or least, 'resource_properties': properties}]


def lease(start: str, end: str, count: int = 1, properties: str = '',
          **more: Any) -> dict[str, Any]:
    """Return a request for a lease of hosts in January of 2050.

    :param start: the day and hour of the start, as in ``02 10``.
    """
    return {'name': 'lease', 'start_date': f'2050-01-{start}:00',
            'end_date': f'2050-01-{end}:00',
            'reservations': hosts(count, properties=properties), **more}


class AskingCase(testtools.TestCase):
    """An application; by default, a member of a project sends the requests.

    :cvar options: options of its configuration, as ``group__name``.
    :cvar nodes: the values of its hosts, by their names.
    :cvar version: the default version of requests.
    """

    options: dict[str, Any] = {}
    nodes: dict[str, dict[str, Any]] = {}
    version: str | None = world.LATEST
    member = MEMBER
    operator = OPERATOR

    def setUp(self) -> None:
        super().setUp()
        self.served = self.useFixture(self.serve())
        for name, node in self.nodes.items():
            self.open_host(name, **node)

    def serve(self) -> world.World:
        """Return the application."""
        return world.World(**self.options)

    def open_host(self, name: str, **node: Any) -> dict[str, Any]:
        """Enroll a node, and open it to leases."""
        self.served.ironic.add(name=name, **node)
        found: dict[str, Any] = self.ask(
            'POST', '/v1/os-hosts', 201, {'name': name}, self.operator)['host']
        return found

    def send(self, method: str, path: str, status: int = 200,
             document: Any = None, who: dict[str, str] | None = None,
             **more: Any) -> world.Answer:
        """Send a request, and check the status of its answer."""
        answer = world.request(
            self.served, method, path, document, **{
                'version': self.version,
                **(self.member if who is None else who), **more})
        self.assertEqual(status, answer.status, answer.body)
        return answer

    def ask(self, method: str, path: str, status: int = 200,
            document: Any = None, who: dict[str, str] | None = None,
            **more: Any) -> Any:
        """Send a request, and return the body of the answer."""
        answer = self.send(method, path, status, document, who, **more)
        return answer.json if answer.body else None

    def book(self, *wish: Any, status: int = 201, query: str = '',
             who: dict[str, str] | None = None, version: str | None = None,
             **more: Any) -> Any:
        """Request a lease, and return the lease or the refusal.

        :param wish: as for :func:`lease`.
        """
        answer = self.ask('POST', f'/v1/leases{query}', status,
                          lease(*wish, **more), who,
                          version=version or self.version)
        return answer['lease'] if status == 201 else answer
