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

"""The errors of the drivers of databases, and their codes."""

from __future__ import annotations

from collections.abc import Collection
import errno
import sqlite3

#: MariaDB's errors: the disk is full, the table is full.
_FULL_ON_MARIADB = (1021, 1114)
#: SQLite's error if it cannot extend the index beside its file.
_NO_INDEX = 'SQLITE_IOERR_SHMSIZE'
#: PostgreSQL's error for a full disk.
_FULL_ON_POSTGRESQL = '53100'


def of(exc: BaseException) -> BaseException:
    """Return the error of the driver that SQLAlchemy and oslo.db wrap."""
    inner = getattr(exc, 'inner_exception', None) or exc
    return getattr(inner, 'orig', None) or inner


def code(driver: BaseException) -> str | None:
    """Return PostgreSQL's code of an error, from psycopg2 or psycopg 3."""
    return (getattr(driver, 'pgcode', None)
            or getattr(driver, 'sqlstate', None))


def has(driver: BaseException, codes: Collection[str | int]) -> bool:
    """Return whether an error has one of some codes.

    :param codes: of PostgreSQL, and the numbers of MariaDB's errors.
    """
    return code(driver) in codes or next(iter(driver.args), None) in codes


def is_operational(driver: BaseException) -> bool:
    """Return whether the server or its address fails, and not a statement.

    :param driver: an error of a driver, or of the operating system.
    """
    if isinstance(driver, sqlite3.Error):
        return getattr(driver, 'sqlite_errorcode', None) not in (
            None, sqlite3.SQLITE_ERROR)
    return isinstance(driver, (OSError, ImportError)) or any(
        each.__name__ == 'OperationalError' for each in type(driver).__mro__)


def caused(exc: BaseException | None, codes: Collection[str | int]) -> bool:
    """Return whether an error, or one that has caused it, has a code.

    :param codes: as in :func:`has`.
    """
    while exc is not None:
        if has(of(exc), codes):
            return True
        exc = exc.__cause__
    return False


def is_of_full_disk(driver: BaseException) -> bool:
    """Return whether a write failed since the disk of the database is full.

    :param driver: the exception of the driver.
    """
    return (refused_commit(driver)
            or (isinstance(driver, OSError)
                and driver.errno in (errno.ENOSPC, errno.EDQUOT))
            or getattr(driver, 'sqlite_errorname', None) == _NO_INDEX
            or has(driver, _FULL_ON_MARIADB))


def refused_commit(driver: BaseException) -> bool:
    """Return whether a COMMIT with this error has certainly done nothing.

    SQLite has not written the record of the commit, and PostgreSQL aborts the
    transaction. MariaDB may already have sent the transaction to other
    servers.

    :param driver: the exception of the driver.
    """
    return ((isinstance(driver, sqlite3.Error)
             and 'database or disk is full' in str(driver))
            or code(driver) == _FULL_ON_POSTGRESQL)
