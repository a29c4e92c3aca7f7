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

from collections.abc import Callable
from collections.abc import Iterable

from ironic_reservations.api import dialects
from ironic_reservations.api import identity as api_identity
from ironic_reservations.api import url
from ironic_reservations.api import wsgi
from ironic_reservations.api.calendar import door
from ironic_reservations.api.controllers.v1 import reservations
from ironic_reservations.clouds import in_process
from ironic_reservations.clouds import ironic as ironic_client
from ironic_reservations.guard import identity
from ironic_reservations.guard import inward
from ironic_reservations.guard import metrics

#: Beside Ironic's own resources, and all that is below the prefix.
_OURS = ('/v1/reservations', '/v1/limits', '/v1/calendar',
         '/v1/maintenances', '/v1/usage', url.FEED,
         *dialects.BLAZAR_PATHS, url.PREFIX)
#: Below the prefix, open to anybody; the last one beside Ironic's, too.
_OPEN = frozenset(('', '/v1', '/openapi.json', '/healthcheck', url.FEED))
_METRICS = '/metrics'


def mounted(path: str) -> bool:
    """Check whether a path is ours and not Ironic's."""
    return dialects.lies_below(path, _OURS)


class Mount:
    """Puts the API where clients of Ironic find it.

    :param app: Ironic's application, which authenticates.
    :param api: ours, which takes callers for who it is told they are.
    :param counted: what the guard counts, to be served with the rest.
    :param calendar: makes the calendar's application from the API that it
        asks.
    """

    def __init__(self, app: wsgi.Application, api: wsgi.Application,
                 transport: in_process.InProcess, strategy: str,
                 counted: metrics.Metrics,
                 calendar: Callable[[wsgi.Application], wsgi.Application]
                 ) -> None:
        self._app = app
        self._calendar = calendar(self._ask)
        self._api = api
        self._transport = transport
        self._strategy = strategy
        self._all_metrics = counted.beside(api)

    def __call__(self, environ: wsgi.Environ,
                 start_response: wsgi.StartResponse) -> Iterable[bytes]:
        path = environ['PATH_INFO']
        if door.lies_here(path):
            return self._calendar(environ, start_response)
        inner = identity.without(environ)
        if path.startswith(url.PREFIX):
            inner['SCRIPT_NAME'] = inner.get('SCRIPT_NAME', '') + url.PREFIX
            inner['PATH_INFO'] = path[len(url.PREFIX):]
            if inner['PATH_INFO'].rstrip('/') == _METRICS:
                return self._all_metrics(inner, start_response)
        if inner['PATH_INFO'].rstrip('/') in _OPEN:
            return self._api(inner, start_response)
        return self._answer(environ, inner, start_response)

    def _ask(self, environ: wsgi.Environ,
             start_response: wsgi.StartResponse) -> Iterable[bytes]:
        """Have the API answer a request, whose path begins with "/v1"."""
        return self._answer(environ, identity.without(environ),
                            start_response)

    def _answer(self, environ: wsgi.Environ, inner: wsgi.Environ,
                start_response: wsgi.StartResponse) -> Iterable[bytes]:
        """Have the API answer a request, once its sender is known.

        :param inner: the request as the API is to see it.
        """
        confirmed = environ.get(api_identity.SIGNED_IN)
        if confirmed is not None:
            # NOTE: who has no password to show asks Ironic through our own
            # user, which may see as much: all may see all.
            return self._api({**inner, **confirmed}, start_response)
        caller = identity.identify(self._app, self._strategy, environ)
        if isinstance(caller, wsgi.Answer):
            return caller.send(start_response)
        inner.update(caller)
        inner[reservations.OBSERVER] = ironic_client.Ironic.in_process(
            self._transport, inward.credentials(environ))
        return self._api(inner, start_response)
