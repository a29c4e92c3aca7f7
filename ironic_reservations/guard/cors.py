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

"""CORS headers of our answers, with the settings of Ironic's ``[cors]``."""

from __future__ import annotations

from collections.abc import Iterable

from oslo_config import cfg
from oslo_middleware import cors

from ironic_reservations.api import wsgi
from ironic_reservations.guard import bodies

_VERSION = 'OpenStack-API-Version'


class _Cors(cors.CORS):
    """Adds the headers to answers that do not have Ironic's."""

    simple_headers = [
        *cors.CORS.simple_headers, 'X-Auth-Token',
        *(f'X-OpenStack-Ironic-API-{what}Version'
          for what in ('', 'Minimum-', 'Maximum-')),
        _VERSION, 'Idempotency-Key', bodies.PROOF_HEADER]


class Cors:
    """An application with the headers for requests from other origins.

    :param application: Ironic with reservations; Ironic's own answers have
        their headers already.
    :param ironic: the configuration of Ironic.
    """

    def __init__(self, application: wsgi.Application,
                 ironic: cfg.ConfigOpts) -> None:
        self._application = application
        self._with_headers = _Cors(application, ironic)

    def __call__(self, environ: wsgi.Environ,
                 start_response: wsgi.StartResponse) -> Iterable[bytes]:
        # Only browsers need these headers.
        application = (self._with_headers if 'HTTP_ORIGIN' in environ
                       else self._application)
        answer: Iterable[bytes] = application(environ, start_response)
        return answer
