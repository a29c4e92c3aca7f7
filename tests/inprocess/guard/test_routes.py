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


import dataclasses
import json
from typing import Any

from hypothesis import example
from hypothesis import given
from hypothesis import strategies as st
import testtools

from ironic_reservations import errors
from ironic_reservations.conf import guard as conf_guard
from ironic_reservations.guard import bodies
from ironic_reservations.guard import media
from ironic_reservations.guard import node_acts
from ironic_reservations.guard import routes
from ironic_reservations.guard import unknown_routes
from tests import examples
from tests.inprocess.guard import act_spellings
from tests.inprocess.guard import routing
from tests.inprocess.guard import spellings

_PROTECTED = frozenset(node_acts.Act) - {node_acts.Act.PORT}
_SEGMENTS = (
    'v1', 'nodes', 'chassis', 'allocations', 'states', 'provision', 'inner',
    'allocation', 'detail', 'validate', 'management', 'maintenance', 'ports',
    'portgroups', 'volume', 'vifs', 'vmedia', 'children', 'traits', 'bios',
    'history', 'inventory', 'firmware', 'console', 'power', 'raid',
    'vendor_passthru', 'drivers', 'conductors', 'lookup', 'heartbeat',
    'runbooks', 'get_all', 'get_one', 'patch', 'post', 'index', '_lookup',
    '_route', '__init__', '__self__', '__class__', '__func__',
    '_subcontroller_map', 'add_version_attributes', 'from_chassis', '', '.',
    'nodes.json', 'states.json', 'provision.json', 'allocations.json',
    'active', 'true', spellings.NODE, spellings.NAME)
_LIKELY = (
    (), ('v1',), ('v1', 'nodes'), ('v1', 'nodes', spellings.NODE),
    ('v1', 'nodes', spellings.NODE, 'states'), ('v1', 'chassis', 'nodes'),
    ('v1', 'nodes', spellings.NODE, 'states', 'provision'),
    ('nodes', 'states', 'provision'), ('v1', 'allocations'),
    ('v1', 'nodes', spellings.NODE, 'allocation'))
_VENDOR = ('NodeVendorPassthruController', '_default')
_ACTS = ('power', 'boot_device', 'boot_mode', 'secure_boot', 'inject_nmi',
         'put', 'delete', 'supported', 'methods', 'indicators')
_METHODS = ('GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS',
            'TRACE', 'PROVISION', 'put', 'Post', 'ALLOCATION', 'UNKNOWN')
_QUERIES = ('', 'target=active', '_method=put', '_method=PATCH&a=b',
            'a=b&%5fmethod=post', '_method=provision', 'target=a;_method=put',
            f'node_ident={spellings.NODE}&target=active', 'x_method=put')
_TYPES = ('application/json', 'application/x-www-form-urlencoded', '',
          'multipart/form-data; boundary=b', 'text/plain',
          'application/javascript', 'Multipart/Form-Data; boundary=b')
_BODIES = (b'', b'{"target": "active"}', b'_method=provision&target=active',
           b'a=b&%5Fmethod=put', b'[{"path": "&_method=patch&"}]',
           b'--b\r\nContent-Disposition: form-data; name="_method"\r\n\r\n'
           b'provision\r\n--b--\r\n')


#: The kinds of requests that take a node.
_TAKES = (routes.Kind.PROVISION, routes.Kind.PATCH, routes.Kind.ALLOCATE)


def _lets_pass(method: str, path: str, query: str, body: bytes,
               content_type: str,
               kinds: tuple[routes.Kind, ...] = _TAKES) -> bool:
    """Return whether the guard would ignore requests of these kinds."""
    try:
        look = routes.classify(method, path, query, content_type, bool(body))
        if look is not None and look.kind is routes.Kind.FORM:
            media.check_form(content_type, body)
    except errors.NotCanonical:
        return False
    if (look is not None and look.kind is routes.Kind.UNKNOWN
            and method == 'PATCH'):
        # A request that Ironic could read as a change of a node is refused.
        return False
    return look is None or look.kind not in kinds


def _check(look: routes.Classification | None, method: str, content_type: str,
           body: bytes) -> None:
    """Raise if the guard refuses the body of a request to everybody."""
    if look is None:
        return
    match look.kind:
        case routes.Kind.PROVISION:
            bodies.read_provision(content_type, body)
        case routes.Kind.PATCH:
            bodies.read_bind(content_type, body, look.ident is not None)
        case routes.Kind.ALLOCATE:
            bodies.read_allocate(content_type, body)
        case routes.Kind.FORM:
            media.check_form(content_type, body)
        case routes.Kind.UNKNOWN:
            unknown_routes.read(method, content_type, body)


