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


import json
import uuid

import testtools

from ironic_reservations import errors
from ironic_reservations.guard import act_bodies
from ironic_reservations.guard import bodies
from ironic_reservations.guard import media

_JSON = 'application/json'
_PROOF = 'f47ac10b-58cc-4372-a567-0e02b2c3d479'


def _patch(*entries):
    return json.dumps(entries).encode()


class ProvisionTestCase(testtools.TestCase):

    def test_what_is_passed_on_is_what_was_read_without_the_proof(self):
        asked = bodies.read_provision(_JSON, json.dumps({
            'target': 'active', 'configdrive': {'a': ['\ud800', 1e400]},
            'reservation_uuid': _PROOF.upper()}).encode())
        self.assertEqual(_PROOF, asked.proof)
        self.assertEqual({'target': 'active',
                          'configdrive': {'a': ['\ud800', float('inf')]}},
                         asked.body)

    def test_only_known_harmless_targets_are_not_guarded(self):
        for target, guarded in (
                ('active', True), ('deploy', True), ('rebuild', True),
                ('manage', True), ('adopt', True), ('delete', True),
                ('Deleted', True), ('', True), ('later', True),
                ('deleted', False), ('undeploy', False), ('provide', False),
                ('abort', False), ('clean', False), ('inspect', False),
                ('service', False), ('rescue', False), ('unrescue', False),
                ('unhold', False)):
            self.assertEqual(guarded, bodies.read_provision(
                _JSON, json.dumps({'target': target}).encode()).guarded,
                target)

    def test_bodies_that_are_refused(self):
        for body, error in (
                (b'', errors.Malformed), (b'{', errors.Malformed),
                (b'\xff', errors.Malformed),
                (b'\xef\xbb\xbf{"target": "active"}', errors.Malformed),
                (b'[' * 100000, errors.Malformed),
                (b'{"target": 1' + b'1' * 5000 + b'}', errors.Malformed),
                (b'[]', errors.NotCanonical), (b'null', errors.NotCanonical),
                (b'{"target": "a", "target": "b"}', errors.NotCanonical),
                (b'{"target": "a", "x": {"y": 1, "y": 1}}',
                 errors.NotCanonical),
                (b'{"target": "a", "node_ident": "b"}', errors.NotCanonical),
                (b'{}', errors.InvalidValue),
                (b'{"target": null}', errors.InvalidValue),
                (b'{"target": ["active"]}', errors.InvalidValue),
                (b'{"target": "a", "reservation_uuid": 1}',
                 errors.InvalidValue),
                (b'{"target": "a", "reservation_uuid": "1"}',
                 errors.InvalidValue)):
            self.assertRaises(error, bodies.read_provision, _JSON, body)

    def test_types_that_are_refused(self):
        for content_type in ('', 'text/json', 'application/jsonx',
                             'application/json; charset=utf-16',
                             'application/json; x=1; Charset = "latin-1"',
                             'application/json; charset=utf-8; charset=x',
                             'application/json-patch+json'):
            self.assertRaises(errors.NotCanonical, bodies.read_provision,
                              content_type, b'{"target": "active"}')
        for content_type in (_JSON, 'Application/JSON;charset=UTF-8',
                             'application/json; charset="utf-8"'):
            bodies.read_provision(content_type, b'{"target": "active"}')


