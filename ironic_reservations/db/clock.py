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

"""The database's time: what all processes judge promises by.

A process measures how far the database's clock is from a clock of its own
that nobody can set, and tells the time by that until it measures again.  No
statement of a request asks for the time, and the wall clocks of the hosts do
not matter.
"""

from __future__ import annotations

import contextlib
import dataclasses
import datetime
import os
import socket
import threading
from typing import Any

from oslo_log import log
import sqlalchemy as sa

from ironic_reservations import clock
from ironic_reservations import errors
from ironic_reservations.db import connection as db_connection

LOG = log.getLogger(__name__)

#: After so many seconds it is measured again, by whoever asks for the time.
REFRESH = 5.0
#: What is older than this, in seconds, tells nobody the time.
OLDEST = 30.0
#: How long, in seconds, somebody without the time waits for it.
_PATIENCE = 10.0
#: After so many seconds a look that has not come to its end is cut off.
_LONGEST = 10.0
#: An answer that takes longer, in seconds, is asked for again, so often.
_QUICK = 0.02
_TRIES = 3
#: What takes longer than this, in seconds, tells too little.
_SLOWEST = 1.0
#: What is worth a line in the log, in seconds.
_JUMP = 1.0

_EPOCH = datetime.datetime(1970, 1, 1, tzinfo=datetime.UTC)
# NOTE: not the start of a transaction, which may be some time ago.
_NOW = {
    'sqlite': "SELECT strftime('%Y-%m-%d %H:%M:%f', 'now')",
    'mysql': 'SELECT UTC_TIMESTAMP(6)', 'mariadb': 'SELECT UTC_TIMESTAMP(6)',
    'postgresql': 'SELECT clock_timestamp()'}
#: SQLite cuts off what is less than a millisecond.
_RESOLUTION = 0.001


@dataclasses.dataclass(frozen=True)
class Measured:
    """What the database's clock said.

    :ivar at: when, by :func:`.clock.elapsed`, in seconds.
    :ivar offset: what has to be added to that, to have the database's time
        in seconds since 1970.
    :ivar skew: how far this host's own clock is ahead, in seconds; negative
        where it is behind.
    :ivar error: by how much both may be wrong, in seconds.
    """

    at: float
    offset: float
    skew: float
    error: float


