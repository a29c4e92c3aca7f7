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

"""Describes to the operator why a database cannot be used."""

from __future__ import annotations

import sqlite3

from ironic_reservations import errors
from ironic_reservations.db import connection
from ironic_reservations.db import driver_errors
from ironic_reservations.db import sessions

#: The distribution of each driver, by the name of its module.
_DISTRIBUTIONS = {'pymysql': 'PyMySQL', 'MySQLdb': 'mysqlclient',
                  'psycopg2': 'psycopg2-binary', 'psycopg': 'psycopg[binary]'}
#: The words of SQLite if this user may not use the file.
_NOT_THE_OWNER = ('readonly database', 'unable to open database file')


def of(failure: errors.DatabaseUnavailable) -> str:
    """Return the cause of a failure, with the remedy if it is known.

    The text may contain addresses and names of files, so it is not sent to
    clients.

    :param failure: the error, whose cause is the driver's.
    """
    cause = failure.__cause__
    if cause is None or isinstance(cause, sessions.NotServed):
        return str(cause or failure)
    said = str(cause).partition('\n')[0]
    if isinstance(cause, ModuleNotFoundError):
        driver = _DISTRIBUTIONS.get(cause.name or '', cause.name)
        return (f'{said}. Install the driver into the Python environment of '
                f'the service: pip install "{driver}".')
    if isinstance(cause, OSError) and cause.filename:
        return (f'{said}. The folder of a SQLite file must exist, and the '
                'user of the service must be allowed to write there: '
                '"install -d -o USER -g GROUP -m 0700 '
                f'{cause.filename}", with the user and the group of the '
                'service.')
    if connection.misses_tables(cause):
        return f'{said}. Run "ironic-reservations-dbsync upgrade".'
    driver = driver_errors.of(cause)
    if driver_errors.is_of_full_disk(driver):
        return f'{said}. Make room on the disk of the database.'
    if isinstance(driver, sqlite3.Error) and any(
            each in said for each in _NOT_THE_OWNER):
        return (f'{said}. The file, the files beside it and their folder must '
                'belong to the user of the service.')
    if (driver_errors.is_operational(driver)
            and not isinstance(driver, sqlite3.Error)):
        return (f'{said}. The address, the user and the database are those '
                'of [database] connection.')
    return said
