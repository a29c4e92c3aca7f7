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

"""The health check: oslo.middleware's, with a look at the database."""

from __future__ import annotations

import types
from typing import Any

from oslo_middleware import healthcheck
from oslo_middleware.healthcheck import pluginbase
import sqlalchemy as sa

from ironic_reservations import errors
from ironic_reservations.db import connection
from ironic_reservations.engine import Engine


class Database(pluginbase.HealthcheckBaseExtension):
    """Healthy as long as the database answers."""

    def __init__(self, engine: Engine) -> None:
        super().__init__(engine.conf, {})
        self._engine = engine

    def healthcheck(self, server_port: int) -> pluginbase.HealthcheckResult:
        """Ask the database for nothing."""
        try:
            with self._engine.database.read() as opened:
                opened.execute(sa.select(1))
        except (errors.DatabaseUnavailable, connection.Conflict) as exc:
            return pluginbase.HealthcheckResult(
                available=False, reason='database unavailable',
                details=str(exc))
        return pluginbase.HealthcheckResult(available=True, reason='OK')


class Health(healthcheck.Healthcheck):
    """The application at /healthcheck.

    The backends of [healthcheck] are asked besides.
    """

    def __init__(self, engine: Engine) -> None:
        super().__init__(None, engine.conf)
        # NOTE: plugins are made from the configuration alone, and the one
        # that matters needs the connections that the API itself uses.
        self._backends: list[Any] = [  # type: ignore[assignment]
            *self._backends, types.SimpleNamespace(obj=Database(engine))]
