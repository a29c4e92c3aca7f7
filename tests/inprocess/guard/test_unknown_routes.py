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

"""Writes of Ironic's API that this release does not know."""

from typing import Any
from unittest import mock
import uuid

from ironic.api.controllers import v1
import pecan
from pecan import rest
import testtools

from ironic_reservations import conf as project_conf
from ironic_reservations import errors
from ironic_reservations.clouds import ironic_versions
from ironic_reservations.guard import known_routes
from ironic_reservations.guard import routes
from tests.inprocess.guard import acts
from tests.inprocess.guard import base
from tests.inprocess.guard import ironic_routes
from tests.inprocess.guard import next_ironic
from tests.inprocess.guard import routing
from tests.inprocess.guard import spellings
from tests.inprocess.guard import with_keystone
from tools import all_in_one

_UNKNOWN = 'guard.unknown_route'
_NODE = spellings.NODE
#: Routes that Ironic has and refuses: its controllers below an object only
#: read.
_ONLY_READ = ('chassis/*/nodes', 'nodes/*/ports', 'nodes/*/portgroups',
              'nodes/*/volume', 'portgroups/*/ports')
#: Routes that the oldest supported Ironic does not have.
_NOT_IN_OLDEST = {f'{method} runbooks/*/traits{below}'
                  for method in ('DELETE', 'PUT') for below in ('', '/*')}


def _unknown(route: ironic_routes.Route | str) -> bool:
    """Return whether the guard does not know a route."""
    method, _, path = str(route).partition(' ')
    try:
        look = routes.classify(method, '/v1/' + path.replace('*', _NODE))
    except errors.NotCanonical:
        return False
    return look is not None and look.kind is routes.Kind.UNKNOWN


class InstalledIronicTestCase(testtools.TestCase):
    """The guard or the table knows each write of the installed Ironic."""

    def test_each_route_is_known(self) -> None:
        """For a new route that fails here: guard it, or add a reason."""
        self.assertEqual([], [
            str(route) for route in ironic_routes.write_routes()
            if _unknown(route) and not route.path.startswith(_ONLY_READ)])

    def test_each_controller_is_seen(self) -> None:
        self.assertEqual(set(), ironic_routes.writing_controllers() - {
            route.controller for route in ironic_routes.write_routes()})

    def test_each_route_is_one_of_ironic(self) -> None:
        for route in ironic_routes.write_routes():
            if not route.path.startswith('chassis/*/nodes'):
                reached = routing.reaches(
                    route.method, '/v1/' + route.path.replace('*', _NODE),
                    version=ironic_versions.installed())
                self.assertEqual(route.controller.__name__,
                                 reached and reached[0], route)

    def test_table_has_no_other_routes(self) -> None:
        there = {str(route) for route in ironic_routes.write_routes()}
        # The last segment may be a parameter.
        passthru = {f'{method} drivers/*/vendor_passthru'
                    for method in ('POST', 'PUT', 'PATCH', 'DELETE')}
        self.assertEqual(
            passthru | (_NOT_IN_OLDEST if base.IS_OLDEST else set()),
            {f'{method} {route.path}' for route in known_routes.ROUTES
             for method in route.methods} - there)

    def test_new_route_fails_the_walk(self) -> None:
        class New(rest.RestController):  # type: ignore[misc]
            """A controller of a later Ironic."""

            @pecan.expose()  # type: ignore[untyped-decorator]
            def put(self, node_ident: str) -> None:
                """Change a node."""

        with mock.patch.dict(v1.Controller._subcontroller_map,
                             {'news': New()}):
            self.assertEqual(['PUT news/*'], [
                str(route) for route in ironic_routes.write_routes()
                if _unknown(route)
                and not route.path.startswith(_ONLY_READ)])

    def test_new_write_below_each_prefix_is_unknown(self) -> None:
        """Of each part of a path that Ironic has, and of each object."""
        there = ironic_routes.write_routes()
        prefixes = {'/'.join(route.path.split('/')[:length])
                    for route in there
                    for length in range(1, route.path.count('/') + 2)}
        self.assertIn('volume/targets/*', prefixes)
        news = [(method, f'{prefix}/{below}') for prefix in sorted(prefixes)
                for below in ('xyzzy', f'{_NODE}/xyzzy', f'xyzzy/{_NODE}')
                for method in ('POST', 'PUT', 'PATCH', 'DELETE')
                if not self.has(there, method, f'{prefix}/{below}')]
        self.assertEqual([], [each for each in news
                              if not self.is_kept(*each)])

    def has(self, there: list[ironic_routes.Route], method: str,
            path: str) -> bool:
        """Return whether the installed Ironic has a route."""
        names = path.split('/')
        return any(route.method == method
                   and len(parts := route.path.split('/')) == len(names)
                   and known_routes.matches(parts, names)
                   for route in there)

    def is_kept(self, method: str, path: str) -> bool:
        """Return whether the guard refuses a new write of a later Ironic."""
        try:
            look = routes.classify(method, '/v1/' + path.replace('*', _NODE))
        except errors.NotCanonical:
            return True
        # A PATCH that names no node is refused if it writes a field of one.
        return look is not None and (
            look.kind is routes.Kind.UNKNOWN
            or look.kind is routes.Kind.PATCH and look.ident is None)

    def test_reviewed_version_is_that_of_ironic(self) -> None:
        """For a newer Ironic that fails here: review its routes, and raise the
        version."""
        if not base.IS_OLDEST:
            self.assertEqual(ironic_versions.REVIEWED,
                             ironic_versions.installed())


