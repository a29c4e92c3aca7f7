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

"""The address of a client, as far as it can be trusted."""

from __future__ import annotations

from collections.abc import Iterable
import re

from ironic_reservations.api import wsgi

_KEY = 'ironic_reservations.client_address'
_FOR = re.compile(r'(?:^|;)\s*for\s*=\s*"?([^";]+)', re.IGNORECASE)
#: An address and the port of the client, which differs by connection.
_WITH_PORT = re.compile(r'(\[[^]]*\]|[^:]*):[^:]*')


class FromProxy:
    """Stores the address of the client that the proxy in front has seen.

    It is the last address of the list. A client can choose the others, and
    change them with each request.
    """

    def __init__(self, application: wsgi.Application) -> None:
        self._application = application

    def __call__(self, environ: wsgi.Environ,
                 start_response: wsgi.StartResponse) -> Iterable[bytes]:
        seen = _last(environ.get('HTTP_X_FORWARDED_FOR', ''))
        if not seen and (found := _FOR.search(
                _last(environ.get('HTTP_FORWARDED', '')))):
            seen = found[1].strip()
        if with_port := _WITH_PORT.fullmatch(seen):
            seen = with_port[1]
        environ[_KEY] = seen.strip('[]') or environ.get('REMOTE_ADDR', '')
        return self._application(environ, start_response)


def of(environ: wsgi.Environ) -> str:
    """Return the address of the client of a request."""
    return str(environ.get(_KEY) or environ.get('REMOTE_ADDR', ''))


def _last(addresses: str) -> str:
    return addresses.rpartition(',')[2].strip()
