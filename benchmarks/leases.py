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

"""Leases over HTTP: made, changed, listed, with many that stand already."""

from __future__ import annotations

from collections.abc import Callable
from concurrent import futures
import datetime
import multiprocessing
import random
import time
from typing import Any

import requests

from benchmarks import booked
from benchmarks import ground
from benchmarks import table

_TIME = '%Y-%m-%d %H:%M'
_ISO = '%Y-%m-%dT%H:%M:%SZ'
_LONGEST = 96
#: So that refusals have their offers.
_LATEST = {'OpenStack-API-Version':
           'reservation 1.0, baremetal-reservation latest'}


class Client:
    """Asks for leases of one node, in windows drawn at random."""

    def __init__(self, url: str, begin: datetime.datetime,
                 seed: int = 0) -> None:
        self._url = f'{url}/v1'
        self._begin = begin
        self._chance = random.Random(seed)
        self._session = requests.Session()
        self._session.trust_env = False
        self._made: list[dict[str, Any]] = []

    def create(self) -> None:
        """Make a lease."""
        self._made.append(self._done(self._ask())['lease'])

    def has_created(self) -> bool:
        """Make a lease of a host that may be taken; tells whether it could."""
        answer = self._ask()
        if answer.status_code == 409:
            return False
        self._made.append(self._done(answer)['lease'])
        return True

    def _ask(self) -> requests.Response:
        start = self._begin + datetime.timedelta(
            hours=self._chance.randrange(booked.HOURS))
        return self._ask_for(1, start, start + datetime.timedelta(
            hours=self._chance.randrange(1, _LONGEST)))

    def _ask_for(self, hosts: int, start: datetime.datetime,
                 end: datetime.datetime) -> requests.Response:
        return self._session.post(
            f'{self._url}/leases', headers=_LATEST, json={
                'name': f'asked {len(self._made)}',
                'start_date': start.strftime(_TIME),
                'end_date': end.strftime(_TIME),
                'reservations': [{
                    'resource_type': 'physical:host', 'min': hosts,
                    'max': hosts, 'hypervisor_properties': '',
                    'resource_properties': ''}],
                'events': []})

    def refused(self, hosts: int) -> int:
        """Ask for a week of more hosts than can be had; return the offers."""
        start = self._begin + datetime.timedelta(hours=25)
        answer = self._ask_for(hosts, start,
                               start + datetime.timedelta(days=7))
        if answer.status_code != 409:
            raise RuntimeError(f'{answer.status_code}: {answer.text[:300]}')
        answered = answer.json()
        return len(answered.get('details', answered)['offers'])

    def all_pages(self) -> int:
        """List all leases, page by page; return their number."""
        count, page = 0, f'{self._url}/leases'
        while page:
            found = self._done(self._session.get(page))
            count += len(found['leases'])
            page = found.get('next')
        return count

    def calendar(self, hosts: int) -> None:
        """Ask for the calendar of 90 days, with the first hosts."""
        end = self._begin + datetime.timedelta(hours=booked.HOURS)
        self._done(self._session.get(f'{self._url}/calendar', params={
            'from': self._begin.strftime(_ISO), 'to': end.strftime(_ISO),
            'rows': 'true', 'limit': str(hosts)}, headers=_LATEST))

    def delete_all(self) -> None:
        """Delete all that were made."""
        while self._made:
            self.delete()

    def extend(self) -> None:
        """Have one that was made end an hour later."""
        lease = self._chance.choice(self._made)
        end = datetime.datetime.fromisoformat(
            lease['end_date']) + datetime.timedelta(hours=1)
        self._done(self._session.put(f'{self._url}/leases/{lease["id"]}',
                                     json={'end_date': end.strftime(_TIME)}))

    def delete(self) -> None:
        """Delete one that was made."""
        lease = self._made.pop()
        self._session.delete(
            f'{self._url}/leases/{lease["id"]}').raise_for_status()

    def page(self) -> None:
        """List a thousand."""
        found = self._done(self._session.get(
            f'{self._url}/leases?limit=1000'))['leases']
        if len(found) != 1000:
            raise RuntimeError(f'{len(found)} leases in a page of 1000')

    def availability(self) -> None:
        """Ask what is free over all of the time that has leases."""
        end = self._begin + datetime.timedelta(hours=booked.HOURS)
        self._done(self._session.get(f'{self._url}/availability', params={
            'start_date': self._begin.strftime(_TIME),
            'end_date': end.strftime(_TIME)}))

    def earliest(self) -> None:
        """Ask when the first node is free for four days."""
        self._done(self._session.get(f'{self._url}/availability', params={
            'count': 1, 'duration': _LONGEST * 3600}))

    def _done(self, answer: requests.Response) -> Any:
        if not answer.ok:
            raise RuntimeError(f'{answer.status_code}: {answer.text[:300]}')
        return answer.json()


def timed(what: str, act: Callable[[], object], times: int) -> table.Row:
    """Measure an act, so many times.

    :param act: called once more before, unmeasured.
    """
    # NOTE: what is asked first reads the timeline; it is not measured.
    act()
    seconds = []
    began = time.perf_counter()
    for _ in range(times):
        at = time.perf_counter()
        act()
        seconds.append(time.perf_counter() - at)
    return table.Row(what, seconds, time.perf_counter() - began)


def _create(url: str, begin: datetime.datetime, count: int,
            seed: int) -> list[float]:
    client, seconds = Client(url, begin, seed), []
    for _ in range(count):
        at = time.perf_counter()
        client.create()
        seconds.append(time.perf_counter() - at)
    return seconds


def _together(url: str, begin: datetime.datetime, count: int,
              clients: int) -> table.Row:
    with futures.ProcessPoolExecutor(
            clients, multiprocessing.get_context('fork')) as pool:
        # NOTE: so that starting the processes is not measured.
        list(pool.map(time.sleep, [0.05] * clients))
        began = time.perf_counter()
        done = [pool.submit(_create, url, begin, count // clients, seed)
                for seed in range(1, clients + 1)]
        seconds = [second for each in done for second in each.result()]
        wall = time.perf_counter() - began
    return table.Row(f'POST, {clients} clients', seconds, wall)


def run(server: str, nodes: int, bookings: int, times: int) -> None:
    """Measure, and print the table.

    :param bookings: how many leases there are, of a node each, in 90 days.
    :param times: how often each thing is asked for.
    """
    begin = (datetime.datetime.now(datetime.UTC) + datetime.timedelta(days=2)
             ).replace(minute=0, second=0, microsecond=0)
    with ground.serving(server) as (url, database):
        booked.fill(database, nodes, bookings, 1, begin)
        client = Client(url, begin)
        rows = [
            timed('POST', client.create, times),
            timed('PUT, an hour later', client.extend, times),
            timed('DELETE', client.delete, times // 2),
            timed('page of 1000', client.page, 5),
            timed('availability over 90 days', client.availability, 5),
            timed('earliest start', client.earliest, 5),
            _together(url, begin, 2 * times, 8)]
        table.show(f'{bookings} leases on {nodes} nodes', rows)
