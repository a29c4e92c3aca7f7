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
