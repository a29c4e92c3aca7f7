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

"""The readers of the history of a lease, and its version."""

from typing import Any

import sqlalchemy as sa

from ironic_reservations.db import tables
from tests.inprocess.api import asking

_READER = {'x_roles': 'reader', 'x_project_id': 'red'}


class _TestCase(asking.AskingCase):

    nodes = {'gold-0': {'resource_class': 'gold'}}
    version = asking.since(18)

    def setUp(self) -> None:
        super().setUp()
        self.lease = self.book('01 10', '02 10')
        self.path = f'/v1/leases/{self.lease["id"]}/history'

    def read(self) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = self.ask('GET', self.path)['history']
        return found


class TestLeaseHistory(_TestCase):

    def test_whoever_sees_the_lease_reads_it(self) -> None:
        for who in (asking.MEMBER, _READER, asking.OPERATOR):
            found = self.ask('GET', self.path, who=who)['history']
            self.assertEqual(['created'], [each['what'] for each in found])
        self.ask('GET', self.path, 404, who=asking.OTHER)

    def test_it_has_no_proof(self) -> None:
        """Users send this document to colleagues."""
        self.assertNotIn(self.lease['reservations'][0]['id'],
                         self.send('GET', self.path).body.decode())

    def test_there_is_nothing_before(self) -> None:
        for version in (asking.since(17), 'reservation 1.0'):
            self.ask('GET', self.path, 404, version=version)

    def test_of_no_lease(self) -> None:
        for ident in ('lease', '1b0fd33e-1a3c-4e48-9f70-2e6f5a1c0a11'):
            self.ask('GET', f'/v1/leases/{ident}/history', 404)


class TestBesideTheReleaseAfter(_TestCase):
    """The next release may write unknown events; the history shows them."""

    def write(self, table: sa.Table, **columns: Any) -> None:
        with self.served.engine.database.write() as connection:
            connection.execute(sa.insert(table).values(
                lease_id=self.lease['id'], **columns))

    def tell(self, **columns: Any) -> list[Any]:
        """Return the history of an old notice."""
        now = self.served.clock()
        self.write(tables.outbox, **{
            'id': 'of-a-receiver', 'notice_id': 'of-an-event',
            'channel': 'webhook', 'target': 'target', 'kind': 'before_end',
            'payload': '{}', 'attempts': 1, 'created_at': now,
            'outcome': 'delivered', 'done_at': now, **columns})
        return [sent['outcome'] for each in self.read()
                for sent in each.get('sent', ())]

    def test_of_a_notice_only_what_it_knows_is_told(self) -> None:
        told: list[str | None] = []
        for number, (columns, more) in enumerate((
                ({}, ['delivered']), ({'channel': 'chat'}, []),
                ({'kind': 'sold'}, []), ({'outcome': 'postponed'}, [None]))):
            told += more
            self.assertEqual(told, self.tell(**columns, id=str(number)))

    def test_period_that_it_does_not_know(self) -> None:
        now = self.served.clock()
        self.write(tables.usage_periods, reservation_id='reservation',
                   project_id='red', resource_class='gold', kind='idle',
                   starts_at=now, ended_at=now, hosts=1)
        self.assertEqual(['created'], [each['what'] for each in self.read()])
