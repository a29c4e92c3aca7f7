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


"""Leases of instances that share compute hosts, over HTTP.

200 hosts of 256 vCPUs with nothing but leases of instances on them: those that
were asked for before, of 1,000 instances each.
"""

from __future__ import annotations

from collections.abc import Callable
import datetime
import json
import time
from typing import Any
import uuid

import requests
import sqlalchemy as sa

from benchmarks import ground
from benchmarks import table
from ironic_reservations.db import tables

_HOSTS = 200
_THERE = (('DISK_GB', 4000), ('MEMORY_MB', 512 * 1024), ('VCPU', 256))
_AMOUNT = 1000
#: Of which one instance has a share.
_SIZES = {'vcpus': 4, 'memory_mb': 16384, 'disk_gb': 40}
_TIME = '%Y-%m-%d %H:%M'


def run(server: str, times: int) -> None:
    """Measure, and print the table.

    :param times: how often each thing is asked for.
    """
    with ground.serving(server) as (url, database):
        _fill(database)
        client = _Client(f'{url}/v1/leases')
        # NOTE: what is asked first reads the timeline; it is not measured.
        for day in range(5):
            client.lease(_AMOUNT, day, day + 10)
        rows = [
            client.timed(f'POST, {_AMOUNT} instances', times,
                         lambda: client.lease(_AMOUNT, 20, 21)),
            client.timed('POST, 20 on one host', times,
                         lambda: client.lease(20, 20, 21, True)),
            client.timed('POST, 200 on different hosts', times,
                         lambda: client.lease(200, 20, 21, False)),
            client.timed('POST, too many: refused, with offers', times,
                         lambda: client.refused(20 * _AMOUNT, 20, 21))]
        table.show(f'Leases of instances on {_HOSTS} compute hosts', rows)


class _Client:
    """Asks for leases of instances."""

    def __init__(self, url: str) -> None:
        self._url = url
        self._begin = (datetime.datetime.now(datetime.UTC)
                       + datetime.timedelta(days=2)).replace(minute=0)
        self._session = requests.Session()
        self._session.trust_env = False

    def timed(self, what: str, times: int,
              act: Callable[[], requests.Response]) -> table.Row:
        """Measure requests; what they make is deleted in between."""
        seconds = []
        for _ in range(times):
            at = time.perf_counter()
            answer = act()
            seconds.append(time.perf_counter() - at)
            if answer.ok:
                self._session.delete(
                    f'{self._url}/{answer.json()["lease"]["id"]}'
                ).raise_for_status()
        return table.Row(what, seconds, sum(seconds))

    def lease(self, amount: int, first: int, last: int,
              affinity: bool | None = None) -> requests.Response:
        """Make a lease from one day to another."""
        answer = self._post(amount, first, last, affinity)
        if not answer.ok:
            raise RuntimeError(f'{answer.status_code}: {answer.text[:300]}')
        return answer

    def refused(self, amount: int, first: int,
                last: int) -> requests.Response:
        """Ask for what cannot be had."""
        answer = self._post(amount, first, last, None)
        if answer.status_code != requests.codes.conflict:
            raise RuntimeError(f'{answer.status_code}: {answer.text[:300]}')
        return answer

    def _post(self, amount: int, first: int, last: int,
              affinity: bool | None) -> requests.Response:
        wanted: dict[str, Any] = {
            'resource_type': 'virtual:instance', 'amount': amount,
            'affinity': affinity, **_SIZES}
        return self._session.post(self._url, json={
            'name': 'asked', 'events': [], 'reservations': [wanted],
            'start_date': self._day(first), 'end_date': self._day(last)})

    def _day(self, number: int) -> str:
        return (self._begin + datetime.timedelta(days=number)).strftime(_TIME)


def _fill(url: str) -> None:
    """Write the hosts."""
    now = datetime.datetime.now(datetime.UTC)
    there = json.dumps({
        name: {'total': total, 'max_unit': total} for name, total in _THERE})
    uuids = [str(uuid.uuid4()) for _ in range(_HOSTS)]
    engine = sa.create_engine(url, poolclass=sa.NullPool)
    with engine.begin() as connection:
        connection.execute(sa.insert(tables.nodes), [
            {'uuid': each, 'generation': 1, 'maintenance': False,
             'retired': False, 'reservable': True, 'observed_at': now,
             'name': f'compute-{number}', 'inventories': there}
            for number, each in enumerate(uuids)])
        connection.execute(sa.insert(tables.hosts), [
            {'node_uuid': each, 'reservable': True, 'created_at': now}
            for each in uuids])
