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

"""A conductor dies, and another one takes its nodes over.

What was promised of them stays promised: a deploy that the dead one was at
comes to nothing and is its holder's to try again, and whoever had a node
deployed has it on.
"""

from __future__ import annotations

from collections.abc import Callable
import datetime
import pathlib
import random
from typing import Any

import fixtures
import requests
import testtools
from testtools import content

from tests import waiting
from tests.processes import cloud
from tests.processes import mix as mixes
from tests.processes import people
from tests.processes import process
from tests.real import databases
from tests.world import new_uuid
from tools import all_in_one

#: How long each step of a deploy takes: so slow a conductor dies in one.
_SLOW = 6
_HOLDER, _TENANT, _STRANGER = people.ALL_TENANTS[:3]
_POWER = {'target': 'reboot'}
_REQUIRED = (403, 'reservation.proof_required')


class _Cloud(cloud.Cloud):
    """Two conductors, the second one slow, that miss each other soon."""

    apis = 1
    reconcilers = 0

    def _ironic_options(self, role: str, port: int) -> all_in_one.Options:
        options = {name: dict(values) for name, values in
                   super()._ironic_options(role, port).items()}
        options['conductor'] |= {
            'heartbeat_timeout': 15, 'check_provision_state_interval': 2,
            'sync_local_state_interval': 2}
        # NOTE: they are made one after the other.
        options['fake']['deploy_delay'] = _SLOW * any(
            each.role == 'conductor' for each in self.processes)
        return options