class RoutesTestCase(testtools.TestCase):
    """The unknown writes, and the ones that name a node."""

    def test_what_is_below_a_node_names_it(self) -> None:
        for method, below in (
                ('PUT', 'lockout'), ('DELETE', 'lockout'), ('POST', 'x/y'),
                ('POST', 'maintenance'), ('POST', 'maintenance/x'),
                ('DELETE', 'maintenance/x'), ('DELETE', 'maintenance/x/y'),
                ('PATCH', 'lockout'), ('POST', 'states/power'),
                ('POST', 'ports')):
            for start in ('/v1/nodes', '/nodes'):
                look = routes.classify(method, f'{start}/{_NODE}/{below}')
                self.assertIsNotNone(look, below)
                assert look is not None
                self.assertEqual((routes.Kind.UNKNOWN, _NODE),
                                 (look.kind, look.ident), below)

    def test_others_name_none(self) -> None:
        for method, path in (
                ('POST', '/v1/bulk-actions'), ('PUT', '/v1/nodes'),
                ('POST', '/v2/nodes'), ('DELETE', f'/v2/nodes/{_NODE}'),
                ('POST', f'/v1/nodes/{_NODE}//lockout'),
                ('PUT', f'x/v1/nodes/{_NODE}/lockout'),
                ('POST', '/v1/nodes/states/lockout'),
                ('PUT', f'/v1/ports/{_NODE}'), ('DELETE', '/v1/ports'),
                ('POST', '/v1/volume'), ('POST', '/v1/volume/snapshots'),
                ('DELETE', f'/v1/volume/snapshots/{_NODE}'),
                ('PATCH', f'/v1/volume/{_NODE}'),
                ('PUT', f'/v1/volume/targets/{_NODE}'),
                ('PUT', '/v1/volume/connectors'),
                ('POST', f'/v1/runbooks/{_NODE}/run'),
                ('PUT', f'/v1/allocations/{_NODE}'),
                ('POST', f'/v1/chassis/{_NODE}/nodes')):
            look = routes.classify(method, path)
            self.assertIsNotNone(look, path)
            assert look is not None
            self.assertEqual((routes.Kind.UNKNOWN, None),
                             (look.kind, look.ident), path)

    def test_reads_and_preflights_pass(self) -> None:
        for path in ('/v1/bulk-actions', '/v2/nodes',
                     f'/v1/nodes/{_NODE}/lockout'):
            for method in ('GET', 'HEAD', 'OPTIONS'):
                self.assertIsNone(routes.classify(method, path), path)

    def test_known_ones_pass_in_each_spelling(self) -> None:
        for path in ('/v1/runbooks', '/v1/runbooks/', '/runbooks',
                     '/v1/runbooks.json', '/v1//runbooks', 'x/v1/runbooks'):
            self.assertIsNone(routes.classify('POST', path), path)

    def test_entries_that_open_nothing_are_refused(self) -> None:
        for entry in ('PUT', 'GET /v1/nodes', 'put /v1/x', 'PUT v1/x',
                      'PUT /v1/x y', ' PUT /v1/x'):
            conf = project_conf.load([], config_files=[])
            self.assertRaises(ValueError, conf.set_override, 'open_routes',
                              [entry], 'guard')