def _classified(row: spellings.Spelling) -> routes.Classification | None:
    return routes.classify(row.method, row.path, row.query, row.content_type,
                           bool(row.body))


def _reached(row: spellings.Spelling, **other: Any
             ) -> tuple[str, str] | None:
    """Return what Ironic would call for a request.

    :param other: what else the request has.
    """
    row = dataclasses.replace(row, **other)
    return routing.reaches(row.method, row.path, row.query, row.body,
                           row.content_type, row.version)


def _requests(segments: tuple[str, ...], most: int,
              queries: tuple[str, ...]) -> dict[str, st.SearchStrategy[Any]]:
    """Return the parts of requests, with a maximum number of segments."""
    return {
        'method': st.sampled_from(_METHODS),
        'head': st.sampled_from(_LIKELY),
        'tail': st.lists(st.sampled_from(segments), max_size=most),
        'slash': st.sampled_from(('/', '/', '/', '', 'x/', '//')),
        'end': st.sampled_from(('', '', '/', '//', '.json', '.json/')),
        'query': st.sampled_from(queries), 'body': st.sampled_from(_BODIES),
        'content_type': st.sampled_from(_TYPES),
        'version': st.sampled_from(('1.1', '1.50', '1.109'))}


class SpellingsTestCase(testtools.TestCase):

    def test_each_spelling_takes_a_node_in_ironic_alone(self):
        self.assertEqual([], [
            row.name for row in (*spellings.CANONICAL, *spellings.OTHERS,
                                 *spellings.DISARMED)
            if _reached(row) not in routing.TAKES])

    def test_canonical_spellings_are_looked_at(self):
        self.assertEqual([], [
            row.name for row in spellings.CANONICAL
            if _classified(row).kind not in _TAKES])

    def test_no_other_spelling_gets_as_far_as_the_timeline(self):
        self.assertEqual([], [row.name for row in spellings.OTHERS
                              if not self._refused(row)])

    def test_what_is_read_as_json_is_not_read_again_as_a_form(self):
        self.assertEqual([], [
            row.name for row in spellings.DISARMED
            if _reached(row, content_type=media.JSON) in routing.TAKES])

    def _refused(self, row):
        try:
            _check(_classified(row), row.method, row.content_type, row.body)
        except errors.ReservationError:
            return True
        return False


class ActsTestCase(testtools.TestCase):

    def test_each_spelling_does_something_in_ironic_alone(self):
        self.assertEqual([], [
            row.name for row in (*act_spellings.CANONICAL,
                                 *act_spellings.OTHERS)
            if _reached(row) not in routing.ACTS])

    def test_canonical_spellings_are_looked_at(self):
        for row in act_spellings.CANONICAL:
            look = _classified(row)
            self.assertEqual(routes.Kind.ACT, look and look.kind, row.name)
            self.assertIn(look.act.ident, (spellings.NODE, spellings.NAME))

    def test_ironic_takes_the_node_from_the_path(self):
        """So the guard knows the node without reading the body."""
        other = spellings.INSTANCE
        for row in act_spellings.CANONICAL:
            said = {**(bodies.read_json(row.body) if row.body else {}),
                    'node_ident': other, 'parent_node_ident': other,
                    'ident': other}
            self.assertIn(_reached(row, body=json.dumps(said).encode()),
                          routing.ACTS, row.name)
            # Python raises for an argument given by position and by name.
            self.assertNotIn(other, routing.given()[:1], row.name)

    def test_patches_are_told_by_their_fields(self):
        for row in act_spellings.PATCHES:
            patch = bodies.read_json(row.body)
            self.assertTrue(node_acts.of_patch(patch, _PROTECTED), row.name)
            self.assertFalse(node_acts.of_patch(patch, ()), row.name)
        for path in ('/instance_info\n', 'INSTANCE_INFO/x', '//driver_info'):
            self.assertTrue(node_acts.of_patch(
                [{'op': 'add', 'path': path}], _PROTECTED), path)
            self.assertTrue(node_acts.of_patch(
                [{'op': 'move', 'from': path, 'path': '/extra/a'}],
                _PROTECTED), path)
        for path in ('/owner', '/protected', '/driver', '/extra\n', '/Extra',
                     '//extra', 'extra', '/name_interface', '', '/x', 1):
            self.assertEqual({node_acts.Act.SETTINGS}, node_acts.of_patch(
                [{'op': 'add', 'path': path}], _PROTECTED), path)
        for path in ('/extra/a', '/name', '/extra/maintenance',
                     '/description', '/chassis_uuid'):
            self.assertFalse(node_acts.of_patch(
                [{'op': 'add', 'path': path}], _PROTECTED), path)

    def test_act_and_its_option_have_one_name(self):
        self.assertEqual(tuple(act for act in node_acts.Act
                               if act in _PROTECTED),
                         conf_guard.PROTECTED_ACTS)


