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

"""What a lease costs the manager of the real Blazar, run by its own Python.

Its plugins and its database are real; keystone, Nova and Placement answer at
once, and notifications go nowhere. Prints one line of JSON. Imports nothing of
this project, which is not installed beside Blazar.
"""

from __future__ import annotations

import argparse
import contextlib
import datetime
from importlib import metadata
import json
import logging
import pathlib
import subprocess
import sys
import tempfile
import threading
import time
import types
from typing import Any
from unittest import mock
import uuid

from oslo_config import cfg

_OPTIONS = """[DEFAULT]
transport_url = fake://
[database]
connection = {database}
[manager]
plugins = physical.host.plugin
[oslo_policy]
enforce_scope = false
"""
_FORMAT = '%Y-%m-%d %H:%M'
_HOUR = datetime.timedelta(hours=1)
_AT_ONCE = 5000


class Manager:
    """The manager, on a database with hosts and leases of one host each."""

    def __init__(self, database: str, folder: pathlib.Path) -> None:
        options = folder / 'blazar.conf'
        options.write_text(_OPTIONS.format(database=database))
        subprocess.run(
            [pathlib.Path(sys.executable).with_name('blazar-db-manage'),
             '--config-file', options, 'upgrade', 'head'],
            check=True, capture_output=True)
        import blazar.config
        import blazar.db.base
        from blazar.db.sqlalchemy import facade_wrapper
        from blazar.db.sqlalchemy import models
        import blazar.utils.openstack.keystone  # noqa: F401
        cfg.CONF(['--config-file', str(options)], project='blazar')
        logging.disable(logging.CRITICAL)
        self._tables = models.mb.BlazarBase.metadata.tables
        with facade_wrapper.session_for_read() as session:
            self._engine = session.get_bind()
        self.begin = (datetime.datetime.now(datetime.UTC).replace(
            tzinfo=None, minute=0, second=0, microsecond=0)
            + datetime.timedelta(days=2))
        self.service: Any = None

    @contextlib.contextmanager
    def alone(self):
        """Have what it asks of others be answered at once."""
        from blazar import context
        from blazar.notification import notifier
        from blazar.utils import trusts
        from blazar.utils.openstack import nova

        def identity(*_: Any) -> Any:
            return context.BlazarContext(
                user_id='user', project_id='project', user_name='user',
                auth_token='token', service_catalog=[
                    {'type': kind, 'name': kind, 'endpoints': [{
                        'interface': interface, 'region': 'RegionOne',
                        'url': 'http://127.0.0.1:1/' + kind}
                        for interface in ('public', 'internal', 'admin')]}
                    for kind in ('identity', 'compute', 'placement')])

        def pool(*_: Any, **__: Any) -> Any:
            return types.SimpleNamespace(id=1, hosts=[])

        notifier.init()
        with (mock.patch.object(trusts, 'create_ctx_from_trust', identity),
              mock.patch.object(nova.ReservationPool, 'create', pool),
              mock.patch.object(nova.ReservationPool, 'delete', pool),
              mock.patch.object(nova.ReservationPool, 'get_computehosts',
                                lambda *_: []),
              mock.patch.object(nova.NovaClientWrapper, 'nova',
                                mock.MagicMock())):
            from blazar.manager import service
            self.service = service.ManagerService()
            self.identity = identity
            yield

    def fill(self, hosts: int, leases: int) -> None:
        """Write hosts, and leases that each take one of them for a day."""
        rows: dict[str, list[dict[str, Any]]] = {
            name: [] for name in (
                'computehosts', 'leases', 'reservations',
                'computehost_reservations', 'computehost_allocations',
                'events')}
        for number in range(hosts):
            rows['computehosts'].append({
                'id': str(number + 1), 'vcpus': 64, 'cpu_info': '{}',
                'hypervisor_type': 'ironic', 'hypervisor_version': 1,
                'hypervisor_hostname': f'node-{number}',
                'service_name': f'node-{number}', 'memory_mb': 262144,
                'local_gb': 2000, 'availability_zone': 'nova',
                'trust_id': 'trust', 'reservable': True})
        for number in range(leases):
            start = self.begin + 48 * _HOUR * (number // hosts)
            self._lease(rows, str(number % hosts + 1), start,
                        start + 24 * _HOUR)
        with self._engine.begin() as connection:
            if connection.dialect.name == 'mysql':
                connection.exec_driver_sql('SET FOREIGN_KEY_CHECKS=0')
            for name in reversed(rows):
                connection.execute(self._tables[name].delete())
            for name, there in rows.items():
                for place in range(0, len(there), _AT_ONCE):
                    connection.execute(self._tables[name].insert(),
                                       there[place:place + _AT_ONCE])

    def _lease(self, rows: dict[str, list[dict[str, Any]]], host: str,
               start: datetime.datetime, end: datetime.datetime) -> None:
        lease, reservation, resource = (str(uuid.uuid4()) for _ in range(3))
        rows['leases'].append({
            'id': lease, 'name': lease, 'user_id': 'user',
            'project_id': 'project', 'start_date': start, 'end_date': end,
            'trust_id': 'trust', 'status': 'PENDING', 'degraded': False})
        rows['reservations'].append({
            'id': reservation, 'lease_id': lease, 'resource_id': resource,
            'resource_type': 'physical:host', 'status': 'pending',
            'missing_resources': False, 'resources_changed': False})
        rows['computehost_reservations'].append({
            'id': resource, 'reservation_id': reservation,
            'aggregate_id': 1, 'resource_properties': '',
            'count_range': '1-1', 'hypervisor_properties': '',
            'before_end': 'default'})
        rows['computehost_allocations'].append({
            'id': str(uuid.uuid4()), 'compute_host_id': host,
            'reservation_id': reservation})
        rows['events'].extend(
            {'id': str(uuid.uuid4()), 'lease_id': lease, 'event_type': kind,
             'time': at, 'status': 'UNDONE'} for kind, at in (
                ('start_lease', start), ('before_end_lease', end - _HOUR),
                ('end_lease', end)))

    def create(self, hosts: int = 1, hours: int = 2) -> None:
        """Make a lease; that of one host for two hours finds all of them free.
        """
        start = self.begin + 25 * _HOUR
        with self.identity():
            self.service.create_lease({
                'name': uuid.uuid4().hex, 'user_id': 'user',
                'trust_id': 'trust', 'events': [],
                'start_date': start.strftime(_FORMAT),
                'end_date': (start + hours * _HOUR).strftime(_FORMAT),
                'reservations': [{
                    'resource_type': 'physical:host',
                    'min': hosts, 'max': hosts,
                    'hypervisor_properties': '',
                    'resource_properties': ''}]})

    def times(self, count: int) -> list[float]:
        """Make leases, one after the other; gives how long each took."""
        self.create()
        seconds = []
        for _ in range(count):
            at = time.perf_counter()
            self.create()
            seconds.append(time.perf_counter() - at)
        return seconds

    def refusals(self, count: int, hosts: int) -> list[float]:
        """Ask for a week of more hosts than can be had; gives the times."""
        from blazar.manager import exceptions
        seconds = []
        for _ in range(count):
            at = time.perf_counter()
            try:
                self.create(hosts, 7 * 24)
            except exceptions.NotEnoughHostsAvailable:
                seconds.append(time.perf_counter() - at)
            else:
                raise RuntimeError(f'{hosts} hosts were given for a week.')
        return seconds

    def page(self) -> float:
        """List all leases; gives how long it took."""
        at = time.perf_counter()
        with self.identity():
            self.service.list_leases()
        return time.perf_counter() - at

    def race(self, clients: int) -> int:
        """Have clients ask for the only host at once; gives who got it."""
        self.fill(1, 0)
        together, served = threading.Barrier(clients), []

        def ask() -> None:
            together.wait()
            # NOTE: whatever it says, it did not serve.
            with contextlib.suppress(Exception):
                self.create()
                served.append(1)

        threads = [threading.Thread(target=ask) for _ in range(clients)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        return len(served)


def main() -> None:
    """Measure what the command line names."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument('database')
    parser.add_argument('--hosts', type=int, required=True)
    parser.add_argument('--leases', type=int, required=True)
    parser.add_argument('--times', type=int, required=True)
    parser.add_argument('--races', type=int, required=True)
    parser.add_argument('--refusals', type=int, default=0)
    parser.add_argument('--lists', type=int, default=1)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        manager = Manager(given.database, pathlib.Path(folder))
        with manager.alone():
            manager.fill(given.hosts, given.leases)
            print(json.dumps({
                'seconds': manager.times(given.times) if given.times else [],
                'refused': manager.refusals(given.refusals, given.hosts),
                'lists': [manager.page() for _ in range(given.lists)],
                'megabytes': _memory(),
                'version': metadata.version('blazar'),
                'owners': [manager.race(2) for _ in range(given.races)]}))


def _memory() -> float:
    """Return the memory of this process, in megabytes."""
    status = pathlib.Path('/proc/self/status').read_text()
    return int(status.partition('VmRSS:')[2].split()[0]) / 1024


if __name__ == '__main__':
    main()
