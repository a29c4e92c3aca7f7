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


"""The reservations' API inside Ironic's, with Ironic's authentication."""

from __future__ import annotations

from collections.abc import Iterable

from ironic_reservations.api import dialects
from ironic_reservations.api import url
from ironic_reservations.api import wsgi
from ironic_reservations.api.controllers.v1 import reservations
from ironic_reservations.clouds import in_process
from ironic_reservations.clouds import ironic as ironic_client
from ironic_reservations.guard import identity
from ironic_reservations.guard import inward
from ironic_reservations.guard import metrics

#: Beside Ironic's own resources, and all that is below the prefix.
_OURS = ('/v1/reservations', '/v1/limits', *dialects.BLAZAR_PATHS, url.PREFIX)
#: Below the prefix, open to anybody.
_OPEN = frozenset(('', '/v1', '/openapi.json', '/healthcheck'))
_METRICS = '/metrics'


def mounted(path: str) -> bool:
    """Tell whether a path is ours and not Ironic's."""
    return dialects.lies_below(path, _OURS)


class Mount:
    """Puts the API where clients of Ironic find it.

    :param app: Ironic's application, which authenticates.
    :param api: ours, which takes callers for who it is told they are.
    :param counted: what the guard counts, to be served with the rest.
    """

    def __init__(self, app: wsgi.Application, api: wsgi.Application,
                 transport: in_process.InProcess, strategy: str,
                 counted: metrics.Metrics) -> None:
        self._app = app
        self._api = api
        self._transport = transport
        self._strategy = strategy
        self._all_metrics = counted.beside(api)

    def __call__(self, environ: wsgi.Environ,
                 start_response: wsgi.StartResponse) -> Iterable[bytes]:
        inner = identity.without(environ)
        path = inner['PATH_INFO']
        if path.startswith(url.PREFIX):
            inner['SCRIPT_NAME'] = inner.get('SCRIPT_NAME', '') + url.PREFIX
            inner['PATH_INFO'] = path[len(url.PREFIX):]
            below = inner['PATH_INFO'].rstrip('/')
            if below == _METRICS:
                return self._all_metrics(inner, start_response)
            if below in _OPEN:
                return self._api(inner, start_response)
        caller = identity.identify(self._app, self._strategy, environ)
        if isinstance(caller, wsgi.Answer):
            return caller.send(start_response)
        inner.update(caller)
        inner[reservations.OBSERVER] = ironic_client.Ironic.in_process(
            self._transport, inward.credentials(environ))
        return self._api(inner, start_response)