class DatabaseClock:
    """Tells the database's time: call it.

    :param database: whose; it is asked on a connection of its own, so that
        it answers where all others wait for something.
    :param max_skew: a host whose own clock is off by more, in seconds, judges
        nothing; 0: any does.
    :param timer: seconds, never set back.
    :param host: the clock of this host.
    """

    def __init__(self, database: db_connection.Database,
                 max_skew: float = 0,
                 timer: clock.Timer = clock.elapsed,
                 host: clock.Clock = clock.utc_now) -> None:
        self._database = database
        self._max_skew = max_skew
        self._timer = timer
        self._host = host
        self._measured: Measured | None = None
        self._off = False
        self._begin_process()

    def _begin_process(self) -> None:
        """Begin without what a fork cannot take along.

        What has been measured holds on: it is the same host.
        """
        self._pid = os.getpid()
        self._lock = threading.Lock()
        self._looking: threading.Thread | None = None
        self._begun = 0.0
        self._own: db_connection.Database | None = None
        self._driver: Any = None

    def __call__(self) -> datetime.datetime:
        """Return the present time, zone-aware, in UTC.

        :raises DatabaseUnavailable: the database has not told it for too
            long.
        :raises ClockSkewed: this host's own clock is off.
        """
        known = self.known(REFRESH, _PATIENCE)
        if known is None:
            raise errors.DatabaseUnavailable(
                'The database of the reservations does not return the time, '
                'so nothing was promised or changed. Try again later; if this '
                'continues, tell the operator.')
        if self.is_off(known):
            raise errors.ClockSkewed(
                'The clock of the host that serves this request is off by '
                f'{abs(known.skew):.0f} s, so it makes no promises, and '
                'nothing was changed. Try again: another host may serve you. '
                'The operator should check NTP on that host.')
        return _EPOCH + datetime.timedelta(
            seconds=known.offset + self._timer())

    def is_off(self, known: Measured) -> bool:
        """Check whether this host's own clock is off by too much."""
        return 0 < self._max_skew < abs(known.skew) - known.error

    def known(self, fresh: float, patience: float) -> Measured | None:
        """Return what is known of the database's clock.

        :param fresh: what is older, in seconds, is measured again, on
            another thread.
        :param patience: how long to wait for that, in seconds, where nothing
            is known that still counts.
        :returns: ``None`` where nothing is.
        """
        known = self._measured
        if known is None or self._timer() - known.at > fresh:
            looking = self._look()
            known = self._counts()
            if known is None:
                looking.join(patience)
                known = self._counts()
        return known

    def _counts(self) -> Measured | None:
        known = self._measured
        return (None if known is None or self._timer() - known.at > OLDEST
                else known)

    def answered(self, fresh: float, patience: float
                 ) -> tuple[Measured | None, float | None]:
        """Return what is known, and for how long the database is silent.

        :param fresh: an answer that is younger, in seconds, will do.
        :param patience: how long to wait for another, in seconds.
        :returns: with ``None`` for the silence where it answers.
        """
        begun = self._timer()
        known = self._measured
        if known is None or begun - known.at > fresh:
            self._look().join(patience)
            known = self._measured
        if known is None:
            return None, self._timer() - begun
        return known, (None if known.at >= begun - fresh
                       else self._timer() - known.at)

    def close(self) -> None:
        """Give the connection back."""
        if self._own is not None:
            self._own.close()

    def _look(self) -> threading.Thread:
        """Have it measured, unless it is being measured."""
        if self._pid != os.getpid():
            self._begin_process()
        with self._lock:
            looking = self._looking
            if looking is None or not looking.is_alive():
                looking = self._looking = threading.Thread(
                    target=self._measure, daemon=True,
                    name='ironic-reservations-clock')
                self._begun = self._timer()
                looking.start()
            elif self._timer() - self._begun > _LONGEST:
                self._begun = self._timer()
                self._cut_off()
            return looking

    def _cut_off(self) -> None:
        """End a look that waits for an answer that does not come.

        NOTE: libpq has no limit for that: see :mod:`.sessions`.
        """
        if not hasattr(self._driver, 'fileno'):
            return
        with contextlib.suppress(Exception), socket.socket(
                fileno=os.dup(self._driver.fileno())) as stuck:
            stuck.shutdown(socket.SHUT_RDWR)

    def _connected(self, connection: Any, record: Any) -> None:
        self._driver = connection

    def _measure(self) -> None:
        try:
            if self._own is None:
                own = self._database.alone()
                sa.event.listen(own.engine, 'connect', self._connected)
                self._own = own
            with self._own.read() as connection:
                found = self._ask(connection)
        except (errors.DatabaseUnavailable, db_connection.Conflict) as exc:
            LOG.warning('The database does not return the time: %s', exc)
        except Exception:
            LOG.exception('The time of the database could not be measured')
        else:
            self._take(*found)

    def _ask(self, connection: sa.Connection) -> tuple[float, ...]:
        dialect = connection.dialect.name
        resolution = _RESOLUTION if dialect == 'sqlite' else 0.0
        best: tuple[float, ...] | None = None
        for _ in range(_TRIES):
            before = self._timer()
            said = connection.exec_driver_sql(_NOW[dialect]).scalar_one()
            host = self._host()
            after = self._timer()
            if best is None or after - before < best[1] - best[0]:
                best = (before, after, _seconds(_instant(said)),
                        _seconds(host), resolution)
            if best[1] - best[0] <= _QUICK:
                break
        assert best is not None
        if best[1] - best[0] > _SLOWEST:
            raise errors.DatabaseUnavailable(
                f'the answer took {best[1] - best[0]:.1f} s, which is too '
                'long.')
        return best

    def _take(self, before: float, after: float, said: float, host: float,
              resolution: float) -> None:
        """Take in an answer.

        NOTE: it was right at some moment between the two, and so is every
        offset in between; the one of before is kept if it is one of them.
        """
        low, high = said - after, said + resolution - before
        last = self._measured
        offset = (low + high) / 2
        if last is not None:
            offset = min(max(last.offset, low), high)
            if abs(offset - last.offset) > _JUMP:
                LOG.warning(
                    "The database's clock has moved by %+.1f s against this "
                    "host's since it was asked %.0f s ago; all promises move "
                    'with it',
                    offset - last.offset, after - last.at)
        error = (high - low) / 2
        self._measured = Measured(after, offset,
                                  host - (low + high) / 2 - after, error)
        self._tell(self._measured)

    def _tell(self, known: Measured) -> None:
        off = self.is_off(known)
        if off and not self._off:
            LOG.error(
                "This host's clock differs by %+.1f s from the database's, "
                'which is more than [database] max_clock_skew; this host '
                'serves no request that depends on the time until its clock '
                'is corrected', known.skew)
        elif self._off and not off:
            LOG.info("This host's clock agrees with the database's again")
        self._off = off


def _instant(said: Any) -> datetime.datetime:
    if isinstance(said, str):
        said = datetime.datetime.fromisoformat(said)
    assert isinstance(said, datetime.datetime)
    return said if said.tzinfo else said.replace(tzinfo=datetime.UTC)


def _seconds(moment: datetime.datetime) -> float:
    return (moment - _EPOCH).total_seconds()
