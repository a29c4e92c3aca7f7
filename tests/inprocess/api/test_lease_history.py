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

"""Who reads the history of a lease, and since which version it is there."""

from typing import Any

import sqlalchemy as sa
import testtools

from ironic_reservations.db import tables
from tests.inprocess.api import world

_OPERATOR = {'x_roles': 'admin,member,reader', 'x_project_id': 'operators',
             'openstack_system_scope': 'all'}
_READER = {'x_roles': 'reader', 'x_project_id': 'red'}
_MEMBER = {'x_roles': 'member,reader', 'x_project_id': 'red'}
_OTHER = {'x_roles': 'member,reader', 'x_project_id': 'blue'}
_SINCE = 'reservation 1.0, baremetal-reservation 1.18'
_BEFORE = 'reservation 1.0, baremetal-reservation 1.17'


class _TestCase(testtools.TestCase):

    def setUp(self) -> None:
        super().setUp()
        self.served = self.useFixture(world.World())
        self.served.ironic.add(name='gold-0', resource_class='gold')
        self.send(201, 'POST', '/v1/os-hosts', _OPERATOR, {'name': 'gold-0'})
        made = self.send(201, 'POST', '/v1/leases', _MEMBER, {
            'name': 'lease', 'start_date': '2050-01-01 10:00',
            'end_date': '2050-01-02 10:00', 'reservations': [
                {'resource_type': 'physical:host', 'min': 1, 'max': 1}]})
        self.lease = made['lease']
        self.path = f'/v1/leases/{self.lease["id"]}/history'

    def send(self, status: int, method: str, path: str, who: dict[str, str],
             document: Any = None, version: str = _SINCE) -> Any:
        answer = world.request(self.served, method, path, document,
                               version=version, **who)
        self.assertEqual(status, answer.status, answer.body)
        return answer.json


class TestLeaseHistory(_TestCase):

    def test_whoever_sees_the_lease_reads_it(self) -> None:
        for who in (_MEMBER, _READER, _OPERATOR):
            found = self.send(200, 'GET', self.path, who)['history']
            self.assertEqual(['created'], [each['what'] for each in found])
        self.send(404, 'GET', self.path, _OTHER)

    def test_it_has_no_proof(self) -> None:
        """For this document is one to send to a colleague."""
        answer = world.request(self.served, 'GET', self.path,
                               version=_SINCE, **_MEMBER)
        self.assertNotIn(self.lease['reservations'][0]['id'],
                         answer.body.decode())

    def test_there_is_nothing_before(self) -> None:
        for version in (_BEFORE, 'reservation 1.0'):
            self.send(404, 'GET', self.path, _MEMBER, version=version)

    def test_of_no_lease(self) -> None:
        for ident in ('lease', '1b0fd33e-1a3c-4e48-9f70-2e6f5a1c0a11'):
            self.send(404, 'GET', f'/v1/leases/{ident}/history', _MEMBER)


class TestBesideTheReleaseAfter(_TestCase):
    """It may write what this one does not know, and history is told."""

    def write(self, table: sa.Table, **columns: Any) -> None:
        with self.served.engine.database.write() as connection:
            connection.execute(sa.insert(table).values(
                lease_id=self.lease['id'], **columns))

    def tell(self, **columns: Any) -> list[Any]:
        """Return what the history tells of a notice that is done with."""
        now = self.served.clock()
        self.write(tables.outbox, **{
            'id': 'of-a-receiver', 'notice_id': 'of-an-event',
            'channel': 'webhook', 'target': 'target', 'kind': 'before_end',
            'payload': '{}', 'attempts': 1, 'created_at': now,
            'outcome': 'delivered', 'done_at': now, **columns})
        found = self.send(200, 'GET', self.path, _MEMBER)['history']
        return [sent['outcome'] for each in found
                for sent in each.get('sent', ())]

    def test_notice_that_was_sent(self) -> None:
        self.assertEqual(['delivered'], self.tell())

    def test_channel_that_it_does_not_know(self) -> None:
        self.assertEqual([], self.tell(channel='chat'))

    def test_kind_that_it_does_not_know(self) -> None:
        self.assertEqual([], self.tell(kind='sold'))

    def test_outcome_that_it_does_not_know(self) -> None:
        self.assertEqual([None], self.tell(outcome='postponed'))

    def test_period_that_it_does_not_know(self) -> None:
        now = self.served.clock()
        self.write(tables.usage_periods, reservation_id='reservation',
                   project_id='red', resource_class='gold', kind='idle',
                   starts_at=now, ended_at=now, hosts=1)
        found = self.send(200, 'GET', self.path, _MEMBER)['history']
        self.assertEqual(['created'], [each['what'] for each in found])
