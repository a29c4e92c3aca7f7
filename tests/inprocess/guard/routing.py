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


"""Ironic's own routing, which shows the target of a request."""

import contextlib
import functools
import gc
import io
import pathlib
import sys
import tempfile
from typing import Any

TAKES = frozenset((
    ('NodeStatesController', 'provision'),
    ('NodesController', 'patch'),
    ('AllocationsController', 'post'),
))
#: Functions that change a node without taking it.
ACTS = frozenset((
    ('NodeMaintenanceController', 'put'),
    ('NodeMaintenanceController', 'delete'),
    ('NodeStatesController', 'power'), ('NodeStatesController', 'raid'),
    ('NodeStatesController', 'boot_mode'),
    ('NodeStatesController', 'secure_boot'),
    ('BootDeviceController', 'put'), ('InjectNmiController', 'put'),
    ('NodeConsoleController', 'put'),
    ('NodeVIFController', 'post'), ('NodeVIFController', 'delete'),
    ('NodeVmediaController', 'post'), ('NodeVmediaController', 'delete'),
    ('NodeVendorPassthruController', '_default'),
    ('NodeTraitsController', 'put'), ('NodeTraitsController', 'delete'),
    ('AllocationsController', 'delete'),
    ('NodeAllocationController', 'delete'), ('NodesController', 'delete'),
))


@functools.cache
def _application() -> tuple[Any, Any]:
    """Make Ironic's application; its controllers do nothing."""
    from ironic.api import app
    from ironic.api.controllers import root
    from ironic.conf import CONF
    from oslo_config import cfg
    import pecan.core
    with tempfile.TemporaryDirectory() as directory:
        path = pathlib.Path(directory, 'ironic.conf')
        path.write_text('[DEFAULT]\nauth_strategy = noauth\n'
                        'rpc_transport = none\n')
        CONF(['--config-file', str(path)], project='ironic',
             default_config_files=[])
    assert CONF is cfg.CONF
    application = app.VersionSelectorApplication()
    router = next(
        thing for thing in gc.get_objects()
        if isinstance(thing, pecan.core.Pecan)
        and isinstance(thing.root, root.RootController))
    # The hooks need a database and a conductor.
    router.hooks = []
    router.reached = []

    def invoke(controller: Any, args: Any, kwargs: Any, state: Any) -> None:
        owner = type(getattr(controller, '__self__', None)).__name__
        router.reached.append((owner, controller.__name__))
        router.given = args
    router.invoke_controller = invoke
    return application, router


def given() -> tuple[Any, ...]:
    """Return the positional arguments of the last function that was reached.
    """
    return tuple(_application()[1].given)


def reaches(method: str, path: str, query: str = '', body: bytes = b'',
            content_type: str = 'application/json',
            version: str = '1.109') -> tuple[str, str] | None:
    """Return the controller and the function that Ironic would call."""
    application, router = _application()
    environ: dict[str, Any] = {
        'REQUEST_METHOD': method, 'SCRIPT_NAME': '', 'PATH_INFO': path,
        'QUERY_STRING': query, 'CONTENT_LENGTH': str(len(body)),
        'SERVER_NAME': 'ironic', 'SERVER_PORT': '80',
        'SERVER_PROTOCOL': 'HTTP/1.1', 'wsgi.url_scheme': 'http',
        'wsgi.input': io.BytesIO(body), 'wsgi.errors': sys.stderr,
        'HTTP_X_OPENSTACK_IRONIC_API_VERSION': version}
    if content_type:
        environ['CONTENT_TYPE'] = content_type
    router.reached.clear()
    # NOTE: pecan raises any exception at all for a request without a route.
    with contextlib.suppress(Exception):
        application(environ, lambda *args: None)
    return router.reached[-1] if router.reached else None
