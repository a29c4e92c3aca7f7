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

"""An Ironic with routes that the guard does not know.

The new routes write to the description of a node.
"""

from http import client as http_client
from typing import Any

from pecan import rest

from tests.inprocess.guard import keystone_ironic

#: The version of this Ironic.
VERSION = '1.117'
#: The description that the new routes write.
DONE = 'by a new route'


def _do(idents: list[str]) -> None:
    from ironic.api.controllers.v1 import utils
    for ident in idents:
        node = utils.check_node_policy_and_retrieve('baremetal:node:update',
                                                    ident)
        node.description = DONE
        node.save()


def install() -> None:
    """Add the routes to the Ironic of this process."""
    from ironic import objects
    from ironic.api import method
    from ironic.api.controllers import v1
    from ironic.api.controllers.v1 import node
    from ironic.api.controllers.v1 import versions
    import pecan
    versions._MAX_VERSION_STRING = VERSION
    versions.MINOR_MAX_VERSION = int(VERSION.partition('.')[2])

    class Lockout(rest.RestController):  # type: ignore[misc]
        """PUT and DELETE of a node's lockout."""

        def __init__(self, node_ident: str) -> None:
            self.node_ident = node_ident

        @method.expose(status_code=http_client.NO_CONTENT)  # type: ignore
        @method.body('body')  # type: ignore[untyped-decorator]
        def put(self, body: Any) -> None:
            _do([self.node_ident])

        @method.expose(status_code=http_client.NO_CONTENT)  # type: ignore
        def delete(self) -> None:
            _do([self.node_ident])

    class BulkActions(rest.RestController):  # type: ignore[misc]
        """POST of an action for several nodes; by default, for all."""

        @method.expose(status_code=http_client.NO_CONTENT)  # type: ignore
        @method.body('body')  # type: ignore[untyped-decorator]
        def post(self, body: Any) -> None:
            _do(body.get('nodes') or [each.uuid for each in objects.Node.list(
                pecan.request.context)])

    node.NodesController._subcontroller_map['lockout'] = Lockout
    v1.Controller._subcontroller_map['bulk-actions'] = BulkActions()


def main() -> None:
    """Serve with the arguments of the service."""
    install()
    keystone_ironic.main()
