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


"""The turn of one migration at a time on MariaDB.

GET_LOCK belongs to one server: on a Galera cluster each node has its own, and
some releases refuse it there. The turn is therefore a row that all nodes have.
The holder of the turn has written its token to the row, and raises a counter
there at regular intervals. Another migration takes the row by a comparison
with the values that it read; if several try, Galera commits one of them. A
waiting migration reads the row at intervals. If the row is the same in so many
reads that its holder should have raised the counter several times, the holder
counts as dead, and its turn is over.

No clock is compared, since the clocks of a cluster's nodes may differ. A read
that was delayed itself is no sign of death, since a change of a table delays
the whole cluster: the reads are then counted from zero again.
"""

from __future__ import annotations

from collections.abc import Iterator
import contextlib
import dataclasses
import os
import socket
import threading
import time
from typing import Any
import uuid

from oslo_log import log
import sqlalchemy as sa

from ironic_reservations.db import driver_errors

LOG = log.getLogger(__name__)

TABLE = sa.Table(
    'migration_lock', sa.MetaData(),
    sa.Column('id', sa.Integer, primary_key=True, autoincrement=False),
    sa.Column('token', sa.String(36)),
    sa.Column('beats', sa.BigInteger, nullable=False),
    sa.Column('holder', sa.String(255)),
    mysql_engine='InnoDB', mysql_charset='utf8mb4')
_ROW = 1
#: The temporary errors of MariaDB: lock timeout, deadlock, "no such table", a
#: node of a cluster that is not ready, and two for an answer that takes long.
_AGAIN = (1205, 1213, 1146, 1047, 1969, 2013)


class Overtaken(Exception):
    """Another migration has taken the turn, or changes the same tables."""


class StillTaken(Exception):
    """Another migration has had the turn for too long.

    :param holder: the host and the process, for the error message.
    """

    def __init__(self, holder: str) -> None:
        super().__init__(holder)
        self.holder = holder


@dataclasses.dataclass(frozen=True)
class Pace:
    """The intervals at which the row is written and read.

    :ivar beat: the pause of the holder, in seconds.
    :ivar pause: the pause of a waiting migration, in seconds.
    :ivar reads: the number of reads that have to find the row unchanged.
    """

    beat: float = 2.0
    pause: float = 0.5
    reads: int = 40


PACE = Pace()


@dataclasses.dataclass(frozen=True)
class _Seen:
    """The row, as read."""

    token: str | None
    beats: int
    holder: str | None


class Turn:
    """The turn of one migration, taken in the block of :meth:`taken`.

    :param engine: an engine whose connections see the commits of all nodes of
        the cluster.
    """

    def __init__(self, engine: sa.Engine, pace: Pace | None = None) -> None:
        self._engine = engine.execution_options(isolation_level='AUTOCOMMIT')
        self._pace = pace or PACE
        self._token = str(uuid.uuid4())
        self._lock = threading.Lock()
        self._renewed = 0.0
        self._lost = False
        self._over = threading.Event()

    @contextlib.contextmanager
    def taken(self, wait: float) -> Iterator[None]:
        """Keep the turn for a block.

        :param wait: how long to wait for it, in seconds.
        :raises StillTaken: another migration keeps it for longer.
        """
        self._take(wait)
        beating = threading.Thread(target=self._beat, daemon=True,
                                   name='migration-turn')
        beating.start()
        try:
            yield
        finally:
            self._over.set()
            beating.join()
            self._release()

    def check(self, *_: Any) -> None:
        """Check that no other migration has taken the turn.

        A listener for the ``before_cursor_execute`` event of the connection
        that migrates.

        :raises Overtaken: another migration has taken it.
        """
        if self._is_stale():
            with _not_now():
                self._renew()
            if self._is_stale():
                raise Overtaken('the turn could not be renewed in time')
        if self._lost:
            raise Overtaken('another migration has taken the turn')

    def _is_stale(self) -> bool:
        return time.monotonic() - self._renewed > 2 * self._pace.beat

    def _take(self, wait: float) -> None:
        deadline = time.monotonic() + wait
        last, same = None, 0
        while True:
            began = time.monotonic()
            seen = self._read_row()
            took = time.monotonic() - began
            if seen is not None and self._is_mine_after(
                    seen, same >= self._pace.reads):
                self._renewed = began
                return
            held_up = seen is None or took > self._pace.beat
            same = 0 if held_up or seen != last else same + 1
            last = seen or last
            left = deadline - time.monotonic()
            if left <= 0:
                raise StillTaken((last and last.holder) or '')
            time.sleep(min(self._pace.pause, left))

    def _read_row(self) -> _Seen | None:
        """Return the row, inserted if missing; ``None``: try again later."""
        with _not_now(), self._engine.connect() as connection:
            if not sa.inspect(connection).has_table(TABLE.name):
                connection.execute(sa.schema.CreateTable(
                    TABLE, if_not_exists=True))
            found = self._read(connection)
            if found is None:
                connection.execute(sa.insert(TABLE).prefix_with(
                    'IGNORE').values(id=_ROW, beats=0))
                found = self._read(connection)
            return found
        return None

    def _read(self, connection: sa.Connection) -> _Seen | None:
        found = connection.execute(sa.select(
            TABLE.c.token, TABLE.c.beats, TABLE.c.holder).where(
                TABLE.c.id == _ROW)).one_or_none()
        return None if found is None else _Seen(*found)

    def _is_mine_after(self, seen: _Seen, is_dead: bool) -> bool:
        """Take the turn if it is free, and return whether it is ours."""
        if seen.token == self._token:
            # An earlier attempt took it, and the answer was lost.
            return True
        if seen.token is not None and not is_dead:
            return False
        with _not_now(), self._engine.connect() as connection:
            done = connection.execute(sa.update(TABLE).where(
                TABLE.c.id == _ROW, TABLE.c.beats == seen.beats,
                TABLE.c.token == seen.token).values(
                    token=self._token, beats=seen.beats + 1,
                    holder=f'{socket.gethostname()}, process {os.getpid()}'))
            if done.rowcount and seen.token is not None:
                LOG.warning('The migration of %s has stopped; this process '
                            'continues it', seen)
            return bool(done.rowcount)
        return False

    def _beat(self) -> None:
        while not self._lost and not self._over.wait(self._pace.beat):
            try:
                self._renew()
            except Exception as exc:
                LOG.warning('The turn could not be renewed: %s', exc)

    def _renew(self) -> None:
        with self._lock, self._engine.connect() as connection:
            began = time.monotonic()
            done = connection.execute(sa.update(TABLE).where(
                TABLE.c.id == _ROW, TABLE.c.token == self._token).values(
                    beats=TABLE.c.beats + 1))
            self._renewed = began
            self._lost = not done.rowcount

    def _release(self) -> None:
        try:
            with self._engine.connect() as connection:
                connection.execute(sa.update(TABLE).where(
                    TABLE.c.id == _ROW, TABLE.c.token == self._token).values(
                        token=None, beats=TABLE.c.beats + 1, holder=None))
        except Exception as exc:
            LOG.warning('The turn could not be released, and ends by itself: '
                        '%s', exc)


@contextlib.contextmanager
def _not_now() -> Iterator[None]:
    """Ignore errors after which the caller tries again."""
    try:
        yield
    except Exception as exc:
        if not driver_errors.caused(exc, _AGAIN):
            raise
