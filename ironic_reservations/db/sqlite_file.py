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

"""The file of a SQLite database, which only its owner may read.

It contains the proofs of all reservations. SQLite gives the files that it
creates beside it the same mode.
"""

from __future__ import annotations

import contextlib
import errno
import os
import pathlib
import stat
import tempfile

import sqlalchemy as sa

_OWNERS = 0o600
_OTHERS = stat.S_IRWXG | stat.S_IRWXO
#: The suffixes of the database and of the files beside it.
_BESIDE = ('', '-wal', '-shm', '.lock')


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
