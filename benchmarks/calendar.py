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

"""``GET /v1/calendar``: how large it is, and what it costs the service.

The application is called as its server would call it, so that what is told is
the processor time of the service alone, without that of the database, of HTTP
and of the client; besides it the time that passes.
"""

from __future__ import annotations

from collections.abc import Callable
import dataclasses
import datetime
import gzip
import io
import statistics
import sys
import tempfile
import time
from typing import Any
from urllib import parse

from benchmarks import booked
from benchmarks import ground
from ironic_reservations import build
from ironic_reservations import conf as project_conf
from ironic_reservations import policies
from ironic_reservations.api import app
from ironic_reservations.api import identity
from ironic_reservations.api import pages
from ironic_reservations.api import wsgi
from ironic_reservations.db import migrate
from ironic_reservations.engine.leases import create as lease_create
from ironic_reservations.model import leases
from ironic_reservations.model import limits

_TIME = '%Y-%m-%dT%H:%M:%SZ'
_VERSION = 'reservation 1.0, baremetal-reservation latest'


@dataclasses.dataclass(frozen=True)
class Row:
    """One kind of request.

    :ivar status: of the answers.
    :ivar sent: the size of an answer as it is sent, in bytes,
    :ivar plain: and before it was compressed.
    :ivar cpu: the processor time of each, in seconds,
    :ivar wall: and the time that it took.
    """

    what: str
    status: int
    sent: int
    plain: int
    cpu: list[float]
    wall: list[float]


class Service:
    """An application with many hosts and leases.

    :param url: of an empty database.
    :param folder: for its files.
    """

    def __init__(self, url: str, folder: str, nodes: int,
                 bookings: int) -> None:
        conf = project_conf.load(config_files=[])
        conf.set_override('state_path', folder)
        conf.set_override('connection', url, 'database')
        self.engine = build.engine(conf)
        migrate.upgrade(self.engine.database)
        self._now = datetime.datetime.now(datetime.UTC).replace(
            minute=0, second=0, microsecond=0)
        booked.fill(url, nodes, bookings, 1,
                    self._now + datetime.timedelta(hours=1))
        self._app = app.make_app(
            self.engine, policies.Enforcer(conf, 'noauth'), conf,
            identity.administrator,
            pages.SignIn('noauth', conf, conf, None))
        self.window = {
            'from': self._now.strftime(_TIME),
            'to': (self._now + datetime.timedelta(
                hours=booked.HOURS)).strftime(_TIME)}

    def ask(self, path: str, query: dict[str, Any],
            tag: str = '') -> wsgi.Answer:
        """Send a request."""
        return wsgi.call(self._app, {
            'REQUEST_METHOD': 'GET', 'SCRIPT_NAME': '', 'PATH_INFO': path,
            'QUERY_STRING': parse.urlencode(query, doseq=True),
            'SERVER_NAME': 'api.example', 'SERVER_PORT': '80',
            'SERVER_PROTOCOL': 'HTTP/1.1', 'HTTP_HOST': 'api.example',
            'HTTP_ACCEPT_ENCODING': 'gzip', 'HTTP_IF_NONE_MATCH': tag,
            'HTTP_OPENSTACK_API_VERSION': _VERSION,
            'wsgi.version': (1, 0), 'wsgi.url_scheme': 'http',
            'wsgi.input': io.BytesIO(), 'wsgi.errors': sys.stderr,
            'wsgi.multithread': True, 'wsgi.multiprocess': False,
            'wsgi.run_once': False})

    def book(self, days: int) -> None:
        """Make a lease of a host for an hour, some days after tomorrow."""
        start = self._now + datetime.timedelta(days=1 + days)
        lease_create.create(self.engine,
                            leases.LeaseRequest(
                                'made meanwhile',
                                start + datetime.timedelta(hours=1),
                                (leases.LeaseReservationRequest(1, 1),),
                                start),
                            allowed=limits.NONE)

    def timed(self, what: str, path: str, query: dict[str, Any],
              times: int, known: bool = False,
              before: Callable[[int], None] = lambda time: None) -> Row:
        """Measure a request, so many times.

        :param known: whether the client has the answer already.
        :param before: is called before each, unmeasured.
        """
        # NOTE: unmeasured, since the first one reads the timeline.
        answer = self.ask(path, query)
        tag = dict(answer.headers).get('ETag', '') if known else ''
        cpu, wall = [], []
        for number in range(times):
            before(number)
            began, at = time.process_time(), time.perf_counter()
            answer = self.ask(path, query, tag)
            cpu.append(time.process_time() - began)
            wall.append(time.perf_counter() - at)
        if answer.status != (304 if known else 200):
            raise RuntimeError(f'{answer.status}: {answer.body[:300]!r}')
        zipped = dict(answer.headers).get('Content-Encoding') == 'gzip'
        return Row(what, answer.status, len(answer.body), len(
            gzip.decompress(answer.body) if zipped else answer.body), cpu,
            wall)


def measure(server: str, nodes: int, bookings: int,
            times: int) -> list[Row]:
    """Measure what a page asks for.

    :param bookings: how many leases there are, of a node each, in 90 days.
    """
    with (ground.database(server) as url,
          tempfile.TemporaryDirectory() as folder):
        there = Service(url, folder, nodes, bookings)
        try:
            calendar, window = '/v1/calendar', there.window
            rows = {**window, 'rows': 'true', 'limit': 100}
            wanted = {'start_date': window['from'],
                      'end_date': window['to'], 'count': 4,
                      'duration': 3 * 86400, 'slots': 20}
            return [
                there.timed('classes, when something has changed', calendar,
                            window, times, before=there.book),
                there.timed('classes, when nothing has', calendar, window,
                            times),
                there.timed('the same, known to the client', calendar,
                            window, times, known=True),
                there.timed('100 hosts, when something has changed',
                            calendar, rows, times, before=there.book),
                there.timed('100 hosts, when nothing has', calendar, rows,
                            times),
                there.timed('the same, known to the client', calendar, rows,
                            times, known=True),
                there.timed('1000 hosts, when nothing has changed', calendar,
                            {**rows, 'limit': 1000}, times),
                there.timed('20 slots of 4 hosts for 3 days',
                            '/v1/availability', wanted, max(1, times // 3))]
        finally:
            there.engine.database.close()


def run(server: str, nodes: int, bookings: int, times: int) -> None:
    """Measure, and print the table."""
    print(f'\nCalendar of 90 days: {bookings} leases on {nodes} nodes')
    print(f'{"":38} {"status":>6} {"sent kB":>8} {"plain kB":>9} '
          f'{"CPU ms":>7} {"p95":>7} {"took ms":>8} {"p95":>7}')
    for row in measure(server, nodes, bookings, times):
        figures = [1000 * each for seconds in (row.cpu, row.wall)
                   for each in (statistics.median(seconds), _p95(seconds))]
        print(f'{row.what:38} {row.status:>6} {row.sent / 1000:>8.1f} '
              f'{row.plain / 1000:>9.1f} {figures[0]:>7.1f} '
              f'{figures[1]:>7.1f} {figures[2]:>8.1f} {figures[3]:>7.1f}',
              flush=True)


def _p95(seconds: list[float]) -> float:
    ordered = sorted(seconds)
    return ordered[min(len(ordered) - 1, int(len(ordered) * 0.95))]
