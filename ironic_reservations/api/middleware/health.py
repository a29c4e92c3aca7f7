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

"""The health check of oslo.middleware, with a check of the database."""

from __future__ import annotations

import types
from typing import Any

from oslo_middleware import healthcheck
from oslo_middleware.healthcheck import pluginbase

from ironic_reservations.db import clock as db_clock
from ironic_reservations.engine import Engine

#: An answer of the database is used up to this age, in seconds.
_FRESH = 1.0
#: The limit for the next one, in seconds.
_PATIENCE = 1.0


class Database(pluginbase.HealthcheckBaseExtension):
    """Checks the database, this host's clock, and that all hosts are known.

    The process is healthy only after it has read all hosts, so that the first
    request does not wait for them.

    The check has a connection and a thread of its own, so that it answers in
    time in any state of the database.
    """

    def __init__(self, engine: Engine) -> None:
        super().__init__(engine.conf, {})
        self._engine = engine
        self._clock = (
            engine.clock if isinstance(engine.clock, db_clock.DatabaseClock)
            else db_clock.DatabaseClock(engine.database,
                                        engine.conf.database.max_clock_skew))

    def healthcheck(self, server_port: int) -> pluginbase.HealthcheckResult:
        """Return the result of the checks."""
        known, silent = self._clock.answered(_FRESH, _PATIENCE)
        if known is None:
            return pluginbase.HealthcheckResult(
                available=False, reason='database unavailable',
                details='The database of the reservations has not answered.')
        if silent is not None:
            return pluginbase.HealthcheckResult(
                available=False, reason='database unavailable',
                details='The database of the reservations has last answered '
                        f'{silent:.0f} s ago.')
        details = (f"This host's clock is {known.skew:+.3f} s from the "
                   f"database's, give or take {known.error:.3f} s.")
        if self._clock.is_off(known):
            return pluginbase.HealthcheckResult(
                available=False, reason='clock skewed', details=details)
        if not self._engine.snapshots.filled:
            self._engine.snapshots.fill(
                self._engine.database, self._engine.clock).join(_PATIENCE)
        if not self._engine.snapshots.filled:
            return pluginbase.HealthcheckResult(
                available=False, reason='timeline not read yet',
                details='This process has not read all bookings yet, or could '
                        'not read them; the log has the reason.')
        if self._engine.snapshots.other_histories:
            # The process has read the whole timeline again, so it can serve.
            details += (' The database had another history than this process '
                        f'had seen, {self._engine.snapshots.other_histories} '
                        'times since it began: promises that were made may be '
                        'gone.')
        return pluginbase.HealthcheckResult(available=True, reason='OK',
                                            details=details)


class Health(healthcheck.Healthcheck):
    """The application at /healthcheck, with the backends of [healthcheck]."""

    def __init__(self, engine: Engine) -> None:
        super().__init__(None, engine.conf)
        # oslo.middleware builds plugins from the configuration alone, but this
        # one needs the engine.
        self._backends: list[Any] = [  # type: ignore[assignment]
            *self._backends, types.SimpleNamespace(obj=Database(engine))]
