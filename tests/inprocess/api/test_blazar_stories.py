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
"""Blazar's own declarative tests, as its Tempest plugin has them."""

from collections.abc import Iterable
import importlib.util
import json
import os
import pathlib
import sys
from typing import Any
import unittest
import uuid

from gabbi import fixture
from gabbi import handlers
from gabbi import suitemaker
from gabbi import utils

from ironic_reservations.api import wsgi
from tests.inprocess.api import world as world_module

_PLUGIN = 'blazar_tempest_plugin'
_HYPERVISORS = '/compute/v2.1/os-hypervisors'
_SERVICE = '/reservation'
_HOST = 'compute-1'
#: Unmet expectation: a lease of no hosts at all is refused.
_UNMET = {'leases': ('post new lease', 'get new lease', 'delete new lease')}

_world: world_module.World | None = None


def _cloud(environ: wsgi.Environ,
           start_response: wsgi.StartResponse) -> Iterable[bytes]:
    """Serve everything that the stories need from a cloud, at one address."""
    assert _world is not None
    if environ['PATH_INFO'] == _HYPERVISORS:
        start_response('200 OK', [('Content-Type', 'application/json')])
        return [json.dumps({'hypervisors': [
            {'hypervisor_hostname': _HOST}]}).encode()]
    environ['SCRIPT_NAME'] = _SERVICE
    environ['PATH_INFO'] = environ['PATH_INFO'].removeprefix(_SERVICE)
    return _world(environ, start_response)


class OneNode(fixture.GabbiFixture):
    """A cloud with a node that is not a host yet, new for each file."""

    def start_fixture(self) -> None:
        """Start with an empty database."""
        global _world
        os.environ['OS_TOKEN'] = 'unused'
        _world = world_module.OpenWorld()
        _world.setUp()
        _world.ironic.add(name=_HOST, resource_class='gold')

    def stop_fixture(self) -> None:
        """Remove the application and its database."""
        global _world
        os.environ.pop('OS_TOKEN', None)
        assert _world is not None
        _world.cleanUp()
        _world = None


def _gabbits() -> pathlib.Path:
    # The file is found, not imported: the plugin's own fixtures need a
    # Keystone and a configured Tempest.
    spec = importlib.util.find_spec(_PLUGIN)
    assert spec is not None and spec.origin is not None
    return pathlib.Path(spec.origin).parent / 'tests' / 'api' / 'gabbits'


def load_tests(loader: unittest.TestLoader, tests: Any,
               pattern: str | None) -> Any:
    """Make a test of each request of each of its files."""
    found = sorted(_gabbits().glob('*.yaml'))
    names = {path.stem for path in found}
    assert names >= {'allocations', 'hosts', 'leases'}, names
    out = unittest.TestSuite()
    for path in found:
        story = utils.load_yaml(yaml_file=str(path), safe=True)
        story['fixtures'] = [OneNode.__name__]
        for test in story['tests']:
            if test['name'] in _UNMET.get(path.stem, ()):
                test['xfail'] = True
        out.addTest(suitemaker.test_suite_from_dict(
            loader, path.stem, story, str(path.parent), str(uuid.uuid4()),
            80, sys.modules[__name__], lambda: _cloud,
            handlers=[each() for each in handlers.RESPONSE_HANDLERS],
            test_loader_name=__name__))
    return out