class _WithNewRoutes(with_keystone.WithKeystone):
    """Runs an Ironic with more routes."""

    module = 'tests.inprocess.guard.next_ironic'


class _NewRoutes(acts.ActsTestCase):
    """An Ironic whose new routes change nodes."""

    @classmethod
    def make(cls, folder: str) -> all_in_one.AllInOne:
        return with_keystone.make(folder, _WithNewRoutes, guard=cls.options)

    def lock(self, ident: str, **more: Any) -> base.Reply:
        """Send a request to the new route of a node."""
        return self.send('PUT', f'/v1/nodes/{ident}/lockout', {}, **more)

    def bulk(self, document: Any = None, **more: Any) -> base.Reply:
        """Send a request to the new route of all nodes."""
        return self.send('POST', '/v1/bulk-actions', document or {
            'action': 'lock'}, **more)

    def assert_refused(self, reply: base.Reply, *said: str) -> None:
        """Check that a request is refused because of its route."""
        self.assert_says(403, _UNKNOWN, reply)
        for each in said:
            self.assertIn(each, reply.document['errors'][0]['detail'])

    def assert_done(self, reply: base.Reply, node: Any,
                    done: bool = True) -> None:
        """Check that a request has, or has not, reached its controller."""
        if done:
            self.assert_says(204, None, reply)
        self.as_('the-system')
        self.assertEqual(next_ironic.DONE if done else None,
                         self.node(node.uuid)['description'])


class NewRoutesTestCase(_NewRoutes):
    """By default, unknown routes are refused if they could hit a holder."""

    def test_held_node_is_kept_from_it(self) -> None:
        node = self.node_of_one()
        proof = self.reserve(node.uuid)['uuid']
        self.as_('one')
        for method in ('PUT', 'DELETE', 'POST', 'PATCH'):
            reply = self.send(method, f'/v1/nodes/{node.uuid}/lockout')
            self.assert_refused(
                reply, f'"{method} /v1/nodes/*/lockout"', '1.115', node.uuid)
        self.assert_refused(self.lock(node.name))
        self.assert_refused(self.lock(node.uuid, headers={base.PROOF: proof}))
        for method, below in (('POST', 'maintenance'),
                              ('POST', 'maintenance/hardware'),
                              ('DELETE', 'maintenance/hardware')):
            self.assert_refused(self.send(
                method, f'/v1/nodes/{node.uuid}/{below}'))
        self.assert_done(self.lock(node.uuid), node, done=False)

    def test_holder_is_refused_as_well(self) -> None:
        """The effect on the node could not be put back."""
        node = self.node_of_one()
        self.as_('one')
        self.reserve(node.uuid)
        self.assert_refused(self.lock(node.uuid))
        self.assert_done(self.lock(node.uuid), node, done=False)

    def test_leased_node_is_kept_from_it(self) -> None:
        node = self.node_of_one()
        self.make_lease(node.uuid, f'["==", "$node_uuid", "{node.uuid}"]')
        self.as_('one')
        self.assert_refused(self.lock(node.uuid))

    def test_administrator_may(self) -> None:
        for name in ('the-system', 'nova'):
            node = self.node_of_one()
            self.reserve(node.uuid)
            self.as_(name)
            self.assert_done(self.lock(node.uuid), node)

    def test_free_node_passes(self) -> None:
        node = self.node_of_one()
        self.as_('one')
        self.assert_done(self.lock(node.name), node)
        self.reserve(node.uuid)

    def test_maintenance_is_not_cleared_by_what_is_below_it(self) -> None:
        node = self.node_of_one()
        path = f'/v1/nodes/{node.uuid}/maintenance'
        self.assertEqual(202, self.send('PUT', path).status)
        for below in ('x', 'x/y', 'x.json'):
            self.assert_says(500, None, self.send('DELETE', f'{path}/{below}'))
        self.assertTrue(self.node(node.uuid)['maintenance'])

    def test_nodes_that_nobody_names_are_kept_from_it(self) -> None:
        node = self.node_of_one()
        for name in ('one', 'nova', 'the-system'):
            self.as_(name)
            for reply in (
                    self.bulk(), self.bulk({'filter': {'owner': 'x'}}),
                    self.bulk({'nodes': [node.uuid], 'filter': {'a': 1}}),
                    self.bulk({'nodes': []}), self.bulk({'nodes': [7]}),
                    self.bulk({'nodes': [f'{number}' for number
                                         in range(51)]}),
                    self.send('POST', '/v1/bulk-actions?node=x', {
                        'nodes': [node.uuid]}),
                    self.send('POST', '/v2/nodes', {'name': 'x'}),
                    self.send('DELETE', f'/v2/nodes/{node.uuid}')):
                self.assert_refused(reply, 'which nodes')
        self.assert_refused(self.bulk(), '"POST /v1/bulk-actions"')
        self.assert_refused(self.send('POST', '/v2/nodes'), '"POST /v2/nodes"')
        self.assert_done(self.bulk(), node, done=False)

    def test_nodes_of_the_body_are_known_by_it(self) -> None:
        free, held = self.node_of_one(), self.node_of_one()
        self.reserve(held.uuid)
        self.as_('one')
        self.assert_refused(self.bulk({'nodes': [free.uuid, held.name]}),
                            held.uuid)
        self.assert_done(self.bulk({'nodes': [free.name]}), free)
        self.assert_done(self.bulk({'nodes': [free.uuid, held.uuid]}), held)
        self.as_('one')
        self.assert_refused(self.send(
            'PUT', f'/v1/nodes/{free.uuid}/lockout', {'node': held.uuid}))

    def test_bodies_that_could_be_read_otherwise_are_refused(self) -> None:
        node = self.node_of_one()
        path = f'/v1/nodes/{node.uuid}/lockout'
        for raw, kind in ((b'a=b', 'application/x-www-form-urlencoded'),
                          (b'{"nodes": 1, "nodes": 2}', 'application/json'),
                          (b'{}', 'text/plain')):
            self.assert_says(403, 'guard.not_canonical', self.send(
                'PUT', path, raw=raw, content_type=kind))
        self.assert_says(403, 'guard.not_canonical', self.send(
            'PATCH', path, [base.add('/instance_uuid', str(uuid.uuid4()))]))
        self.assert_done(self.send('GET', path), node, done=False)

    def test_stranger_hears_from_ironic_alone(self) -> None:
        node = self.node_of_one()
        self.reserve(node.uuid)
        self.as_('two')
        self.assert_says(404, None, self.lock(node.uuid))
        self.identity = {}
        self.assert_says(401, None, self.lock(node.uuid))
        self.assert_says(401, None, self.bulk())

    def test_newer_ironic_is_told(self) -> None:
        log = self.ironic.log_file.read_text()
        self.assertEqual(1, log.count(
            f'Ironic serves version {next_ironic.VERSION} of its API'))
        told = self.send('GET', '/reservation/metrics').document
        text = told.decode() if isinstance(told, bytes) else str(told)
        self.assertIn('ironic_reservations_ironic_api_reviewed_minor 115.0\n',
                      text)
        self.assertIn('ironic_reservations_ironic_api_served_minor 117.0\n',
                      text)


