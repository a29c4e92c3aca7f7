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

"""Failures of a database whose disk is full."""

from __future__ import annotations

import errno
import sqlite3

from ironic_reservations.db import driver_errors

#: MariaDB's errors: the disk is full, the table is full.
_MARIADB = (1021, 1114)
#: SQLite's error if it cannot extend the index beside its file.
_NO_INDEX = 'SQLITE_IOERR_SHMSIZE'
#: PostgreSQL's error for a full disk.
_POSTGRESQL = '53100'


def is_full(driver: BaseException) -> bool:
    """Return whether a write failed since the disk of the database is full.

    :param driver: the exception of the driver.
    """
    return (refused_commit(driver)
            or (isinstance(driver, OSError)
                and driver.errno in (errno.ENOSPC, errno.EDQUOT))
            or getattr(driver, 'sqlite_errorname', None) == _NO_INDEX
            or driver_errors.has(driver, _MARIADB))


def refused_commit(driver: BaseException) -> bool:
    """Return whether a COMMIT with this error has certainly done nothing.

    SQLite has not written the record of the commit, and PostgreSQL aborts the
    transaction. MariaDB may already have sent the transaction to other
    servers.

    :param driver: the exception of the driver.
    """
    return ((isinstance(driver, sqlite3.Error)
             and 'database or disk is full' in str(driver))
            or driver_errors.code(driver) == _POSTGRESQL)