class TakeOverTestCase(testtools.TestCase):

    def setUp(self) -> None:
        super().setUp()
        # NOTE: a server that need not be there is asked for first.
        self.useFixture(databases.Database('mysql'))
        folder = pathlib.Path(self.useFixture(fixtures.TempDir()).path)
        self.cloud = _Cloud(
            'mysql', folder, random.Random(1), lambda happened: None,
            mix=mixes.Mix(classes={f'class-{number}': 1 for number
                                   in range(8)}, all_hosts=1.0))
        self.useFixture(self.cloud)
        self.quick, self.slow = self.cloud.of('conductor')
        for each in self.cloud.processes:
            self.addDetail(each.name, content.Content(
                content.text_content('').content_type,
                lambda each=each: [each.log_tail(200).encode()]))
        self.hosts = {each.name: self.host(each)
                      for each in (self.quick, self.slow)}
        self.wait('all hosts', lambda: len(self.ask(
            people.OPERATOR, 'GET', '/v1/os-hosts')[1]['hosts'])
            == len(self.cloud.nodes))

    def host(self, conductor: process.Process) -> str:
        """Read the name by which Ironic knows a conductor."""
        path = self.cloud.folder / f'{conductor.name}.ironic.conf'
        return next(line.partition('=')[2].strip()
                    for line in path.read_text().splitlines()
                    if line.startswith('host ='))

    def ask(self, person: people.Person, method: str, path: str,
            body: Any = None, proof: str | None = None
            ) -> tuple[int, Any]:
        """Send a request; return its status and its document."""
        with requests.Session() as session:
            session.trust_env = False
            answer = session.request(
                method, f'{self.cloud.url}{path}', json=body, timeout=90,
                headers={'X-Auth-Token': person.token,
                         'X-OpenStack-Ironic-API-Version': '1.109',
                         'OpenStack-API-Version':
                             'baremetal-reservation latest',
                         **({} if proof is None else {
                             'OpenStack-Baremetal-Reservation': proof})})
        return answer.status_code, answer.json() if answer.content else None

    def answered(self, person: people.Person, node: str, below: str,
                 body: Any, proof: str | None = None
                 ) -> tuple[int, str | None]:
        """Ask for a change; return the status, and the code of ours."""
        status, document = self.ask(
            person, 'PUT', f'/v1/nodes/{node}/states/{below}', body, proof)
        return status, (document['errors'][0]['code'] if document
                        and 'errors' in document else None)

    def deploys(self, person: people.Person, node: str,
                proof: str | None = None) -> tuple[int, str | None]:
        return self.answered(person, node, 'provision',
                             {'target': 'active'}, proof)

    def node(self, uuid: str) -> dict[str, Any]:
        status, node = self.ask(people.OPERATOR, 'GET', f'/v1/nodes/{uuid}')
        self.assertEqual(200, status)
        return node

    def wait(self, what: str, happened: Callable[[], Any]) -> Any:
        """Look until something has happened, and return what was seen."""
        return waiting.until(happened, lambda: what, pause=0.2)

    def becomes(self, uuid: str, state: str) -> None:
        self.wait(f'{uuid} {state}', lambda: self.node(uuid)[
            'provision_state'] == state)

    def node_of(self, conductor: process.Process) -> str:
        """Return a node that a conductor has, and nobody else."""
        return next(uuid for uuid, node in (
            (uuid, self.node(uuid)) for uuid in self.cloud.nodes)
            if node['conductor'] == self.hosts[conductor.name]
            and node['provision_state'] == 'available')

    def reserve(self, uuid: str) -> str:
        status, made = self.ask(_HOLDER, 'POST', '/v1/reservations', {
            'instance_uuid': new_uuid(), 'node_uuid': [uuid]})
        self.assertEqual(201, status, made)
        return str(made['reservation']['uuid'])

    def reservation(self, uuid: str) -> str | None:
        """Read the state of a reservation; ``None`` where it has ended."""
        status, found = self.ask(_HOLDER, 'GET', f'/v1/reservations/{uuid}')
        return found['reservation']['state'] if status == 200 else None

    def lease_of(self, uuid: str) -> str:
        """Lease a node, and return the path of the lease once it has it."""
        end = (datetime.datetime.now(datetime.UTC)
               + datetime.timedelta(hours=1))
        status, made = self.ask(_TENANT, 'POST', '/v1/leases', {
            'name': 'over', 'start_date': 'now',
            'end_date': end.strftime('%Y-%m-%d %H:%M'), 'events': [],
            'reservations': [{
                'resource_type': 'physical:host', 'min': 1, 'max': 1,
                'hypervisor_properties': '', 'resource_properties':
                    '["==", "$resource_class", '
                    f'"{self.cloud.nodes[uuid]}"]'}]})
        self.assertEqual(201, status, made)
        path = f'/v1/leases/{made["lease"]["id"]}'
        self.wait('the start', lambda: self.lease(path)['status']
                  == 'ACTIVE')
        return path

    def lease(self, path: str) -> dict[str, Any]:
        status, found = self.ask(_TENANT, 'GET', path)
        self.assertEqual(200, status, found)
        return dict(found['lease'])

    def taken_over(self, uuid: str, by: process.Process) -> bool:
        return bool(self.node(uuid)['conductor'] == self.hosts[by.name])

    def test_promises_outlive_their_conductors(self) -> None:
        leased, cut_off = self.node_of(self.quick), self.node_of(self.slow)
        path = self.lease_of(leased)
        bought = self.lease(path)['reservations'][0]['id']
        self.assertEqual((202, None), self.deploys(_TENANT, leased, bought))
        self.becomes(leased, 'active')

        held = self.reserve(cut_off)
        self.assertEqual((202, None), self.deploys(_HOLDER, cut_off, held))
        self.becomes(cut_off, 'deploying')
        self.slow.kill()
        self.becomes(cut_off, 'deploy failed')
        # NOTE: an API learns of it by itself, some seconds later.
        self.wait('the take-over', lambda: self.taken_over(cut_off,
                                                           self.quick))
        self.assertEqual('in_use', self.reservation(held))
        self.assertEqual(_REQUIRED, self.deploys(_STRANGER, cut_off))
        self.assertEqual(_REQUIRED, self.answered(
            _STRANGER, cut_off, 'power', _POWER))
        self.assertEqual((202, None), self.deploys(_HOLDER, cut_off, held))
        self.becomes(cut_off, 'active')

        self.slow.start()
        self.slow.wait()
        self.wait('the conductor', lambda: self.hosts[self.slow.name] in {
            self.node(uuid)['conductor'] for uuid in self.cloud.nodes})
        self.quick.kill()
        self.wait('the take-over', lambda: all(
            self.taken_over(uuid, self.slow) for uuid in (leased, cut_off)))
        self.assertEqual('in_use', self.reservation(held))
        lease = self.lease(path)
        self.assertEqual(('ACTIVE', False, False), (
            lease['status'], lease['degraded'],
            lease['reservations'][0]['missing_resources']))
        self.assertEqual(('active', _TENANT.project), (
            self.node(leased)['provision_state'],
            self.node(leased)['lessee']))
        for uuid in (leased, cut_off):
            self.assertEqual(_REQUIRED, self.deploys(_STRANGER, uuid))
            self.assertEqual(_REQUIRED, self.answered(
                _STRANGER, uuid, 'power', _POWER))

        self.assertEqual(204, self.ask(_TENANT, 'DELETE', path)[0])
        self.wait('the end', lambda: self.ask(_TENANT, 'GET', path)[0] == 404)
        self.assertEqual(('available', None), (
            self.node(leased)['provision_state'],
            self.node(leased)['lessee']))
        self.assertEqual((202, None), self.answered(
            _HOLDER, cut_off, 'provision', {'target': 'deleted'}))
        self.becomes(cut_off, 'available')
        self.wait('the release', lambda: self.reservation(held) is None)
        self.assertEqual((202, None), self.deploys(_STRANGER, leased))
