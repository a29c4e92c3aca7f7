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

"""Metrics of holds in Placement, and of the last audit."""

from __future__ import annotations

from prometheus_client import core

from ironic_reservations.api import gauges
from ironic_reservations.features.placement.audit import drift
from ironic_reservations.features.placement.holds import rows as hold_rows
from ironic_reservations.features.placement.holds import values


class Holds(gauges.Gauges):
    """Gauges of holds in Placement and of the last audit."""

    defined = (
        ('holds', 'Holds in Placement, by state.', ('state',)),
        ('placement_differences',
         'Differences that the last audit of Placement found, by kind.',
         ('kind',)),
        ('placement_differences_remaining',
         'Differences that the last audit could not repair, by kind.',
         ('kind',)),
        ('placement_audited_timestamp_seconds',
         'Time at which the last audit of Placement ended.', ()))

    def read(self, families: list[core.GaugeMetricFamily]) -> None:
        """Add the values."""
        held, found, remaining, audited = families
        with self._engine.database.read() as connection:
            counted = hold_rows.count(connection)
            differences = drift.read(connection)
        for state in values.HoldState:
            held.add_metric((state.value,), counted.get(state, 0))
        for kind, one in differences.items():
            found.add_metric((kind.value,), one.found)
            remaining.add_metric((kind.value,), one.remaining)
        if differences:
            audited.add_metric((), max(one.audited_at.timestamp()
                                       for one in differences.values()))
