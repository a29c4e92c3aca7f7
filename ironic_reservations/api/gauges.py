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

"""Prometheus gauges that are read from the database."""

from __future__ import annotations

from collections.abc import Iterable

import prometheus_client
from prometheus_client import core
from prometheus_client import registry as prometheus_registry

from ironic_reservations import errors
from ironic_reservations.engine import Engine

#: The beginning of the names of all metrics.
PREFIX = 'ironic_reservations_'


def begin_at_zero(refusals: prometheus_client.Counter) -> None:
    """Create the counter of each error code of the service, with 0.

    Prometheus does not see the first increase of a counter that appears with
    the value 1.

    :param refusals: a counter with the label ``code``.
    """
    for code in errors.service_codes():
        refusals.labels(code)


class Gauges(prometheus_registry.Collector):
    """Gauges whose values are read from the database at each request."""

    #: The name, the help text and the labels of each gauge.
    defined: tuple[tuple[str, str, tuple[str, ...]], ...]

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    def describe(self) -> Iterable[core.Metric]:
        """Return the metrics without reading the database."""
        return self._families()

    def _families(self) -> list[core.GaugeMetricFamily]:
        return [core.GaugeMetricFamily(PREFIX + name, text, labels=labels)
                for name, text, labels in self.defined]

    def collect(self) -> Iterable[core.Metric]:
        """Return all metrics, or none if the database does not answer."""
        families = self._families()
        try:
            self.read(families)
        except errors.DatabaseUnavailable:
            # The other metrics must still be served; absent gauges are better
            # than wrong ones.
            return []
        return families

    def read(self, families: list[core.GaugeMetricFamily]) -> None:
        """Add the values."""
        raise NotImplementedError
