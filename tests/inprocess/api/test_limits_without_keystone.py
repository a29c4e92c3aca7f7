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

"""Limits of the operator hold without projects, too.

They did not hold there, since administrators may exceed them.
"""

import datetime
from typing import Any
import uuid

from ironic_reservations import clock
from tests.inprocess.api import asking
from tests.inprocess.api import on_its_own
from tests.inprocess.api import world

_LEASES = '/v1/leases'
_RESERVATIONS = '/v1/reservations'


class TestNoauth(asking.AskingCase):
    """Everybody is an administrator, and all callers are one project."""

    member = operator = {}

    def serve(self) -> world.World:
        return on_its_own.Standalone(auth_strategy='noauth',
                                     leases__project_limits=True)

    def setUp(self) -> None:
        super().setUp()
        for number in range(3):
            self.open_host(f'host-{number}')

    def limit(self, **limits: int) -> None:
        """Set limits, as ``group__name``."""
        for name, value in limits.items():
            group, _, option = name.partition('__')
            self.served.configure(group, **{option: value})

    def lease(self, status: int, begin: float, end: float,
              hosts: int = 1) -> Any:
        """Request a lease, with times in hours from now."""
        now = clock.utc_now()
        return self.send('POST', _LEASES, status, {
            'name': 'lease',
            **{f'{key}_date': (now + datetime.timedelta(hours=hours)
                               ).isoformat()
               for key, hours in (('start', begin), ('end', end))},
            'reservations': asking.hosts(hosts)})

    def refused(self, limit: str, *args: Any) -> list[dict[str, Any]]:
        """Request a lease beyond a limit, and return the refusal."""
        answer = self.lease(403, *args).json
        self.assertEqual(('lease.limit_exceeded', limit), (
            answer['code'], answer['details']['limit']))
        offers: list[dict[str, Any]] = answer['details']['offers']
        return offers

    def test_longest_lease(self) -> None:
        """The limit holds for new leases and for extensions."""
        self.limit(leases__max_duration=7200)
        offer = self.refused('max_duration', 1, 3.1)[0]
        self.send('POST', _LEASES, 201, offer['lease'])
        made = self.lease(201, 1, 2).json['lease']
        late = clock.utc_now() + datetime.timedelta(hours=4)
        answer = self.send('PUT', f'{_LEASES}/{made["id"]}', 403,
                           {'end_date': late.isoformat()})
        self.assertEqual('max_duration', answer.json['details']['limit'])

    def test_latest_end(self) -> None:
        """The latest end of a lease."""
        self.limit(leases__max_horizon=7200)
        self.refused('max_horizon', 1, 2.1)
        self.lease(201, 1, 1.9)

    def test_leases_of_all_are_counted_together(self) -> None:
        """No project distinguishes the leases."""
        self.limit(leases__max_leases_per_project=2)
        self.lease(201, 1, 2)
        self.lease(201, 3, 4)
        self.refused('max_leases_per_project', 5, 6)

    def test_hosts_of_all_are_counted_together(self) -> None:
        """The refusal offers the remaining hosts."""
        self.limit(leases__max_hosts_per_project=2)
        self.lease(201, 1, 2)
        offer = self.refused('max_hosts_per_project', 1, 2, 2)[0]
        self.send('POST', _LEASES, 201, offer['lease'])

    def reserve(self, status: int) -> Any:
        """Reserve any of three nodes."""
        return self.send('POST', _RESERVATIONS, status, {
            'instance_uuid': str(uuid.uuid4()), 'node_uuid': [
                each.uuid for each in self.served.ironic.nodes()]})

    def test_reservations_that_wait(self) -> None:
        """All reservations count, and none is renewed for ever."""
        self.limit(reservations__max_per_project=2,
                   reservations__max_lifetime=700)
        made = self.reserve(201).json['reservation']
        self.reserve(201)
        answer = self.reserve(403).json['errors'][0]
        self.assertEqual(('reservation.limit_exceeded', 'max_per_project'),
                         (answer['code'], answer['limit']))
        path = f'{_RESERVATIONS}/{made["uuid"]}'
        for ttl, status in ((690, 200), (800, 403)):
            self.send('PATCH', path, status, [
                {'op': 'replace', 'path': '/ttl', 'value': ttl}])

    def test_defaults_are_for_projects(self) -> None:
        """The only project may use the whole cloud."""
        self.lease(201, 24 * 740, 24 * 1200, 3)

    def test_what_is_set_and_switched_off(self) -> None:
        """One option removes all limits."""
        self.limit(leases__max_duration=7200)
        self.served.configure('leases', project_limits=False)
        self.lease(201, 1, 4)


class TestHttpBasic(TestNoauth):
    """Users in the file are administrators, and the same holds."""

    member = operator = on_its_own.basic('olga', 'secret')

    def serve(self) -> world.World:
        return on_its_own.WithUsers({'olga': 'secret'},
                                    leases__project_limits=True)