class RoutingTestCase(testtools.TestCase):

    @examples.settings(1500)
    @given(**_requests(_SEGMENTS, 5, _QUERIES))
    @example('PUT', ('v1', 'nodes', spellings.NODE), ['states', 'provision'],
             '/', '', '', b'{"target": "active"}', 'application/json', '1.1')
    @example('DELETE', ('v1', 'nodes', spellings.NODE), [], '/', '', '',
             b'[{"path": "&_method=patch&"}]',
             'application/x-www-form-urlencoded', '1.109')
    @example('PATCH', ('v1', 'chassis', 'nodes.json'), [], '/', '',
             f'node_ident={spellings.NODE}', b'[]', 'text/plain', '1.50')
    def test_nothing_that_ironic_takes_for_a_deploy_goes_unseen(
            self, method, head, tail, slash, end, query, body, content_type,
            version):
        path = slash + '/'.join((*head, *tail)) + end
        if _lets_pass(method, path, query, body, content_type):
            self.assertNotIn(
                routing.reaches(method, path, query, body, content_type,
                                version), routing.TAKES)

    @examples.settings(1500)
    @given(**_requests((*_SEGMENTS, *_ACTS), 4, (
        *_QUERIES, 'device_types=cdrom',
        f'allocation_ident={spellings.NODE}')))
    @example('PATCH', ('v1', 'nodes', spellings.NODE), ['vendor_passthru'],
             '/', '', '', b'', 'application/json', '1.109')
    def test_nothing_that_ironic_does_to_a_node_goes_unseen(
            self, method, head, tail, slash, end, query, body, content_type,
            version):
        path = slash + '/'.join((*head, *tail)) + end
        if _lets_pass(method, path, query, body, content_type,
                      (routes.Kind.ACT, routes.Kind.UNKNOWN)):
            reached = routing.reaches(method, path, query, body,
                                      content_type, version)
            # A vendor's GET only reads.
            self.assertNotIn(reached, routing.ACTS - (
                {_VENDOR} if method in ('GET', 'HEAD') else set()))

    @examples.settings(500)
    @given(path=st.text(max_size=40), method=st.text(max_size=8),
           query=st.text(max_size=40), content_type=st.text(max_size=40),
           body=st.binary(max_size=40))
    def test_any_request_is_told_apart_without_an_accident(
            self, path, method, query, content_type, body):
        _lets_pass(method, path, query, body, content_type)
        try:
            bodies.read_provision(content_type, body)
        except errors.ReservationError:
            pass
        try:
            bodies.read_bind(content_type, body, True)
        except errors.ReservationError:
            pass

    def test_enrolment_may_name_a_parent(self):
        for path in ('/v1/nodes', '/v1/nodes/', '/nodes', '/v1/nodes.json',
                     '//v1/nodes'):
            found = routes.classify('POST', path, '', 'application/json', True)
            self.assertEqual(routes.Kind.ENROLL, found and found.kind, path)

    def test_what_is_not_about_nodes_passes(self):
        for method, path, query in (
                ('GET', '/', ''), ('GET', '/v1', ''),
                ('GET', '/v1/nodes', ''), ('GET', '/v1/nodes/detail', ''),
                ('GET', f'/v1/nodes/{spellings.NODE}', 'fields=uuid'),
                ('GET', f'/v1/nodes/{spellings.NODE}/states', ''),
                ('GET', '/v1/nodes/__init__', ''),
                ('GET', '/v1/allocations', ''),
                ('PATCH', f'/v1/allocations/{spellings.NODE}', ''),
                ('PATCH', f'/v1/chassis/{spellings.NODE}', ''),
                ('POST', '/v1/heartbeat/' + spellings.NODE, ''),
                ('POST', '/v1/continue_inspection', ''),
                ('POST', '/v1/deploy_templates', '')):
            self.assertIsNone(
                routes.classify(method, path, query, 'application/json',
                                True), f'{method} {path}')
