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

"""The file of a SQLite database, and the connections to it.

Only its owner may read it: it contains the proofs of all reservations. SQLite
gives the files that it creates beside it the same mode.

Connections are kept between transactions. oslo.db opens one for each
transaction, and it takes longer than most transactions to open the file, to
read its schema, and to write its log back when the last connection is closed.
"""

from __future__ import annotations

import contextlib
import errno
import os
import pathlib
import random
import sqlite3
import stat
import tempfile
import time
from typing import Any
import weakref

import sqlalchemy as sa
from sqlalchemy import pool

_OWNERS = 0o600
_OTHERS = stat.S_IRWXG | stat.S_IRWXO
#: The suffixes of the database and of the files beside it.
_BESIDE = ('', '-wal', '-shm', '.lock')

#: How long, in seconds, to wait for another writer.
# It is long, since the lock is on the whole file, and waiting writers are
# not served in order.
_PATIENCE = 30
_PAUSES = (0.002, 0.02)

#: The key of a connection's file in the record of the connection.
_FILE = 'ironic_reservations.file'

_engines: weakref.WeakSet[sa.Engine] = weakref.WeakSet()


def path(url: sa.URL) -> pathlib.Path | None:
    """Return the file of a database, ``None`` if it has none."""
    if (url.get_backend_name() != 'sqlite' or not url.database
            or url.database.startswith((':memory:', 'file:'))):
        return None
    return pathlib.Path(url.database)


def make_folder(folder: pathlib.Path) -> None:
    """Create a folder with mode 0700, unless it exists.

    :raises OSError: the folder cannot be created.
    """
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)


class NoFile(FileNotFoundError):
    """The service has not created the file of its database yet."""


def check(file: pathlib.Path) -> None:
    """Check that a file exists which this user may use.

    :raises NoFile: there is none, but it could be created.
    :raises OSError: the folder is missing, or the user may not write there;
        ``filename`` of the error is the folder.
    """
    folder = file.resolve().parent
    if not folder.is_dir():
        raise OSError(errno.ENOENT, os.strerror(errno.ENOENT), str(folder))
    if not os.access(folder, os.W_OK | os.X_OK):
        raise OSError(errno.EACCES, os.strerror(errno.EACCES), str(folder))
    if not file.exists():
        raise NoFile(errno.ENOENT, os.strerror(errno.ENOENT), str(file))


def make(file: pathlib.Path) -> None:
    """Create an empty file with mode 0600, unless it exists.

    An existing file is never opened here. To close it would drop all locks of
    the process on it, also the locks of SQLite's connections; another process
    then deletes the log to which these connections still write.

    :raises OSError: the file cannot be created; ``filename`` of the error is
        the folder.
    """
    file = file.resolve()
    if file.exists():
        return
    try:
        with tempfile.NamedTemporaryFile(
                dir=file.parent, prefix=f'{file.name}.',
                delete=False) as made:
            os.fchmod(made.fileno(), _OWNERS)
    except OSError as exc:
        raise OSError(exc.errno, exc.strerror, str(file.parent)) from exc
    with contextlib.suppress(FileExistsError):
        os.link(made.name, file)
    os.unlink(made.name)


def read_by_others(file: pathlib.Path) -> list[pathlib.Path]:
    """Return the files of a database that others may access."""
    return [each for each in (file.with_name(file.name + more)
                              for more in _BESIDE)
            if each.exists() and each.stat().st_mode & _OTHERS]


def on_connect(connection: Any, record: Any) -> None:
    """Set a connection up; a listener for the ``connect`` event."""
    connection.execute(f'PRAGMA busy_timeout = {_PATIENCE * 1000}')
    deadline = time.monotonic() + _PATIENCE
    while True:
        try:
            connection.execute('PRAGMA journal_mode = WAL')
        except sqlite3.OperationalError as exc:
            # SQLite does not wait for this lock: opening a new file
            # while another process writes to it fails at once.
            if 'locked' not in str(exc) or time.monotonic() > deadline:
                raise
            time.sleep(random.uniform(*_PAUSES))
        else:
            return


def keep_connections(engine: sa.Engine, file: pathlib.Path, most: int) -> None:
    """Make an engine keep its connections to a SQLite file.

    :param most: the number of kept connections; more may be open at a time.
    """
    made = engine.pool
    # It has the listeners of the pool that it replaces, which set up each
    # connection.
    engine.pool = pool.QueuePool(
        made._creator, pool_size=most, max_overflow=-1, use_lifo=True,
        _dispatch=made.dispatch, dialect=engine.dialect)

    def opened(connection: Any, record: Any) -> None:
        record.info[_FILE] = _identity(file)

    def taken(connection: Any, record: Any, proxy: Any) -> None:
        # A backup may have replaced the file. SQLite would apply the log of
        # the old file to it.
        if record.info[_FILE] != _identity(file):
            raise sa.exc.DisconnectionError(f'{file} is another file by now')
    sa.event.listen(engine, 'connect', opened)
    sa.event.listen(engine, 'checkout', taken)
    _engines.add(engine)


def _identity(file: pathlib.Path) -> tuple[int, int] | None:
    try:
        found = file.stat()
    except FileNotFoundError:
        return None
    return found.st_dev, found.st_ino


def _close_unused() -> None:
    """Close the connections that no thread uses at present.

    A process must neither use nor close a connection to SQLite that its
    parent has opened.
    """
    for engine in list(_engines):
        engine.dispose()


os.register_at_fork(before=_close_unused)
