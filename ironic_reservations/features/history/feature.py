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

"""Serves the history of leases."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from ironic_reservations.engine import feature


class History(feature.Feature):
    """The history of leases."""

    def routes(self, api: Any) -> Iterable[Any]:
        """Return the paths below ``/v1``."""
        from ironic_reservations.api.controllers import rest
        from ironic_reservations.api.middleware import strict
        from ironic_reservations.features.history import controller
        history = controller.HistoryController(api.engine, api.enforcer,
                                               api.find_lease)
        return [rest.Route(('leases', strict.ANY, 'history'), history,
                           rest.single(history))]
