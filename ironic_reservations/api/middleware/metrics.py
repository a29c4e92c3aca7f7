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

"""Prometheus metrics of this process."""

from __future__ import annotations

from collections.abc import Iterable
from collections.abc import Iterator
import contextlib

import prometheus_client
from prometheus_client import core
from prometheus_client import exposition
from prometheus_client import registry as prometheus_registry

from ironic_reservations.api import gauges
from ironic_reservations.api import wsgi
from ironic_reservations.clouds import ironic_versions
from ironic_reservations.db import clock as db_clock
from ironic_reservations.engine import counts
from ironic_reservations.engine import Engine
from ironic_reservations.model import leases
from ironic_reservations.model import node_reservation

_METHODS = frozenset(('GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE',
                      'OPTIONS'))
#: The limit for the time of the database, in seconds.
_PATIENCE = 1.0


class Metrics:
    """Counts requests, and serves /metrics.

    The registry is our own: inside Ironic's process, the library's global one
    belongs to Ironic.
    """

    def __init__(self, engine: Engine) -> None:
        self._registry = prometheus_client.CollectorRegistry()
        self._requests = prometheus_client.Counter(
            gauges.PREFIX + 'requests', 'Requests answered.',
            ('method', 'status'), registry=self._registry)
        self._refusals = prometheus_client.Counter(
            gauges.PREFIX + 'refusals', 'Requests refused, by code.',
            ('code',),
            registry=self._registry)
        gauges.begin_at_zero(self._refusals)
        self._picks = prometheus_client.Histogram(
            gauges.PREFIX + 'pick_seconds',
            'Time to pick and claim a node, or to find none.',
            registry=self._registry,
            buckets=(.002, .005, .01, .02, .05, .1, .2, .5, 1, 2, 5, 10))
        self._registry.register(_Live(engine))
        self._registry.register(_Histories(engine))
        self._registry.register(_IronicApi(engine))
        if isinstance(engine.clock, db_clock.DatabaseClock):
            self._registry.register(_Clock(engine, engine.clock))
        for feature in engine.features:
            for each in feature.gauges(engine):
                self._registry.register(each)

    def count(self, method: str, status: int, code: str | None) -> None:
        """Count an answer.

        :param code: the code of the error, if the answer is one.
        """
        # Clients may send any method, and a label for each would fill the
        # memory.
        self._requests.labels(method if method in _METHODS else 'other',
                              str(status)).inc()
        if code is not None:
            self._refusals.labels(code).inc()

    @contextlib.contextmanager
    def picking(self) -> Iterator[None]:
        """Measure the time of a pick, successful or not."""
        with self._picks.time():
            yield

    def __call__(self, environ: wsgi.Environ,
                 start_response: wsgi.StartResponse) -> Iterable[bytes]:
        encoder, content_type = exposition.choose_encoder(
            environ.get('HTTP_ACCEPT', ''))
        text = encoder(self._registry)
        return wsgi.Answer(200, [
            ('Content-Type', content_type),
            ('Content-Length', str(len(text)))], text).send(start_response)


class _Live(gauges.Gauges):
    """Gauges of reservations and leases."""

    defined = (
        ('live', 'Live reservations, by state.', ('state',)),
        ('uncertain_requests',
         'Requests to Ironic whose outcome is not known.', ()),
        ('uncertain_oldest_seconds',
         'Time since the oldest of these requests should have been answered.',
         ()),
        ('leases', 'Leases that are not over, by status.', ('status',)),
        ('leases_waiting',
         'Leases whose next step cannot be done yet, by status.',
         ('status',)),
        ('reconciler_claimed',
         '1 if a process has the claim to follow the nodes of Ironic, else 0.',
         ()))

    def read(self, families: list[core.GaugeMetricFamily]) -> None:
        """Add the values."""
        live, unsure, oldest, there, waiting, claimed = families
        counted = counts.live(self._engine)
        for state in node_reservation.State:
            live.add_metric((state.value,), counted.reservations.get(state, 0))
        unsure.add_metric((), counted.uncertain)
        oldest.add_metric((), counted.uncertain_for)
        claimed.add_metric((), counted.followed)
        for status in leases.LeaseStatus:
            if status is leases.LeaseStatus.TERMINATED:
                continue
            count, stuck = counted.leases.get(status, (0, 0))
            there.add_metric((status.value,), count)
            waiting.add_metric((status.value,), stuck)


class _Histories(prometheus_registry.Collector):
    """Counts how often the database showed another history than before."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    def collect(self) -> Iterable[core.Metric]:
        """Return the counter of this process."""
        return [core.CounterMetricFamily(
            gauges.PREFIX + 'other_histories',
            'Times that the database had another history than this process '
            'had seen, as after a fail-over or a restored backup.',
            self._engine.snapshots.other_histories)]


class _IronicApi(gauges.Gauges):
    """Gauges of the version of Ironic's API."""

    defined = (
        ('ironic_api_reviewed_minor',
         "Newest minor version of Ironic's API that this release covers.",
         ()),
        ('ironic_api_served_minor',
         "Newest minor version of Ironic's API that Ironic serves.", ()))

    def read(self, families: list[core.GaugeMetricFamily]) -> None:
        """Add the known values."""
        reviewed, served = families
        reviewed.add_metric((), ironic_versions.REVIEWED_MINOR)
        newest = self._engine.ironic_api.newest
        if newest is not None:
            served.add_metric((), ironic_versions.minor(newest))


class _Clock(gauges.Gauges):
    """Gauges of this host's clock against the database's."""

    defined = (
        ('clock_skew_seconds',
         "Difference of this host's clock from the database's; above 0 if it "
         'is ahead.', ()),
        ('clock_error_seconds',
         'Possible error of that difference, and of the time in this '
         'process.', ()),
        ('clock_silence_seconds',
         'Time since the database has last answered; 0 if it answers.', ()))

    def __init__(self, engine: Engine, clock: db_clock.DatabaseClock) -> None:
        super().__init__(engine)
        self._clock = clock

    def read(self, families: list[core.GaugeMetricFamily]) -> None:
        """Add the last measurement, or a new one if it is old."""
        skew, error, silence = families
        known, silent = self._clock.answered(db_clock.REFRESH, _PATIENCE)
        if known is not None:
            skew.add_metric((), known.skew)
            error.add_metric((), known.error)
        silence.add_metric((), silent or 0)
