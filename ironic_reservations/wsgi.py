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

"""``ironic_reservations.wsgi:application``, for any WSGI server.

The options are read when the server loads this module, so that a wrong value
stops its start. The application is made at the first request, so that a server
that forks after loading shares no connection and no thread with its children.
The command line is not read: it belongs to the server.
"""

from __future__ import annotations

from collections.abc import Iterable
import threading

from oslo_service import backend

# NOTE: this comes before any import of oslo.messaging, which loads
# oslo.service, which uses eventlet unless a backend has been chosen.
backend.register_backend_default_hook(lambda: backend.BackendType.THREADING)

from ironic_reservations import build  # noqa: E402
from ironic_reservations import conf as project_conf  # noqa: E402
from ironic_reservations.api import standalone  # noqa: E402
from ironic_reservations.api import wsgi  # noqa: E402
from ironic_reservations.clouds import ironic  # noqa: E402

_conf = project_conf.load(with_logging=True)
_lock = threading.Lock()
_application: wsgi.Application | None = None


def application(environ: wsgi.Environ,
                start_response: wsgi.StartResponse) -> Iterable[bytes]:
    """Serve a request."""
    return _built_once()(environ, start_response)


def _built_once() -> wsgi.Application:
    global _application
    if _application is None:
        with _lock:
            if _application is None:
                _application = standalone.build(_conf, build.engine(
                    _conf, ironic.Ironic.over_http(_conf)))
    return _application
