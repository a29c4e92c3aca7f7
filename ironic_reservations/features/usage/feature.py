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

"""Records that nodes of leases are deployed, and serves their usage."""

from __future__ import annotations

from collections.abc import Collection
from collections.abc import Iterable
import dataclasses
from typing import Any

import sqlalchemy as sa

from ironic_reservations.engine import change as change_module
from ironic_reservations.engine import Engine
from ironic_reservations.engine import feature
from ironic_reservations.features.usage import periods as usage_periods
from ironic_reservations.features.usage import usage


@dataclasses.dataclass
class _Part(feature.Part):
    """The deployed nodes of one change.

    :ivar lasts: whether they still are deployed.
    """

    change: change_module.Change
    deployed: Collection[usage_periods.Deployment]
    lasts: bool

    def write(self, connection: sa.Connection) -> None:
        """Write that they are deployed.

        :raises Conflict: another process has written it.
        """
        usage_periods.begin(connection, self.deployed, self.change.planned_at,
                            self.lasts)


class Usage(feature.Feature):
    """The usage of leases, by day."""

    def routes(self, api: Any) -> Iterable[Any]:
        """Return the paths below ``/v1``."""
        from ironic_reservations.api.controllers import rest
        from ironic_reservations.features.usage import controller
        served = controller.UsageController(api.engine, api.enforcer)
        return [rest.Route(('usage',), served, rest.single(served))]

    def join(self, engine: Engine,
             change: change_module.Change) -> feature.Part | None:
        """Return the nodes that are deployed by a change."""
        used = next((event for event in change.events
                     if isinstance(event, change_module.Used)), None)
        if used is None:
            return None
        with engine.database.read() as connection:
            deployed = usage_periods.read_unrecorded(
                connection, change.planned_at, used.node_uuid)
        return _Part(change, deployed, used.lasts) if deployed else None

    def follow_nodes(self, engine: Engine) -> None:
        """Record which nodes of leases are deployed."""
        usage.record_deployments(engine)
