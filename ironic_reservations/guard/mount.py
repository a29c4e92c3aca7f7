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


"""Serve our API inside Ironic's, with Ironic's authentication."""

from __future__ import annotations

from collections.abc import Iterable

from ironic_reservations.api import dialects
from ironic_reservations.api import identity as api_identity
from ironic_reservations.api import url
from ironic_reservations.api import wsgi
from ironic_reservations.api.controllers.v1 import reservations
from ironic_reservations.clouds import in_process
from ironic_reservations.clouds import ironic as ironic_client
from ironic_reservations.clouds import ironic_objects
from ironic_reservations.guard import identity
from ironic_reservations.guard import inward
from ironic_reservations.guard import metrics
from ironic_reservations.guard import request_log

#: Our paths among Ironic's own resources, and the prefix of all others.
_OURS = ('/v1/reservations', '/v1/limits', '/v1/calendar',
         '/v1/maintenances', '/v1/usage', url.FEED,
         *dialects.BLAZAR_PATHS, url.PREFIX)
#: Public paths below the prefix; the last one is also public among Ironic's
#: own.
_OPEN = frozenset(('', '/v1', '/openapi.json', '/healthcheck', url.FEED))
_METRICS = '/metrics'


def mounted(path: str) -> bool:
    """Return whether a path is ours and not Ironic's."""
    return dialects.lies_below(path, _OURS)


class Mount:
    """Serves our API at paths of Ironic's.

    :param app: Ironic's application, which authenticates.
    :param api: our API, which trusts the identity in a request.
    :param counted: the metrics of the guard, served with those of the API.
    :param objects: Ironic's objects, to confirm nodes with; ``None``: by
        requests.
    """

    def __init__(self, app: wsgi.Application, api: wsgi.Application,
                 transport: in_process.InProcess, strategy: str,
                 counted: metrics.Metrics,
                 objects: ironic_objects.Objects | None = None) -> None:
        request_log.install()
        self._app = app
        self._objects = objects
        self._api = api
        self._transport = transport
        self._strategy = strategy
        self._all_metrics = counted.beside(api)

    def __call__(self, environ: wsgi.Environ,
                 start_response: wsgi.StartResponse) -> Iterable[bytes]:
        path = environ['PATH_INFO']
        inner = identity.without(environ)
        if path.startswith(url.PREFIX):
            inner['SCRIPT_NAME'] = inner.get('SCRIPT_NAME', '') + url.PREFIX
            inner['PATH_INFO'] = path[len(url.PREFIX):]
            if inner['PATH_INFO'].rstrip('/') == _METRICS:
                return self._all_metrics(inner, start_response)
        if inner['PATH_INFO'].rstrip('/') in _OPEN:
            return self._api(inner, start_response)
        return self._answer(environ, inner, start_response)

    def ask(self, environ: wsgi.Environ,
            start_response: wsgi.StartResponse) -> Iterable[bytes]:
        """Return the API's answer to a request below "/v1"."""
        return self._answer(environ, identity.without(environ),
                            start_response)

    def _answer(self, environ: wsgi.Environ, inner: wsgi.Environ,
                start_response: wsgi.StartResponse) -> Iterable[bytes]:
        """Return the API's answer to a request of an authenticated sender."""
        confirmed = environ.get(api_identity.SIGNED_IN)
        if confirmed is not None:
            # A caller who signs in without a password sees the nodes that our
            # own user sees in Ironic: there, all users may see everything.
            return self._api({**inner, **confirmed}, start_response)
        caller = identity.identify(self._app, self._strategy, environ)
        if isinstance(caller, wsgi.Answer):
            return caller.send(start_response)
        inner.update(caller)
        inner[reservations.OBSERVER] = self.observer(environ, caller)
        return self._api(inner, start_response)

    def observer(self, environ: wsgi.Environ,
                 caller: wsgi.Environ) -> ironic_client.Ironic:
        """Return Ironic as a caller sees it.

        :param environ: the request of the caller.
        :param caller: the keys that authentication wrote about the caller.
        """
        return ironic_objects.observer(
            self._transport, inward.credentials(environ), self._objects,
            caller)
