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

"""Metrics of maintenance windows."""

from __future__ import annotations

from prometheus_client import core

from ironic_reservations.api import gauges
from ironic_reservations.features.maintenance import rows


class Waiting(gauges.Gauges):
    """Gauges of nodes that should be in maintenance."""

    defined = (
        ('maintenance_waiting',
         'Nodes whose maintenance waits for their users, or for Ironic.', ()),)

    def read(self, families: list[core.GaugeMetricFamily]) -> None:
        """Add the values."""
        waiting, = families
        with self._engine.database.read() as connection:
            waiting.add_metric((), rows.count_late(connection,
                                                   self._engine.clock()))
