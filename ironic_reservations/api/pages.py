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

"""Pages for browsers that features serve beside the API."""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Iterable
from collections.abc import Sequence
import dataclasses

from oslo_config import cfg

from ironic_reservations.api import wsgi

#: Checks the credentials of a request: the keys that authentication writes,
#: or the refusal.
Identify = Callable[[wsgi.Environ], wsgi.Environ | wsgi.Answer]


@dataclasses.dataclass(frozen=True)
class SignIn:
    """The ways in which the users of the API can sign in.

    :ivar auth_strategy: the authentication of callers of the API.
    :ivar settings: the configuration with the options of authentication:
        Ironic's, where this runs inside its API.
    :ivar conf: our own configuration.
    :ivar identify: checks the credentials of a request; ``None`` for noauth.
    """

    auth_strategy: str
    settings: cfg.ConfigOpts
    conf: cfg.ConfigOpts
    identify: Identify | None


@dataclasses.dataclass(frozen=True)
class Page:
    """An application for browsers, at a path and below it."""

    path: str
    application: wsgi.Application


class Beside:
    """Sends requests to the pages of their paths, and others to the API."""

    def __init__(self, api: wsgi.Application, pages: Sequence[Page]) -> None:
        self._api = api
        self._pages = pages

    def __call__(self, environ: wsgi.Environ,
                 start_response: wsgi.StartResponse) -> Iterable[bytes]:
        path = environ.get('PATH_INFO', '')
        for each in self._pages:
            if path == each.path or path.startswith(f'{each.path}/'):
                return each.application(environ, start_response)
        return self._api(environ, start_response)
