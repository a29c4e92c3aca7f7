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

"""Serves maintenance windows."""

from __future__ import annotations

from collections.abc import Collection
from collections.abc import Iterable
from collections.abc import Mapping
from collections.abc import Sequence
import dataclasses
import functools
from typing import Any

import sqlalchemy as sa

from ironic_reservations.engine import change as change_module
from ironic_reservations.engine import Engine
from ironic_reservations.engine import feature
from ironic_reservations.features.maintenance import find
from ironic_reservations.features.maintenance import rows
from ironic_reservations.features.maintenance import sync
from ironic_reservations.model import node_window
from ironic_reservations.reconciler import claim
from ironic_reservations.reconciler import loop


@dataclasses.dataclass
class _Part(feature.Part):
    """The nodes whose maintenance is over with a change."""

    over: Sequence[node_window.NodeWindow]

    def write(self, connection: sa.Connection) -> None:
        """Write these nodes, since their bookings have been deleted."""
        rows.insert_over(connection, self.over)


class Maintenance(feature.Feature):
    """Maintenance windows."""

    concerns = (node_window.NodeWindow,)

    def join(self, engine: Engine,
             change: change_module.Change) -> feature.Part | None:
        """Return the nodes whose maintenance is over with a change."""
        over = [write.after for write in change.of_windows
                if write.after is not None and write.after.over]
        return _Part(over) if over else None

    def gauges(self, engine: Engine) -> Iterable[Any]:
        """Return the metrics of the feature."""
        from ironic_reservations.features.maintenance import metrics
        return [metrics.Waiting(engine)]

    def routes(self, api: Any) -> Iterable[Any]:
        """Return the paths below ``/v1``."""
        from ironic_reservations.api.controllers import rest
        from ironic_reservations.api.middleware import strict
        from ironic_reservations.features.maintenance import controller
        windows = controller.MaintenancesController(api.engine, api.enforcer)
        return [rest.Route(('maintenances',), windows,
                           rest.collection(windows)),
                rest.Route(('maintenances', strict.ANY), windows,
                           rest.item(windows))]

    def purposes(self, engine: Engine, window_ids: Collection[str]
                 ) -> Mapping[str, node_window.Purpose]:
        """Return the names and reasons of windows."""
        with engine.database.read() as connection:
            return rows.read_purposes(connection, window_ids)

    def clean_up(self, engine: Engine) -> None:
        """Delete windows that were over long ago."""
        find.purge(engine)

    def loops(self, engine: Engine) -> Iterable[Any]:
        """Return the loop that puts nodes into maintenance."""
        if engine.ironic is None:
            return []
        options = engine.conf.ironic
        work = functools.partial(sync.sync, engine, engine.ironic)
        return [loop.Loop('maintenance', (
            loop.Task(work, options.poll_interval),
        ), claim.Claim(engine, 'maintenance', options.claim_ttl))]
