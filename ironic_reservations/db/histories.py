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

"""The row of ``histories``, which identifies the history of the timeline.

The row contains the identity of the server that wrote it. After a fail-over of
PostgreSQL, and in a dump that is loaded, the server is another one, so that
even a process that has just started detects the new history. All nodes are
uncertain then: requests that the lost history let through may be on their way
to Ironic.
"""

from __future__ import annotations

import datetime

import sqlalchemy as sa

from ironic_reservations.db import connection as db_connection
from ironic_reservations.db import generations
from ironic_reservations.db import in_flight_requests as db_in_flight
from ironic_reservations.db import server_identity
from ironic_reservations.db import tables

_h = tables.histories.c
_ANOTHER = server_identity.another(_h.server)


class Elsewhere(db_connection.Conflict):
    """The server of the database is another one than before."""


# NOT EXISTS (SELECT * FROM histories WHERE server <> ...)
SAME = ~sa.exists().where(_ANOTHER)
#: The generation of the history, and whether its server is another one.
GENERATION = sa.select(_h.generation).scalar_subquery()
ELSEWHERE = sa.select(sa.func.count()).where(
    _ANOTHER).scalar_subquery()


def note(connection: sa.Connection,
         until: datetime.datetime | None = None) -> bool:
    """Write the row, if there is none.

    :param until: see :func:`begin`.
    :returns: whether there was none.
    """
    # INSERT INTO histories (...) SELECT 1, ?, ..., ?
    #   WHERE NOT EXISTS (SELECT * FROM histories)
    return bool(connection.execute(sa.insert(tables.histories).from_select(
        ['id', 'generation', 'server', 'uncertain_until'],
        sa.select(sa.literal(1), sa.literal(generations.first()),
                  server_identity.present(),
                  sa.literal(until, tables.UTCDateTime)).where(
                      ~sa.exists().select_from(tables.histories.alias())))
    ).rowcount)


def read_number(connection: sa.Connection) -> int:
    """Return the number of the history; a later history has a higher one.

    :returns: 0 before the first process has written one.
    """
    # SELECT (SELECT generation FROM histories)
    return connection.scalar(sa.select(GENERATION)) or 0


def is_elsewhere(connection: sa.Connection) -> bool:
    """Return whether the server is another one than before."""
    # SELECT (SELECT COUNT(*) FROM histories WHERE server <> ...)
    return bool(connection.scalar(sa.select(ELSEWHERE)))


def begin(connection: sa.Connection, known: int | None,
          until: datetime.datetime) -> bool:
    """Write that another history begins, and make all nodes uncertain.

    :param known: the generation of the lost history, 0 if it is not known;
        ``None``: another history has begun, regardless of the row.
    :param until: the time at which Ironic is asked about the nodes.
    :returns: ``False`` if another process has written it first.
    """
    # UPDATE histories SET generation = CASE WHEN generation < ? THEN ?
    #     ELSE generation END + ?, server = ..., uncertain_until = ?
    #   WHERE ? OR generation <= ? OR server <> ...
    lost = sa.literal(known or 0, sa.BigInteger)
    if not note(connection, until) and not connection.execute(
            sa.update(tables.histories)
            .where(sa.or_(sa.literal(known is None), _h.generation <= lost,
                          _ANOTHER))
            .values(generation=sa.case((_h.generation < lost, lost),
                                       else_=_h.generation)
                    + generations.step(),
                    server=server_identity.present(),
                    uncertain_until=until)).rowcount:
        return False
    # UPDATE nodes SET generation = generation + ?
    #   WHERE inventories IS NULL
    connection.execute(
        sa.update(tables.nodes)
        .where(tables.nodes.c.inventories.is_(None))
        .values(generation=tables.nodes.c.generation + generations.step()))
    db_in_flight.prolong_unknown(connection, until)
    db_in_flight.insert_unknown(connection, until)
    return True


def is_uncertain(now: sa.ColumnElement[datetime.datetime]
                 ) -> sa.ColumnElement[bool]:
    """Return the condition under which nodes that are new are uncertain."""
    return sa.or_(_h.uncertain_until > now, _ANOTHER)


def keep_new(connection: sa.Connection, node_uuid: str,
             now: datetime.datetime) -> None:
    """Make a new node uncertain, if the others are.

    The lost history may have had the node.
    """
    # SELECT uncertain_until FROM histories WHERE uncertain_until > ?
    until = connection.scalar(
        sa.select(_h.uncertain_until).where(_h.uncertain_until > now))
    if until is not None:
        db_in_flight.insert_unknown(connection, until, node_uuid)
