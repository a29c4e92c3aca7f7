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

"""Metrics of the hosts that leases have."""

from __future__ import annotations

from prometheus_client import core

from ironic_reservations.api import gauges
from ironic_reservations.features.usage import periods


class LeasedHosts(gauges.Gauges):
    """Gauges of the hosts that leases have."""

    defined = (
        ('leased_hosts',
         'Hosts that leases have now, by class, deployed or unused.',
         ('resource_class', 'state')),)

    def read(self, families: list[core.GaugeMetricFamily]) -> None:
        """Add the values."""
        leased, = families
        with self._engine.database.read() as connection:
            there = periods.count_now(connection, self._engine.clock())
        for name, (bound, deployed) in there.items():
            leased.add_metric((name, 'deployed'), deployed)
            leased.add_metric((name, 'unused'), bound - deployed)
