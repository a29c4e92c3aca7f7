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


import io
import json
from unittest import mock

import testtools

from ironic_reservations import errors
from ironic_reservations.api.middleware import body
from ironic_reservations.guard import identity
from ironic_reservations.guard import inward


class BodyTestCase(testtools.TestCase):

    def _read(self, body=b'', limit=10, **environ):
        environ['wsgi.input'] = io.BytesIO(body)
        read = inward.read_body(environ, limit)
        self.assertEqual(read, environ['wsgi.input'].read())
        return read

    def test_body_is_read_to_its_length_and_put_back(self):
        self.assertEqual(b'abc', self._read(b'abcdef', CONTENT_LENGTH='3'))
        self.assertEqual(b'', self._read(b'abc', CONTENT_LENGTH='0'))
        self.assertEqual(b'', self._read(b'abc'))
        self.assertEqual(b'', self._read(b'', **{
            'wsgi.input_terminated': True}))

    def test_bodies_that_are_refused(self):
        for error, sent, environ in (
                (errors.TooLarge, b'', {'CONTENT_LENGTH': '11'}),
                (errors.Malformed, b'ab', {'CONTENT_LENGTH': '3'}),
                (errors.Malformed, b'ab', {'CONTENT_LENGTH': '+2'}),
                (errors.Malformed, b'ab', {'CONTENT_LENGTH': '0_2'}),
                (errors.Malformed, b'ab', {'CONTENT_LENGTH': '٢'}),
                (errors.Malformed, b'ab', {'CONTENT_LENGTH': '-1'}),
                (errors.LengthRequired, b'', {
                    'HTTP_TRANSFER_ENCODING': 'identity'}),
                (errors.LengthRequired, b'ab', {
                    'HTTP_TRANSFER_ENCODING': 'chunked',
                    'CONTENT_LENGTH': '2'}),
                (errors.LengthRequired, b'ab', {
                    'wsgi.input_terminated': True})):
            self.assertRaises(error, self._read, sent, **environ)

    def test_body_that_the_server_gives_up_is_an_error_of_the_client(self):
        """uwsgi and cheroot raise OSError; the answer was 500."""
        reads = mock.Mock(**{'read.side_effect': TimeoutError})
        for read in (inward.read_body, body._read):
            self.assertRaises(errors.Malformed, read, {
                'CONTENT_LENGTH': '3', 'wsgi.input': reads}, 10)


class RebuiltTestCase(testtools.TestCase):

    def test_nothing_of_the_other_request_shows(self):
        environ = {
            'REQUEST_METHOD': 'PUT', 'PATH_INFO': '/x', 'QUERY_STRING': 'y',
            'REQUEST_URI': '/x?y', 'RAW_URI': '/x?y',
            'CONTENT_TYPE': 'text/plain', 'CONTENT_LENGTH': '9',
            'HTTP_TRANSFER_ENCODING': 'chunked',
            'wsgi.input': io.BytesIO(b'123456789'),
            'wsgi.input_terminated': True,
            'webob._parsed_post_vars': object(),
            'HTTP_OPENSTACK_BAREMETAL_RESERVATION': 'secret',
            'HTTP_X_AUTH_TOKEN': 'token'}
        before = dict(environ)
        out = inward.rebuilt(environ, '/v1/nodes/a', body={'é': [1]})
        self.assertEqual(before, environ)
        self.assertEqual({'é': [1]}, json.loads(out.pop('wsgi.input').read()))
        self.assertEqual({
            'REQUEST_METHOD': 'PUT', 'PATH_INFO': '/v1/nodes/a',
            'QUERY_STRING': '', 'CONTENT_TYPE': 'application/json',
            'CONTENT_LENGTH': '10', 'HTTP_X_AUTH_TOKEN': 'token'}, out)


class IdentityTestCase(testtools.TestCase):

    def test_nothing_that_a_client_says_of_itself_is_left(self):
        said = {'HTTP_X_USER_ID': 'x', 'HTTP_X_USER': 'x',
                'HTTP_X_PROJECT_ID': 'x', 'HTTP_X_ROLES': 'admin',
                'HTTP_X_ROLE': 'admin', 'HTTP_X_TENANT_ID': 'x',
                'HTTP_X_IDENTITY_STATUS': 'Confirmed',
                'HTTP_X_SERVICE_ROLES': 'service',
                'HTTP_OPENSTACK_SYSTEM_SCOPE': 'all',
                'HTTP_X_DOMAIN_ID': 'x', 'keystone.token_auth': object()}
        kept = {'HTTP_X_AUTH_TOKEN': 'a', 'HTTP_X_SERVICE_TOKEN': 'b',
                'HTTP_AUTHORIZATION': 'c', 'HTTP_ACCEPT': '*/*'}
        self.assertEqual(kept, identity.without({**said, **kept}))
        self.assertEqual({}, identity.identify(
            lambda *args: self.fail('asked'), identity.NOAUTH, said))
