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

"""Listing many reservations, page by page, over HTTP."""

from __future__ import annotations

import datetime
import time
import uuid

import requests
import sqlalchemy as sa

from benchmarks import ground
from benchmarks import table
from ironic_reservations.db import tables


def _fill(url: str, count: int) -> None:
    now = datetime.datetime.now(datetime.UTC)
    uuids = [str(uuid.uuid4()) for _number in range(count)]
    engine = sa.create_engine(url, poolclass=sa.NullPool)
    with engine.begin() as connection:
        connection.execute(sa.insert(tables.nodes), [
            {'uuid': node, 'generation': 1, 'provision_state': 'available',
             'maintenance': False, 'retired': False, 'reservable': True,
             'observed_at': now} for node in uuids])
        connection.execute(sa.insert(tables.reservations), [
            {'uuid': str(uuid.uuid4()), 'node_uuid': node,
             'instance_uuid': str(uuid.uuid4()), 'created_at': now,
             # NOTE: in use, so that no sweep takes them meanwhile.
             'expires_at': now, 'state': 'in_use', 'immediate': 1}
            for node in uuids])


def run(server: str, reservations: int) -> None:
    """Measure, and print the table."""
    with ground.serving(server) as (url, database):
        _fill(database, reservations)
        rows = []
        with requests.Session() as session:
            session.headers['OpenStack-API-Version'] = (
                'baremetal-reservation 1.4')
            for what, path in (('page of 1000', '?limit=1000'),
                               ('page of 1000, two fields',
                                '?limit=1000&fields=uuid,node_uuid')):
                seconds = []
                began = time.perf_counter()
                for _round in range(3):
                    next_page = f'{url}/v1/reservations{path}'
                    while next_page:
                        at = time.perf_counter()
                        page = session.get(next_page).json()
                        seconds.append(time.perf_counter() - at)
                        next_page = page.get('next')
                rows.append(table.Row(what, seconds,
                                      time.perf_counter() - began))
        table.show(f'{reservations} reservations', rows)
