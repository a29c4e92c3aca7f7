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

"""The root, the description of the API, and the routes."""

from __future__ import annotations

import functools
import pathlib
from typing import Any

import pecan
import yaml

from ironic_reservations import policies
from ironic_reservations.api import expose
from ironic_reservations.api import pages
from ironic_reservations.api.controllers import rest
from ironic_reservations.api.controllers import v1
from ironic_reservations.api.controllers import version
from ironic_reservations.api.middleware import metrics as api_metrics
from ironic_reservations.api.middleware import strict
from ironic_reservations.engine import Engine


class RootController(rest.Controller):
    """The root controller of pecan."""

    def __init__(self, engine: Engine, enforcer: policies.Enforcer,
                 metrics: api_metrics.Metrics,
                 sign_in: pages.SignIn) -> None:
        super().__init__(engine, enforcer)
        self.v1 = v1.Controller(engine, enforcer, metrics, sign_in)
        self.description = DescriptionController(engine, enforcer)
        # Pecan finds controllers as attributes named like their paths.
        setattr(self, 'openapi.json', self.description)

    @expose.expose()
    def get(self, call: expose.Call) -> pecan.Response:
        """Return the versions."""
        return expose.answer(version.versions(call, self._engine.conf))


class DescriptionController(rest.Controller):
    """The OpenAPI description."""

    @expose.expose()
    def get(self, call: expose.Call) -> pecan.Response:
        """Return the description as JSON."""
        return expose.answer(_description())


@functools.cache
def _description() -> Any:
    path = pathlib.Path(__file__).parents[1] / 'openapi.yaml'
    return yaml.safe_load(path.read_text('utf-8'))


def routes(root: RootController) -> strict.Routes:
    """Return the handlers of all paths."""
    below = root.v1
    hosts = below.hosts
    return {
        (): rest.single(root),
        ('v1',): rest.single(below),
        ('openapi.json',): rest.single(root.description),
        ('v1', 'reservations'): rest.collection(below.reservations),
        ('v1', 'reservations', strict.ANY): rest.item(below.reservations),
        ('v1', 'leases'): rest.collection(below.leases),
        ('v1', 'leases', strict.ANY): rest.item(below.leases),
        ('v1', 'os-hosts'): rest.collection(hosts),
        ('v1', 'os-hosts', strict.ANY): rest.item(hosts),
        ('v1', 'os-hosts', strict.ANY, 'allocation'): rest.single(
            hosts.allocation),
        ('v1', 'os-hosts', 'allocations'): rest.collection(
            hosts.allocations),
        ('v1', 'os-hosts', 'properties'): rest.collection(hosts.properties),
        ('v1', 'os-hosts', 'properties', strict.ANY): rest.item(
            hosts.properties),
        ('v1', 'availability'): rest.single(below.availability),
        **{('v1', *route.path): route.handlers
           for route in below.of_features},
    }
