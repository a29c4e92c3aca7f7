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

"""An all-in-one Ironic that confirms a node in both ways, and shows both.

``GET /v1/reservations`` with the header ``X-Confirm`` returns the node as the
caller sees it: by a request to Ironic's API, through its objects, and through
its objects without traits.
"""

import dataclasses
import json
from typing import Any

from ironic_reservations.api import wsgi
from ironic_reservations.clouds import ironic_objects
from ironic_reservations.guard import identity
from ironic_reservations.guard import mount
from ironic_reservations.model import mirrored_node
from tools import ironic_service

_KEY = 'HTTP_X_CONFIRM'


def _shown(node: mirrored_node.Node | None) -> dict[str, Any] | None:
    return None if node is None else {
        **dataclasses.asdict(node), 'traits': sorted(node.traits)}


class Mount(mount.Mount):
    """Answers with both results."""

    def __call__(self, environ: wsgi.Environ,
                 start_response: wsgi.StartResponse) -> Any:
        if _KEY not in environ:
            return super().__call__(environ, start_response)
        caller = identity.identify(self._app, self._strategy, environ)
        if isinstance(caller, wsgi.Answer):
            return caller.send(start_response)
        observer = self.observer(environ, caller)
        assert isinstance(observer, ironic_objects.EmbeddedIronic)
        uuid = environ[_KEY]
        # Without confirm(), which may fall back to the API.
        seen = [observer.node(uuid)] + [
            observer._objects.read(caller, uuid, traits)
            for traits in (True, False)]
        start_response('200 OK', [('Content-Type', 'application/json')])
        return [json.dumps([_shown(each) for each in seen]).encode()]


def main() -> None:
    """Serve with the arguments of the service, without authentication."""
    mount.Mount = Mount  # type: ignore[misc]
    ironic_service.main()