class BindTestCase(testtools.TestCase):

    def test_patches_that_bind(self):
        for operation in ('add', 'replace'):
            patch = ({'op': 'remove', 'path': '/instance_uuid'},
                     {'op': operation, 'path': '/instance_uuid',
                      'value': 'a'})
            bind = bodies.read_bind(_JSON, _patch(*patch), True)
            self.assertEqual('a', bind.instance_uuid)
            self.assertEqual(list(patch), bind.patch)

    def test_patches_that_take_the_instance_off(self):
        for entry in ({'op': 'remove', 'path': '/instance_uuid'},
                      {'op': 'replace', 'path': '/instance_uuid',
                       'value': None}):
            bind = bodies.read_bind(_JSON, _patch(entry), True)
            self.assertIsNone(bind.instance_uuid)
            self.assertEqual([entry], bind.patch)
            self.assertRaises(errors.NotCanonical, bodies.read_bind, _JSON,
                              _patch(entry), False)

    def test_patches_that_do_neither(self):
        for body in (
                b'', b'[]', b'{}', b'null', b'[1, "a", null]',
                _patch({'op': 'add', 'path': '/extra/instance_uuid',
                        'value': 'a'}),
                _patch({'op': 'add', 'path': '/instance_info/instance_uuid',
                        'value': 'a'}),
                _patch({'op': 'add', 'path': '/extra',
                        'value': {'path': '/instance_uuid'}}),
                _patch({'path': ['/instance_name'], 'op': 'add'})):
            for canonical in (True, False):
                self.assertIsNone(bodies.read_bind('text/plain', body,
                                                   canonical), body)

    def test_patches_that_are_near_enough_to_be_refused(self):
        for entry in (
                {'op': 'add', 'path': '/instance_uuid\n', 'value': 'a'},
                {'op': 'add', 'path': 'instance_uuid', 'value': 'a'},
                {'op': 'add', 'path': '//instance_uuid', 'value': 'a'},
                {'op': 'add', 'path': '/instance_uuid/', 'value': 'a'},
                {'op': 'add', 'path': '/instance_uuid/0', 'value': 'a'},
                {'op': 'add', 'path': '/Instance_UUID', 'value': 'a'},
                {'op': 'add', 'path': ['/instance_uuid'], 'value': 'a'},
                {'op': 'ADD', 'path': '/instance_uuid', 'value': 'a'},
                {'op': ['add'], 'path': '/instance_uuid', 'value': 'a'},
                {'op': 'copy', 'path': '/instance_uuid', 'from': '/name'},
                {'op': 'move', 'path': '/name', 'from': '/instance_uuid'},
                {'op': 'test', 'path': '/instance_uuid', 'value': 'a'},
                {'path': '/instance_uuid', 'value': 'a'}):
            if isinstance(entry['path'], list):
                # Ironic accepts no such path, so no instance is written.
                self.assertIsNone(bodies.read_bind(_JSON, _patch(entry), True))
                continue
            self.assertRaises(errors.NotCanonical, bodies.read_bind, _JSON,
                              _patch(entry), True)

    def test_instance_has_to_be_one_string(self):
        entry = {'op': 'add', 'path': '/instance_uuid', 'value': 'a'}
        for body in (_patch(entry, entry), _patch({**entry, 'value': 1}),
                     _patch({**entry, 'value': ['a']}),
                     _patch({**entry, 'value': False})):
            self.assertRaises(errors.InvalidValue, bodies.read_bind, _JSON,
                              body, True)

    def test_binding_has_to_be_sent_canonically(self):
        body = _patch({'op': 'add', 'path': '/instance_uuid', 'value': 'a'})
        self.assertRaises(errors.NotCanonical, bodies.read_bind, _JSON, body,
                          False)
        for content_type in ('', 'text/plain', 'application/json; '
                             'charset=utf-16'):
            self.assertRaises(errors.NotCanonical, bodies.read_bind,
                              content_type, body, True)
        self.assertIsNotNone(bodies.read_bind('application/json-patch+json',
                                              body, True))


class ProofTestCase(testtools.TestCase):

    def test_one_proof_comes_out_in_one_spelling(self):
        for header, key in ((None, _PROOF), (_PROOF.upper(), None),
                            (_PROOF.replace('-', ''), _PROOF),
                            (f' {_PROOF} ', _PROOF)):
            self.assertEqual(_PROOF, bodies.one_proof(header, key))
        self.assertIsNone(bodies.one_proof(None, None))

    def test_what_is_no_proof_is_refused(self):
        for header in ('', 'x', f'{_PROOF},{_PROOF}', f'{{{_PROOF}}}',
                       f'urn:uuid:{_PROOF}', str(uuid.uuid4())):
            self.assertRaises(errors.InvalidValue, bodies.one_proof, header,
                              _PROOF)


class NamedNodesTestCase(testtools.TestCase):
    """Each node that a body names costs requests to Ironic."""

    def test_reader_sent_a_patch_that_took_minutes(self):
        asked = []
        step = {'op': 'add', 'path': '/parent_node', 'value': 'node-1'}
        self.assertEqual(
            [{**step, 'value': 'uuid-1'}] * 1000, act_bodies.with_parent(
                [step] * 1000, lambda ident: asked.append(ident) or 'uuid-1'))
        self.assertEqual(['node-1'], asked)
        self.assertEqual(('a', 'b'), act_bodies.nodes_in([
            {**step, 'path': '/node_uuid', 'value': value}
            for value in 'ab' * 500]))

    def test_name_below_another_field_is_no_node(self):
        patch = [{'op': 'add', 'path': path, 'value': 'rack-1'}
                 for path in ('/extra/parent_node', '/extra/node_name')]
        self.assertEqual(patch, act_bodies.with_parent(patch, self.fail))
        self.assertEqual((), act_bodies.nodes_in(patch))

    def test_bodies_that_name_too_many_nodes(self):
        def steps(path):
            return [{'op': 'add', 'path': path, 'value': value}
                    for value in 'abc']
        self.assertRaises(errors.InvalidValue, act_bodies.with_parent,
                          steps('/parent_node'), self.fail)
        self.assertRaises(errors.InvalidValue, act_bodies.nodes_in,
                          steps('/node_uuid'))


class FormTestCase(testtools.TestCase):

    def test_forms_that_could_name_a_method_are_refused(self):
        form = 'application/x-www-form-urlencoded'
        for content_type, body in (
                (form, b'_method=put'), (form, b'a=b&%5fmethod=put'),
                (form, b'a=b;%5F%6D%65thod=put'),
                (form + '; charset=utf-16', b'a=b'),
                ('multipart/form-data; boundary=b', b'a'),
                ('Multipart/mixed', b'a'), ('', b'_method=put')):
            self.assertRaises(errors.NotCanonical, media.check_form,
                              content_type, body)
        for content_type, body in ((form, b''), (form, b'reason=broken'),
                                   (form, b'{"target": "power on"}')):
            media.check_form(content_type, body)
