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


"""The metrics of the guard, served together with those of the API."""

from __future__ import annotations

from collections.abc import Iterable

import prometheus_client

from ironic_reservations.api import gauges
from ironic_reservations.api import wsgi


class Metrics:
    """The metrics of the guard, in a registry of their own."""

    def __init__(self) -> None:
        self._registry = prometheus_client.CollectorRegistry()
        self._refusals = prometheus_client.Counter(
            'ironic_reservations_guard_refusals',
            'Requests to Ironic that the guard refused, by code.', ('code',),
            registry=self._registry)
        gauges.begin_at_zero(self._refusals)

    def refused(self, code: str) -> None:
        """Count a refusal."""
        self._refusals.labels(code).inc()

    def beside(self, served: wsgi.Application) -> wsgi.Application:
        """Add these metrics to those of an application."""
        def application(environ: wsgi.Environ,
                        start_response: wsgi.StartResponse
                        ) -> Iterable[bytes]:
            # Texts in the plain format can be joined; those in OpenMetrics end
            # with a line of their own.
            answer = wsgi.call(served, {**environ,
                                        'HTTP_ACCEPT': 'text/plain'})
            if answer.status != 200:
                return answer.send(start_response)
            body = answer.body + prometheus_client.generate_latest(
                self._registry)
            headers = [(name, value) for name, value in answer.headers
                       if name.lower() != 'content-length']
            return wsgi.Answer(200, [
                *headers, ('Content-Length', str(len(body)))], body).send(
                    start_response)
        return application
