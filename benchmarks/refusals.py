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

"""Requests that are refused: what each costs, and how many are proved.

Requests of ten kinds are sent as dry runs to the application, as its server
would send them, on a fleet with a crowded class. The time of a request is that
of everything: the search for a place, the proof that there is none, and the
offers. Meanwhile, another thread of the process wakes up every two
milliseconds, and notes how late it is: so long, others wait at most.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from collections.abc import Iterator
from collections.abc import Mapping
from collections.abc import Sequence
import contextlib
import dataclasses
import datetime
import io
import json
import statistics
import sys
import tempfile
import threading
import time
from typing import Any

from benchmarks import fleet
from benchmarks import ground
from ironic_reservations import build
from ironic_reservations import conf as project_conf
from ironic_reservations import policies
from ironic_reservations.api import app
from ironic_reservations.api import identity
from ironic_reservations.api import pages
from ironic_reservations.api import wsgi
from ironic_reservations.db import migrate

#: How many hosts, and how many leases on them.
SIZES = ((1000, 5000), (10000, 100000))
_VERSION = 'reservation 1.0, baremetal-reservation latest'
_TIME = '%Y-%m-%d %H:%M'
#: Of one instance.
_INSTANCE = {'vcpus': 4, 'memory_mb': 8192, 'disk_gb': 40}
_TICK = 0.002
#: Properties of a request for nodes.
_ANY = ''


@dataclasses.dataclass(frozen=True)
class Kind:
    """A kind of request.

    :ivar body: returns the body for the number of the day on which the lease
        starts.
    :ivar lease: whether a lease is changed, instead of made.
    """

    what: str
    body: Callable[[int], dict[str, Any]]
    lease: bool = False


@dataclasses.dataclass
class Row:
    """The answers to one kind of request.

    :ivar cpu: the processor time of each, in seconds, without the database.
    :ivar wall: the time that each took.
    :ivar late: by how much another thread was late each time, at most.
    :ivar refused: the codes of the reasons of each that was refused.
    :ivar offers: how many offers each of them had.
    """

    what: str
    cpu: list[float] = dataclasses.field(default_factory=list)
    wall: list[float] = dataclasses.field(default_factory=list)
    late: list[float] = dataclasses.field(default_factory=list)
    refused: list[str] = dataclasses.field(default_factory=list)
    offers: list[int] = dataclasses.field(default_factory=list)


class Service:
    """An application with a fleet.

    :param url: of an empty database.
    :param folder: for its files.
    """

    def __init__(self, url: str, folder: str, hosts: int,
                 bookings: int) -> None:
        conf = project_conf.load(config_files=[])
        conf.set_override('state_path', folder)
        conf.set_override('connection', url, 'database')
        self.engine = build.engine(conf)
        migrate.upgrade(self.engine.database)
        self.begin = (datetime.datetime.now(datetime.UTC).replace(
            minute=0, second=0, microsecond=0) + datetime.timedelta(hours=1))
        self.hosts = hosts
        self.silver = fleet.fill(url, hosts, bookings, self.begin)
        self._app = app.make_app(
            self.engine, policies.Enforcer(conf, 'noauth'), conf,
            identity.administrator,
            pages.SignIn('noauth', conf, conf, None))

    def send(self, method: str, path: str, body: Mapping[str, Any] | None
             = None, query: str = 'dry_run=true') -> wsgi.Answer:
        """Send a request."""
        sent = b'' if body is None else json.dumps(body).encode()
        return wsgi.call(self._app, {
            'REQUEST_METHOD': method, 'SCRIPT_NAME': '', 'PATH_INFO': path,
            'QUERY_STRING': query, 'CONTENT_TYPE': 'application/json',
            'CONTENT_LENGTH': str(len(sent)),
            'SERVER_NAME': 'api.example', 'SERVER_PORT': '80',
            'SERVER_PROTOCOL': 'HTTP/1.1', 'HTTP_HOST': 'api.example',
            'HTTP_OPENSTACK_API_VERSION': _VERSION,
            'wsgi.version': (1, 0), 'wsgi.url_scheme': 'http',
            'wsgi.input': io.BytesIO(sent), 'wsgi.errors': sys.stderr,
            'wsgi.multithread': True, 'wsgi.multiprocess': False,
            'wsgi.run_once': False})

    def day(self, number: float) -> str:
        """Return the date of a day."""
        return (self.begin + datetime.timedelta(days=number)).strftime(_TIME)

    def make(self, body: Mapping[str, Any]) -> str:
        """Make a lease; return its id."""
        answer = self.send('POST', '/v1/leases', body, '')
        if answer.status != 201:
            raise RuntimeError(f'{answer.status}: {answer.body[:300]!r}')
        made: dict[str, Any] = json.loads(answer.body)
        return str(made['lease']['id'])

    def nodes(self, least: int, first: float, days: float,
              properties: str = _ANY, **more: Any) -> dict[str, Any]:
        """Return a request for nodes."""
        return self.lease([hosts(least, properties)], first, days, **more)

    def lease(self, reservations: Sequence[Mapping[str, Any]], first: float,
              days: float, **more: Any) -> dict[str, Any]:
        """Return a request for a lease."""
        dates = {} if 'between' in more else {
            'start_date': self.day(first),
            'end_date': self.day(first + days)}
        return {'name': 'asked', 'events': [], **dates,
                'reservations': list(reservations), **more}


def hosts(least: int, properties: str = _ANY) -> dict[str, Any]:
    """Return a reservation of nodes."""
    return {'resource_type': 'physical:host', 'min': least, 'max': least,
            'hypervisor_properties': '', 'resource_properties': properties}


def instances(amount: int, affinity: bool | None = None) -> dict[str, Any]:
    """Return a reservation of instances."""
    return {'resource_type': 'virtual:instance', 'amount': amount,
            'affinity': affinity, **_INSTANCE}


def kinds(there: Service) -> list[Kind]:
    """Return the ten kinds of requests."""
    every, silver = there.hosts - there.hosts // 50, there.silver
    gold = every - silver
    compute = there.hosts // 50
    few = max(1, silver // 50)
    return [
        Kind('every node for a day', lambda day: there.nodes(
            every, day, 1)),
        Kind('half of the nodes for six days', lambda day: there.nodes(
            every // 2, day, 6)),
        Kind('four gold nodes of five for a day', lambda day: there.nodes(
            gold * 4 // 5, day, 1, fleet.GOLD)),
        Kind('silver nodes for two weeks', lambda day: there.nodes(
            4 * few, day, 14, fleet.SILVER)),
        Kind('large silver nodes for three days', lambda day: there.nodes(
            2 * few, day, 3, fleet.larger(256))),
        Kind('half of the nodes, queued', lambda day: there.nodes(
            every // 2, day, 6, on_refusal='queue')),
        Kind('silver nodes, open dates', lambda day: there.nodes(
            4 * few, day, 14, fleet.SILVER, duration=14 * 86400,
            between=[there.day(day), there.day(day + 21)])),
        Kind('more instances than there is room for', lambda day:
             there.lease([instances(64 * compute)], day, 2)),
        Kind('half of the nodes, and the other half', lambda day:
             there.lease([hosts(every // 2, fleet.GOLD),
                          hosts(every // 3)], day, 3)),
        Kind('two of five nodes, kept for longer', lambda day: {
            'end_date': there.day(day + 20)}, lease=True)]


def measure(there: Service, times: int) -> list[Row]:
    """Measure all kinds of requests.

    :param times: how often each is sent.
    """
    _prepare(there)
    rows = []
    for kind in kinds(there):
        row = Row(kind.what)
        for number in range(times):
            day = 3 + 5 * number
            if not kind.lease:
                _send(there, 'POST', '/v1/leases', kind.body(day), row)
                continue
            path = '/v1/leases/' + there.make(there.nodes(
                there.hosts * 2 // 5, day, 0.5))
            # NOTE: unmeasured, since it draws the hosts that have changed.
            there.send('POST', '/v1/leases', there.nodes(1, day, 1))
            _send(there, 'PUT', path, kind.body(day), row)
            there.send('DELETE', path, query='')
        rows.append(row)
    return rows


def _prepare(there: Service) -> None:
    """Read the timeline, and fill the compute hosts."""
    engine = there.engine
    engine.snapshots.fill(engine.database, engine.clock).join()
    compute = there.hosts // 50
    for day in range(8):
        there.make(there.lease([instances(25 * compute)], 5 * day, 10))


def _send(there: Service, method: str, path: str, body: Mapping[str, Any],
          row: Row) -> None:
    with _waiting(row):
        began, at = time.thread_time(), time.perf_counter()
        answer = there.send(method, path, body)
        row.cpu.append(time.thread_time() - began)
        row.wall.append(time.perf_counter() - at)
    if answer.status in (200, 201):
        return
    if answer.status != 409:
        raise RuntimeError(f'{row.what}: {answer.status}: '
                           f'{answer.body[:300]!r}')
    told = json.loads(answer.body)
    details = told.get('details', told)
    row.refused.append(details['reasons'][0]['code'])
    row.offers.append(len(details['offers']))


@contextlib.contextmanager
def _waiting(row: Row) -> Iterator[None]:
    """Note by how much another thread is late meanwhile."""
    over = threading.Event()
    late = [0.0]

    def wake_up() -> None:
        while not over.is_set():
            at = time.perf_counter()
            time.sleep(_TICK)
            late.append(time.perf_counter() - at - _TICK)

    thread = threading.Thread(target=wake_up)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()
        row.late.append(max(late))


def show(title: str, rows: Sequence[Row]) -> None:
    """Print a table."""
    print(f'\n{title}')
    print(f'{"":38} {"refused":>7} {"proved":>6} {"offers":>6} '
          f'{"CPU ms":>7} {"max":>7} {"took ms":>8} {"max":>7} '
          f'{"late ms":>8}')
    for row in rows:
        proved = sum(each != 'search_limit' for each in row.refused)
        figures = [1000 * figure(seconds) for seconds in (row.cpu, row.wall)
                   for figure in (statistics.median, max)]
        print(f'{row.what:38} {len(row.refused):>3}/{len(row.cpu):>3} '
              f'{proved:>6} {sum(row.offers):>6} {figures[0]:>7.0f} '
              f'{figures[1]:>7.0f} {figures[2]:>8.0f} {figures[3]:>7.0f} '
              f'{1000 * max(row.late):>8.0f}', flush=True)
    refused = [each for row in rows for each in row.refused]
    proved = sum(each != 'search_limit' for each in refused)
    print(f'{proved} of {len(refused)} refusals proved')


def run(server: str, count: int, bookings: int, times: int) -> None:
    """Measure at one size, and print the table."""
    with (ground.database(server) as url,
          tempfile.TemporaryDirectory() as folder):
        there = Service(url, folder, count, bookings)
        try:
            show(f'Refusals: {bookings} bookings on {count} hosts',
                 measure(there, times))
        finally:
            there.engine.database.close()


def main(arguments: Sequence[str]) -> None:
    """Measure what the command line names."""
    parser = argparse.ArgumentParser('python -m benchmarks refusals',
                                     description=__doc__)
    parser.add_argument('--server', default='mysql+pymysql://root@127.0.0.1',
                        help='SQLAlchemy URL of a database server where '
                             'databases can be made (%(default)s)')
    parser.add_argument('--times', type=int, default=3,
                        help='how often each request is sent')
    parser.add_argument('--hosts', type=int, choices=[
        count for count, _ in SIZES], help='measure this size only')
    given = parser.parse_args(arguments)
    for count, bookings in SIZES:
        if given.hosts in (None, count):
            run(given.server, count, bookings, given.times)
