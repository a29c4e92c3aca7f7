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


"""A Placement that is served, with many nodes in it."""

from __future__ import annotations

from collections.abc import Iterator
import contextlib
import datetime
import sys
import tempfile
import uuid

import sqlalchemy as sa

from benchmarks import ground
from ironic_reservations.db import tables
from tools import placement

#: As many as an operator would run on such a machine; one thread each.
_WORKERS = 4
_SERVE = (sys.executable, '-W', 'ignore', '-m', 'gunicorn', '--preload',
          '-w', str(_WORKERS), '--threads', '1', '--no-control-socket',
          '-b', '127.0.0.1:{port}', 'placement.wsgi.api:application')


@contextlib.contextmanager
def serving(server: str, nodes: int) -> Iterator[tuple[str, list[str]]]:
    """Start a Placement with a provider for each node.

    :returns: its URL, and the uuids of the nodes.
    """
    with (ground.database(server) as url,
          tempfile.TemporaryDirectory() as folder,
          placement.Service(folder, url, _SERVE) as service):
        first = str(uuid.uuid4())
        with placement.session() as asking:
            placement.provide(asking, service.url, [first],
                              ground.RESOURCE_CLASS)
        yield service.url, [first, *_multiply(url, nodes - 1)]


def fill(url: str, nodes: list[str]) -> None:
    """Write nodes that are available into our database."""
    now = datetime.datetime.now(datetime.UTC)
    engine = sa.create_engine(url, poolclass=sa.NullPool)
    with engine.begin() as connection:
        connection.execute(sa.insert(tables.nodes), [
            {'uuid': node, 'generation': 1, 'provision_state': 'available',
             'resource_class': ground.RESOURCE_CLASS, 'maintenance': False,
             'retired': False, 'reservable': True, 'observed_at': now}
            for node in nodes])


def _multiply(url: str, count: int) -> list[str]:
    """Copy the one provider that is there, row by row; gives the uuids."""
    engine = sa.create_engine(url, poolclass=sa.NullPool)
    metadata = sa.MetaData()
    metadata.reflect(engine, only=['resource_providers', 'inventories'])
    providers = metadata.tables['resource_providers']
    inventories = metadata.tables['inventories']
    uuids = [str(uuid.uuid4()) for _ in range(count)]
    if not uuids:
        return []
    with engine.begin() as connection:
        one = dict(connection.execute(
            sa.select(providers)).mappings().one())
        offered = dict(connection.execute(
            sa.select(inventories)).mappings().one())
        for row in (one, offered):
            del row['id']
        connection.execute(sa.insert(providers), [
            {**one, 'uuid': each, 'name': each, 'root_provider_id': None}
            for each in uuids])
        connection.execute(sa.update(providers).values(
            root_provider_id=providers.c.id))
        connection.execute(sa.insert(inventories), [
            {**offered, 'resource_provider_id': number}
            for number in connection.execute(sa.select(providers.c.id).where(
                providers.c.uuid.in_(uuids))).scalars()])
    return uuids
