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

"""Each request reaches one handler, and pecan would find no other."""

import dataclasses
from typing import Any

import pecan
from pecan import hooks
from pecan import rest as pecan_rest
import testtools
from webob import exc as webob_exc

from ironic_reservations import errors
from ironic_reservations import policies
from ironic_reservations.api import pages
from ironic_reservations.api.controllers import rest
from ironic_reservations.api.controllers import root
from ironic_reservations.api.middleware import metrics
from ironic_reservations.api.middleware import strict
from ironic_reservations.engine import Engine
from tests.inprocess.api import world


class Found(hooks.PecanHook):
    """Records the controller of a request, and ends the request."""

    handler: Any = None

    def before(self, state: Any) -> None:
        """Record the controller."""
        self.handler = state.controller
        raise webob_exc.HTTPAccepted


class TestRoutes(testtools.TestCase):
    """The paths that are served."""

    def setUp(self) -> None:
        super().setUp()
        self.world = self.useFixture(world.OpenWorld())
        self.root = self._root(self.world.engine)
        self.routes = root.routes(self.root)

    def _root(self, engine: Engine) -> root.RootController:
        return root.RootController(
            engine, policies.Enforcer(self.world.conf, 'noauth'),
            metrics.Metrics(engine), pages.SignIn(
                'noauth', self.world.conf, self.world.conf, None))

    def test_pecan_would_find_the_same(self) -> None:
        """Without our routes, pecan finds them by the names of attributes."""
        self.patch(rest.Controller, '_route', pecan_rest.RestController._route)
        found = Found()
        application = pecan.make_app(
            self.root, force_canonical=False, hooks=[found],
            guess_content_type_from_ext=False, debug=False)
        for path, handlers in self.routes.items():
            for method, handler in handlers.items():
                found.handler = None
                world.request(application, method, '/' + '/'.join(path))
                self.assertEqual(_function(handler),
                                 _function(found.handler), (path, method))

    def test_nothing_else_has_a_handler(self) -> None:
        """Each method of a controller is served at some path."""
        served = {_function(each) for handlers in self.routes.values()
                  for each in handlers.values()}
        for controller in _controllers(self.root):
            for name in dir(controller):
                method = getattr(controller, name)
                if hasattr(method, 'since'):
                    self.assertIn(_function(method), served, name)

    def test_paths_of_a_feature_that_is_left_out_are_not_found(self) -> None:
        """All other paths are served as before."""
        every = self.world.engine.all_features
        gone: list[tuple[str, ...]] = []
        for each in every:
            left = root.routes(self._root(dataclasses.replace(
                self.world.engine, all_features=tuple(
                    other for other in every if other is not each))))
            found = strict.Strict(_unreachable, left, 1)
            for path in self.routes.keys() - left.keys():
                gone.append(path)
                refused = self.assertRaises(
                    errors.ResourceNotFound, found._find, '/' + '/'.join(path))
                self.assertEqual('There is nothing at this path.',
                                 str(refused))
        none = root.routes(self._root(
            dataclasses.replace(self.world.engine, all_features=())))
        self.assertEqual(sorted(self.routes.keys() - none.keys()),
                         sorted(gone))
        self.assertEqual({'calendar', 'leases', 'leases.ics', 'limits',
                          'maintenances', 'usage'}, {
            path[1] for path in gone})

    def test_an_id_is_nothing_else(self) -> None:
        """Controllers have attributes of the same names."""
        found = strict.Strict(_unreachable, self.routes, 1)
        for name in ('post', '_route', 'allocation', 'options', '__class__'):
            path, segments = found._find(f'/v1/os-hosts/{name}')
            self.assertEqual(('v1', 'os-hosts', strict.ANY), path)
            self.assertEqual((name,), segments)

    def test_path_of_many_segments_costs_no_more(self) -> None:
        """Each was compared as an id: 32 kB took a second."""
        found = strict.Strict(_unreachable, _Counted(self.routes), 1)
        self.assertRaises(errors.ResourceNotFound, found._find,
                          '/v1' + '/x' * 1000)
        self.assertLess(found._routes.count, 10)


class _Counted(dict[Any, Any]):
    """Routes that count how often a path is looked up."""

    count = 0

    def __contains__(self, path: object) -> bool:
        self.count += 1
        return super().__contains__(path)


def _function(handler: Any) -> Any:
    return getattr(handler, '__func__', handler)


def _controllers(controller: Any) -> list[Any]:
    """Return a controller and all below it."""
    below = [each for each in vars(controller).values()
             if isinstance(each, rest.Controller)]
    return [controller] + [found for each in below
                           for found in _controllers(each)]


def _unreachable(environ: Any, start_response: Any) -> list[bytes]:
    raise AssertionError
