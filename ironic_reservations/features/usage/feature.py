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
from collections.abc import Sequence
import dataclasses
from typing import Any

import sqlalchemy as sa

from ironic_reservations.engine import change as change_module
from ironic_reservations.engine import Engine
from ironic_reservations.engine import feature
from ironic_reservations.features.usage import lease_usage
from ironic_reservations.features.usage import periods
from ironic_reservations.features.usage import usage
from ironic_reservations.model import leases


@dataclasses.dataclass
class _Part(feature.Part):
    """The usage that one change begins or ends.

    :ivar deployed: nodes that are deployed.
    :ivar lasts: whether these nodes are still deployed.
    :ivar gone: the bookings that are deleted, with their leases.
    :ivar unused: the bookings whose nodes were released.
    """

    change: change_module.Change
    deployed: Collection[periods.Deployment] = ()
    lasts: bool = True
    gone: Sequence[tuple[leases.Lease, Sequence[leases.NodeBooking]]] = ()
    unused: Sequence[change_module.Unused] = ()

    def write(self, connection: sa.Connection) -> None:
        """Write the usage that begins, and the totals of the usage that ends.

        :raises Conflict: another process has written one of these rows.
        """
        now = self.change.planned_at
        periods.begin(connection, self.deployed, now, self.lasts)
        for lease, bookings in self.gone:
            lease_usage.add(connection, lease, bookings)
        for each in self.unused:
            periods.note_no_shows(connection, each.lease, each.bookings, now)


class Usage(feature.Feature):
    """The usage of leases, by day."""

    concerns = (change_module.Cause.STEP, change_module.Unused,
                change_module.Used)

    def gauges(self, engine: Engine) -> Iterable[Any]:
        """Return the metrics of the feature."""
        from ironic_reservations.features.usage import metrics
        return [metrics.LeasedHosts(engine)]

    def routes(self, api: Any) -> Iterable[Any]:
        """Return the paths below ``/v1``."""
        from ironic_reservations.api.controllers import rest
        from ironic_reservations.features.usage import controller
        served = controller.UsageController(api.engine, api.enforcer)
        return [rest.Route(('usage',), served, rest.single(served))]

    def join(self, engine: Engine,
             change: change_module.Change) -> feature.Part | None:
        """Return the usage that a change begins or ends."""
        part = _Part(
            change, gone=[each for each in change_module.gone(change)
                          if each[1] and not each[0].puts_back],
            unused=[event for event in change.events
                    if isinstance(event, change_module.Unused)])
        used = next((event for event in change.events
                     if isinstance(event, change_module.Used)), None)
        if used is not None:
            part.lasts = used.lasts
            with engine.database.read() as connection:
                part.deployed = periods.read_unrecorded(
                    connection, change.planned_at, used.node_uuid)
        return part if part.deployed or part.gone or part.unused else None

    def follow_nodes(self, engine: Engine) -> None:
        """Record the nodes of leases that are deployed."""
        usage.record_deployments(engine)
