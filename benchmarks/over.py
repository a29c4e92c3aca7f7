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

"""What a year of use leaves, as rows, set-based.

Leases that are over, with the notices of them, the use of their nodes, and as
many maintenance windows that are over.
"""

from __future__ import annotations

import datetime

import sqlalchemy as sa

_DIGITS = ' UNION ALL '.join(f'SELECT {digit} AS d' for digit in range(10))
_PLACES = 5
_NUMBERS = (
    'SELECT n FROM (SELECT :first + '
    + ' + '.join(f'd{place}.d * {10 ** place}' for place in range(_PLACES))
    + ' AS n FROM '
    + ' CROSS JOIN '.join(f'({_DIGITS}) AS d{place}'
                          for place in range(_PLACES))
    + ') AS all_numbers WHERE n < :last')
#: One after another ended, the last one just now.
_ENDED = {'postgresql': ":now - n * interval '1 second' * :pause",
          'mysql': 'DATE_SUB(:now, INTERVAL n * :pause SECOND)',
          'mariadb': 'DATE_SUB(:now, INTERVAL n * :pause SECOND)'}
_STATEMENTS = (
    'INSERT INTO leases (id, generation, name, project_id, user_id, '
    'starts_at, ends_at, before_end_at, status, degraded, created_at, '
    "updated_at, attempts) SELECT CONCAT('over-', n), 5, "
    "CONCAT('lease ', n), CONCAT('project-', n % 50), 'user', {ended}, "
    "{ended}, {ended}, 'TERMINATED', n % 100 = 0, {ended}, {ended}, 0 "
    'FROM ({numbers}) AS numbers',
    'INSERT INTO lease_reservations (id, lease_id, place, resource_type, '
    'resource_id, status, least, most, hypervisor_properties, '
    'resource_properties, before_end, missing_resources, '
    'resources_changed, created_at) '
    "SELECT CONCAT('asked-', n), CONCAT('over-', n), 0, 'physical:host', "
    "CONCAT('over-', n), 'deleted', 1, 1, '', '', 'default', "
    'n % 200 = 0, false, {ended} FROM ({numbers}) AS numbers',
    *('INSERT INTO lease_events (id, lease_id, event_type, time, status, '
      f"created_at) SELECT CONCAT('{kind}-', n), CONCAT('over-', n), "
      f"'{kind}', {{ended}}, 'DONE', {{ended}} "
      'FROM ({numbers}) AS numbers'
      for kind in ('start_lease', 'end_lease')),
    # NOTE: all mail is for one person, all windows are of one node: whatever
    # is asked about one of them has all that is over beside it.
    *('INSERT INTO outbox (id, notice_id, channel, target, kind, lease_id, '
      'project_id, user_id, payload, created_at, attempts, done_at, outcome) '
      f"SELECT CONCAT('{channel}-', n), CONCAT('notice-', n), '{channel}', "
      "'target', 'ended', CONCAT('over-', n), "
      "CONCAT('project-', n % 50), 'user', '{{}}', {ended}, 1, {ended}, "
      "CASE WHEN n % 1000 = 0 THEN 'given_up' ELSE 'delivered' END "
      'FROM ({numbers}) AS numbers' for channel in ('webhook', 'mail')),
    "INSERT INTO lease_usage (reservation_id, resource_class, lease_id, "
    "project_id, user_id, resource_type, amount, starts_at, ended_at, "
    "bookings, promised_seconds, bound_seconds) SELECT CONCAT('asked-', n), "
    "'gold', CONCAT('over-', n), CONCAT('project-', n % 50), 'user', "
    "'physical:host', 1, {ended}, {ended}, 1, 3600, 3600 "
    'FROM ({numbers}) AS numbers',
    *('INSERT INTO usage_periods (booking_uuid, reservation_id, lease_id, '
      'project_id, resource_class, kind, starts_at, ended_at, hosts) '
      f"SELECT {booking}, CONCAT('asked-', n), CONCAT('over-', n), "
      f"CONCAT('project-', n % 50), 'gold', '{kind}', {{ended}}, {{ended}}, "
      '1 FROM ({numbers}) AS numbers' for kind, booking in (
          ('bound', 'NULL'), ('deployed', "CONCAT('booking-', n)"))),
    'INSERT INTO maintenance_windows (id, name, reason, starts_at, ends_at, '
    "drain, created_at) SELECT CONCAT('window-', n), 'window', 'works', "
    '{ended}, {ended}, false, {ended} FROM ({numbers}) AS numbers',
    'INSERT INTO maintenance_nodes (window_id, node_uuid, place, starts_at, '
    "ends_at) SELECT CONCAT('window-', n), (SELECT MIN(uuid) FROM nodes), 0, "
    '{ended}, {ended} FROM ({numbers}) AS numbers',
)
_ANALYZE = {'postgresql': 'ANALYZE {}', 'mysql': 'ANALYZE TABLE {}',
            'mariadb': 'ANALYZE TABLE {}', 'sqlite': 'ANALYZE {}'}
_TABLES = ('leases', 'lease_reservations', 'lease_events', 'reservations',
           'nodes', 'outbox', 'lease_usage', 'usage_periods',
           'maintenance_windows', 'maintenance_nodes', 'claims')
_AT_ONCE = 50_000


def fill(engine: sa.Engine, count: int, now: datetime.datetime,
         days: int = 90, there: int = 0) -> None:
    """Write what is over, and count the rows for the planner.

    :param engine: of a database on MariaDB or PostgreSQL.
    :param now: when the last one ended.
    :param days: how long before that the first one did.
    :param there: how many of them have been written before.
    """
    pause = max(1, days * 86400 // count)
    dialect = engine.dialect.name
    for first in range(there, count, _AT_ONCE):
        with engine.begin() as connection:
            for statement in _STATEMENTS:
                connection.execute(sa.text(statement.format(
                    ended=_ENDED[dialect], numbers=_NUMBERS)), {
                        'first': first, 'pause': pause,
                        'last': min(count, first + _AT_ONCE),
                        'now': now.replace(tzinfo=None)})
    count_rows(engine)


def count_rows(engine: sa.Engine) -> None:
    """Have the database look at how many rows there are of what."""
    with engine.begin() as connection:
        for table in _TABLES:
            connection.exec_driver_sql(
                _ANALYZE[engine.dialect.name].format(table)).close()