class OpenedTestCase(_NewRoutes):
    """The operator allows some of the routes."""

    options = {'open_routes': 'PUT /v1/nodes/*/lockout,'
                              'POST /v1/bulk-actions,* /v2/**,'
                              'PUT /v1/nodes/*/states/**'}

    def test_they_pass_whoever_has_the_node(self) -> None:
        for route in (lambda node: self.lock(node.uuid),
                      lambda _: self.bulk()):
            node = self.node_of_one()
            self.reserve(node.uuid)
            self.as_('one')
            if route(node).status == 404:
                # The member of one sees no nodes of other projects.
                self.as_('the-system')
            self.assert_done(route(node), node)

    def test_others_do_not(self) -> None:
        node = self.node_of_one()
        self.reserve(node.uuid)
        self.as_('one')
        self.assert_refused(self.send(
            'DELETE', f'/v1/nodes/{node.uuid}/lockout'))
        self.assert_refused(self.send(
            'PUT', f'/v1/nodes/{node.uuid}/lockout/x'))
        self.assert_refused(self.send('POST', '/v1/bulk-actions/x'))
        self.assert_says(404, None, self.send('POST', '/v2/nodes/x/y'))

    def test_what_is_known_stays_guarded(self) -> None:
        node = self.node_of_one()
        self.reserve(node.uuid)
        self.as_('one')
        self.assert_needs_proof(self.send(
            'PUT', f'/v1/nodes/{node.uuid}/states/power',
            {'target': 'power on'}))
        self.assert_needs_proof(self.deploy(node.uuid))
