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

"""/v1 and the controllers below it."""

from __future__ import annotations

import pecan

from ironic_reservations import policies
from ironic_reservations.api import expose
from ironic_reservations.api import pages
from ironic_reservations.api.controllers import rest
from ironic_reservations.api.controllers import version
from ironic_reservations.api.controllers.v1 import availability
from ironic_reservations.api.controllers.v1 import hosts
from ironic_reservations.api.controllers.v1 import leases
from ironic_reservations.api.controllers.v1 import reservations
from ironic_reservations.api.middleware import metrics as api_metrics
from ironic_reservations.engine import Engine


class Controller(rest.Controller):
    """Version 1 of the API."""

    def __init__(self, engine: Engine, enforcer: policies.Enforcer,
                 metrics: api_metrics.Metrics,
                 sign_in: pages.SignIn) -> None:
        super().__init__(engine, enforcer)
        self.reservations = reservations.ReservationsController(
            engine, enforcer, metrics)
        self.leases = leases.LeasesController(engine, enforcer)
        self.hosts = hosts.HostsController(engine, enforcer)
        # Pecan finds controllers as attributes named like their paths.
        setattr(self, 'os-hosts', self.hosts)
        self.availability = availability.AvailabilityController(
            engine, enforcer)
        api = rest.Api(engine, enforcer, sign_in, self.leases.find)
        self.of_features: list[rest.Route] = [
            # Without limits, "/v1/limits" still has the usage.
            route for each in engine.all_features
            for route in each.routes(api)]
        for route in self.of_features:
            route.attach(self)

    @expose.expose()
    def get(self, call: expose.Call) -> pecan.Response:
        """Return the version."""
        return expose.answer(
            {'version': version.current(call, self._engine.conf)})
