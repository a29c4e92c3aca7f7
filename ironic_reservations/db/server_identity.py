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

"""The identity of the server that executes a statement, in SQL.

Only PostgreSQL has an identity that is the same on all servers of a cluster.
It changes with each promotion, with each recovery from an archive, and when
the tables are created again. It is NULL if it is not known, and on a replica
that is not promoted.
"""

from __future__ import annotations

from typing import Any

from oslo_log import log
import sqlalchemy as sa
from sqlalchemy.ext import compiler

from ironic_reservations.db import driver_errors

LOG = log.getLogger(__name__)

# The first eight digits of the name of a WAL file are its timeline.
_POSTGRESQL = (
    "(SELECT CASE WHEN pg_is_in_recovery() THEN NULL ELSE concat("
    "system_identifier, '-', "
    "left(pg_walfile_name(pg_current_wal_lsn()), 8), '-', "
    "CAST('histories'::regclass AS oid)) END "
    "FROM pg_control_system())")
_REFUSED = '_ironic_reservations_refused'
#: Classes of PostgreSQL's errors for functions that are missing, that the
#: user may not call, or that the server does not support.
_REFUSALS = ('42', '0A')
_UNKNOWN = 'CAST(NULL AS VARCHAR)'
#: The identity of a server of another kind.
_NONE = "''"


class Server(sa.sql.functions.GenericFunction[str]):
    """The identity of the server."""

    name = 'reservations_server'
    type = sa.String()
    inherit_cache = True


@compiler.compiles(Server)
def _nothing(element: Server, made: Any, **kwargs: Any) -> str:
    return _NONE


@compiler.compiles(Server, 'postgresql')
def _postgresql(element: Server, made: Any, **kwargs: Any) -> str:
    return _UNKNOWN if is_refused(made.dialect) else _POSTGRESQL


def is_refused(dialect: sa.Dialect) -> bool:
    """Return whether the server refuses its identity to this process."""
    return getattr(dialect, _REFUSED, False)


def another(known: sa.ColumnElement[str]) -> sa.ColumnElement[bool]:
    """Return the condition under which the server is another one.

    :param known: the identity that was written before.
    """
    # "x <> NULL" is not true.
    return sa.and_(known != sa.literal_column(_NONE), known != Server())


def present() -> sa.ColumnElement[str]:
    """Return the identity to be written; empty if it is not known."""
    return sa.func.coalesce(Server(), sa.literal_column(_NONE))


def find_out(engine: sa.Engine) -> None:
    """Check whether PostgreSQL refuses the identity to this user.

    The servers of some cloud providers lack the functions, or do not let users
    call them. The check is made before the first statement of an engine; after
    a refusal, the identity is not used.
    """
    def on_first_connect(connection: Any, record: Any) -> None:
        try:
            with connection.cursor() as cursor:
                # The tables may not be there yet.
                cursor.execute(_POSTGRESQL.replace(
                    "CAST('histories'::regclass AS oid)", "''")[1:-1])
        except engine.dialect.loaded_dbapi.Error as exc:
            if not (driver_errors.code(exc) or '').startswith(_REFUSALS):
                # The next connection tries it again.
                raise
            setattr(engine.dialect, _REFUSED, True)
            LOG.warning(
                'PostgreSQL does not say which server it is: %s. After a '
                'fail-over that has lost commits, run '
                '"ironic-reservations-manage restored" before anything else; '
                'or let this user call pg_control_system(), '
                'pg_walfile_name() and pg_current_wal_lsn().',
                ' '.join(str(exc).split()))
        connection.rollback()
    sa.event.listen(engine.pool, 'first_connect', on_first_connect)
