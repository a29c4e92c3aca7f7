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

"""The calendars of several viewers in several processes, as they are read.

Each answer is compared with the rows, and remembered by its tag: what has the
same tag has to be the same, whichever process said it and when.
"""

import datetime
from typing import Any

import sqlalchemy as sa

from ironic_reservations import engine as engine_module
from ironic_reservations import policies
from ironic_reservations.api import app
from ironic_reservations.api import pages
from ironic_reservations.api import wsgi
from ironic_reservations.db import tables
from tests import world
from tests.inprocess.api import world as api_world
from tests.judges import calendar as judge

_HOUR = 3600
VIEWERS: dict[str, dict[str, str]] = {
    'operator': {'x_roles': 'admin,member,reader',
                 'openstack_system_scope': 'all'},
    'ours': {'x_roles': 'reader', 'x_project_id': 'ours'},
    'theirs': {'x_roles': 'reader', 'x_project_id': 'theirs'},
    'nowhere': {'x_roles': 'reader'},
}


def application(engine: engine_module.Engine) -> wsgi.Application:
    """Make the application of a process."""
    return app.make_app(engine, policies.Enforcer(engine.conf, 'keystone'),
                        engine.conf, api_world.from_headers, pages.SignIn(
                            'noauth', engine.conf, engine.conf, None))


def timeline(there: world.World) -> judge.Timeline:
    """Read the rows."""
    with there.engine.database.read() as connection:
        def read(table: sa.Table) -> list[dict[str, Any]]:
            return [dict(row) for row in connection.execute(
                sa.select(table)).mappings()]
        nodes = {row['uuid']: row for row in read(tables.nodes)}
        hosts = read(tables.hosts)
        promised = read(tables.reservations)
        leases = {row['id']: row for row in read(tables.leases)}
        parts = {row['id']: row for row in read(tables.lease_reservations)}
        busy = frozenset(row['node_uuid']
                         for row in read(tables.in_flight_requests))
    for host in hosts:
        host['node'] = nodes[host['node_uuid']]
    for row in promised:
        if not row['immediate']:
            row['lease'] = leases[
                parts[row['lease_reservation_id']]['lease_id']]
    return judge.Timeline(
        there.clock(), hosts, promised, busy, datetime.timedelta(
            seconds=there.conf.leases.cleaning_time))


def read(process: wsgi.Application, path: str, viewer: str) -> Any:
    """Read a calendar."""
    answer = api_world.request(process, 'GET', path, **VIEWERS[viewer])
    assert answer.status == 200, answer.body
    return answer.json['calendar']


class Calendars:
    """What was answered so far."""

    def __init__(self, there: world.World) -> None:
        self._world = there
        self._told: dict[str, Any] = {}
        self._latest = there.clock()

    def look(self, process: wsgi.Application, viewer: str,
             start: float = -1.25, hours: float = 8) -> dict[str, Any]:
        """Read a calendar, and compare it with the rows.

        :param start: hours from noon.
        """
        origin = world.NOON + datetime.timedelta(hours=start)
        end = origin + datetime.timedelta(hours=hours)
        path = (f'/v1/calendar?from={origin:%Y-%m-%dT%H:%M:%SZ}'
                f'&to={end:%Y-%m-%dT%H:%M:%SZ}')
        document = self._read(process, f'{path}&rows=true', viewer)
        # NOTE: while the time is behind, some of it is drawn as it was later.
        if self._world.clock() == self._latest:
            wrong = judge.faults(document, timeline(self._world),
                                 viewer == 'operator',
                                 VIEWERS[viewer].get('x_project_id'))
            assert not wrong, wrong
        # NOTE: counts are for everybody, and are the same for all.
        classes = self._read(process, path, viewer)
        assert classes['classes'] == document['classes']
        assert 'hosts' not in classes
        return document

    def _read(self, process: wsgi.Application, path: str,
              viewer: str) -> dict[str, Any]:
        answer = api_world.request(process, 'GET', path, **VIEWERS[viewer])
        assert answer.status == 200, answer.body
        document: dict[str, Any] = answer.json['calendar']
        tag = answer.headers['ETag']
        shown = {key: value for key, value in document.items()
                 if key != 'now'}
        before = self._told.setdefault(tag, shown)
        assert before == shown, f'{before} has the tag of {shown}'
        again = api_world.request(process, 'GET', path, if_none_match=tag,
                                  **VIEWERS[viewer])
        # NOTE: while the time is behind, nothing is said twice.
        self._latest = max(self._latest, self._world.clock())
        if self._world.clock() == self._latest:
            assert again.status == 304, again.body
            assert again.headers['ETag'] == tag
        return document

    def tags(self) -> int:
        """Return how many calendars there were."""
        return len(self._told)
