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

"""Instants are UTC, whatever the time zone of a database's sessions is."""

import datetime

import sqlalchemy as sa

from ironic_reservations.db import tables
from ironic_reservations.features.usage import periods as usage_periods
from ironic_reservations.model import period_kind
from tests import world
from tests.inprocess.db import base

_END = world.NOON + datetime.timedelta(hours=3)


class TestPostgresql(base.DatabaseTestCase):
    kind = 'postgresql'

    @classmethod
    def setUpClass(cls) -> None:
        """Have sessions of a zone that is never UTC."""
        super().setUpClass()
        cls.url = sa.make_url(cls.url).update_query_dict(
            {'options': '-c timezone=America/Lima'}).render_as_string(
                hide_password=False)

    def test_end_of_a_deployment(self) -> None:
        """It was written in the time zone of the session."""
        table = tables.usage_periods
        with self.opened() as database, database.write() as writing:
            self.assertEqual('America/Lima', writing.scalar(
                sa.text('SHOW timezone')))
            writing.execute(sa.insert(table), {
                'reservation_id': 'r', 'lease_id': 'l', 'booking_uuid': 'b',
                'resource_class': 'gold', 'kind': period_kind.DEPLOYED,
                'starts_at': world.NOON, 'ended_at': world.NOON, 'hosts': 1,
                'running': 1})
            usage_periods.finish(writing, [('b', world.NOON)], _END)
            self.assertEqual(_END, writing.scalar(
                sa.select(table.c.ended_at)))
