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

"""What all controllers have in common, and what of them is served."""

from __future__ import annotations

from typing import Any

import pecan
from pecan import rest as pecan_rest

from ironic_reservations import policies
from ironic_reservations.api import expose
from ironic_reservations.api.middleware import strict
from ironic_reservations.engine import Engine


class Controller(pecan_rest.RestController):
    """The methods at a path and at those below it, as pecan routes them.

    :param engine: does what is asked.
    :param enforcer: judges who may ask for it.
    """

    def __init__(self, engine: Engine, enforcer: policies.Enforcer) -> None:
        self._engine = engine
        self._enforcer = enforcer

    @pecan.expose()
    def _route(self, args: list[str],
               request: pecan.Request) -> tuple[Any, list[str]]:
        """Return the handler of a request, which is known by now.

        NOTE: pecan finds the same one, as a test shows, but makes a class of
        its own for each of the five signatures that it looks at on the way.
        """
        return request.environ[strict.HANDLER], args

    @expose.expose()
    def options(self, call: expose.Call, *segments: str) -> pecan.Response:
        """Return which methods there are."""
        return expose.empty(Allow=', '.join(call.environ[strict.ALLOW]))


def collection(controller: Controller) -> strict.Handlers:
    """Return what of a controller serves its own path, by HTTP method."""
    return _served(controller, GET='get_all', POST='post')


def sole(controller: Controller) -> strict.Handlers:
    """Return what serves the path of what a caller has one of, or none."""
    return _served(controller, GET='get', POST='post', DELETE='delete')


def single(controller: Controller) -> strict.Handlers:
    """Return what of a controller serves the path of one document."""
    return _served(controller, GET='get')


def item(controller: Controller) -> strict.Handlers:
    """Return what of a controller serves the path of one of its things."""
    return _served(controller, GET='get_one', PUT='put', PATCH='patch',
                   DELETE='delete')


def _served(controller: Controller, **names: str) -> strict.Handlers:
    return {**{method: getattr(controller, name)
               for method, name in names.items()
               if hasattr(controller, name)},
            'OPTIONS': controller.options}
