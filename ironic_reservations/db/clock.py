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

"""The database's clock, by which all processes judge that promises expire.

A process measures the offset of the database's clock from its own monotonic
clock, and computes the time from the offset until it measures again. Requests
therefore need no statement for the time, and the wall clocks of the hosts do
not matter.

A measurement is uncertain by the time between query and answer. The earliest
possible time is used, so that no process ends a promise early.
"""

from __future__ import annotations

import dataclasses
import datetime
import os
import threading
from typing import Any

from oslo_log import log
import sqlalchemy as sa

from ironic_reservations import clock
from ironic_reservations import errors
from ironic_reservations import log_repeats
from ironic_reservations.db import answer_limit
from ironic_reservations.db import connection as db_connection

LOG = log.getLogger(__name__)

#: The age, in seconds, after which a request for the time measures again.
REFRESH = 5.0
#: The age, in seconds, after which a measurement is no longer used.
OLDEST = 30.0
#: How long, in seconds, a caller waits for the first measurement.
_PATIENCE = 10.0
#: The time, in seconds, after which a measurement is aborted.
_LONGEST = 10.0
#: If an answer takes longer than _QUICK seconds, the database is asked again,
#: up to _TRIES times in all.
_QUICK = 0.02
_TRIES = 3
#: The time, in seconds, above which an answer is too imprecise to be used.
_SLOWEST = 1.0
#: The change of the offset, in seconds, above which a warning is logged.
_JUMP = 1.0

_EPOCH = datetime.datetime(1970, 1, 1, tzinfo=datetime.UTC)
# Functions that return the present time, not that of the start of the
# transaction.
_NOW = {
    'sqlite': "SELECT strftime('%Y-%m-%d %H:%M:%f', 'now')",
    'mysql': 'SELECT UTC_TIMESTAMP(6)', 'mariadb': 'SELECT UTC_TIMESTAMP(6)',
    'postgresql': 'SELECT clock_timestamp()'}
#: SQLite truncates times to milliseconds.
_RESOLUTION = 0.001
#: The maximum drift between two clocks, in seconds per second, while NTP
#: adjusts one of them.
_DRIFT = 0.0005


@dataclasses.dataclass(frozen=True)
class Measured:
    """A measurement of the database's clock.

    :ivar at: the time of the measurement by :func:`.clock.elapsed`, in
        seconds.
    :ivar offset: the difference between the earliest possible time in the
        database, in seconds since 1970, and the monotonic clock.
    :ivar skew: how far this host's wall clock is ahead, in seconds; negative
        if it is behind.
    :ivar error: the uncertainty of the skew, in seconds.
    """

    at: float
    offset: float
    skew: float
    error: float


class DatabaseClock:
    """Returns the database's time when called.

    :param database: the database; the clock uses a connection of its own, so
        that it works while all others are in use.
    :param max_skew: the seconds by which this host's wall clock may differ
        before the clock refuses to return the time; 0: no limit.
    :param timer: a monotonic clock, in seconds.
    :param host: the wall clock; by default that of this host.
    """

    def __init__(self, database: db_connection.Database,
                 max_skew: float = 0,
                 timer: clock.Timer = clock.elapsed,
                 host: clock.Clock | None = None) -> None:
        self._database = database
        self._max_skew = max_skew
        self._timer = timer
        self._host = host or clock.utc_now
        self._measured: Measured | None = None
        self._off = False
        self._begin_process()

    def _begin_process(self) -> None:
        """Reset the parts that do not survive a fork.

        The last measurement stays valid, since the host is the same.
        """
        self._pid = os.getpid()
        self._lock = threading.Lock()
        self._repeats = log_repeats.Repeats(self._timer)
        self._measuring: threading.Thread | None = None
        self._begun = 0.0
        self._own: db_connection.Database | None = None
        self._driver: Any = None

    def __call__(self) -> datetime.datetime:
        """Return the earliest possible time, zone-aware, in UTC.

        :raises DatabaseUnavailable: the last measurement is too old.
        :raises ClockSkewed: this host's wall clock differs too much.
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
        """Return whether this host's wall clock differs too much."""
        return 0 < self._max_skew < abs(known.skew) - known.error

    def known(self, fresh: float, patience: float) -> Measured | None:
        """Return the last measurement, if it is not too old.

        :param fresh: the age, in seconds, from which a new measurement is
            begun on another thread.
        :param patience: how long to wait for it, in seconds, if there is no
            measurement that can be used.
        :returns: ``None`` if there is still no such measurement.
        """
        known = self._measured
        if known is None or self._timer() - known.at > fresh:
            measuring = self._start_measuring()
            known = self._counts()
            if known is None:
                measuring.join(patience)
                known = self._counts()
        return known

    def _counts(self) -> Measured | None:
        known = self._measured
        return (None if known is None or self._timer() - known.at > OLDEST
                else known)

    def answered(self, fresh: float, patience: float
                 ) -> tuple[Measured | None, float | None]:
        """Return the last measurement, and the age of the last answer.

        :param fresh: the age, in seconds, up to which no new measurement is
            begun.
        :param patience: how long to wait for a new one, in seconds.
        :returns: the measurement, ``None`` before the first one; and for how
            long, in seconds, the database has not answered, ``None`` if there
            is a fresh answer.
        """
        begun = self._timer()
        known = self._measured
        if known is None or begun - known.at > fresh:
            self._start_measuring().join(patience)
            known = self._measured
        if known is None:
            return None, self._timer() - begun
        return known, (None if known.at >= begun - fresh
                       else self._timer() - known.at)

    def close(self) -> None:
        """Close the connection."""
        if self._own is not None:
            self._own.close()

    def _start_measuring(self) -> threading.Thread:
        """Start a measurement on another thread, unless one is running."""
        if self._pid != os.getpid():
            self._begin_process()
        with self._lock:
            measuring = self._measuring
            if measuring is None or not measuring.is_alive():
                measuring = self._measuring = threading.Thread(
                    target=self._measure, daemon=True,
                    name='ironic-reservations-clock')
                self._begun = self._timer()
                measuring.start()
            elif self._timer() - self._begun > _LONGEST:
                self._begun = self._timer()
                self._cut_off()
            return measuring

    def _cut_off(self) -> None:
        """Abort a measurement without an answer.

        Libpq itself has no time limit: see :mod:`.sessions`.
        """
        answer_limit.shut_down(self._driver)

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
            if self._repeats.are_due(str(exc)):
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
        """Store a measurement.

        The database read its clock at some moment between the two times, so
        that every offset in between is possible. Offsets that the last
        measurement excluded stay excluded, unless the clocks may have drifted
        that far.
        """
        low, high = said - after, said + resolution - before
        last = self._measured
        offset = low
        if last is not None:
            aged = last.offset - _DRIFT * (after - last.at)
            offset = max(low, aged) if aged <= high else low
            if abs(offset - last.offset) > _JUMP:
                LOG.warning(
                    "The database's clock has moved by %+.1f s against this "
                    "host's since it was asked %.0f s ago; all promises move "
                    'with it',
                    offset - last.offset, after - last.at)
        error = (high - low) / 2
        self._measured = Measured(after, offset,
                                  host - (low + high) / 2 - after, error)
        self._log_skew(self._measured)

    def _log_skew(self, known: Measured) -> None:
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
