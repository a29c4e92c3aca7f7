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

"""A node is read through Ironic's objects if they show the same."""

from collections.abc import Mapping
import json
from typing import Any
import uuid

import testtools

from ironic_reservations import errors
from ironic_reservations.api import wsgi
from ironic_reservations.guard import identity
from ironic_reservations.guard import resolve
from ironic_reservations.model import mirrored_node
from tests import guarded

_UUID = str(uuid.uuid4())


class _Objects:
    """Ironic's objects, with one node.

    :ivar failure: an error that is raised instead.
    """

    def __init__(self) -> None:
        self.node: mirrored_node.Node | None = mirrored_node.Node(
            _UUID, provision_state='available', owner='o', lessee='l',
            instance_uuid='i')
        self.failure: Exception | None = None

    def read(self, caller: Mapping[str, Any], ident: str,
             with_traits: bool) -> mirrored_node.Node | None:
        """Return the node."""
        if self.failure is not None:
            raise self.failure
        return self.node


class TestResolver(testtools.TestCase):

    def setUp(self) -> None:
        super().setUp()
        self.objects: Any = _Objects()
        self.asked: list[str] = []

    def _api(self, environ: wsgi.Environ,
             start_response: wsgi.StartResponse) -> list[bytes]:
        self.asked.append(environ['PATH_INFO'])
        start_response('200 OK', [])
        return [json.dumps({'uuid': _UUID, 'owner': 'api'}).encode()]

    def _read(self, ident: str, strategy: str = identity.NOAUTH
              ) -> tuple[str | None, wsgi.Environ]:
        environ = guarded.environ('PUT', f'/v1/nodes/{ident}')
        node = resolve.Resolver(self._api, strategy, self.objects).node(
            environ, ident)
        self.assertEqual(_UUID, node.uuid)
        return node.owner, environ

    def test_without_a_request(self) -> None:
        """The identity is known by then, so that a refusal is recorded."""
        owner, environ = self._read(_UUID)
        self.assertEqual('o', owner)
        self.assertEqual({}, environ[identity.CALLER])
        self.assertEqual([], self.asked)

    def test_api_is_asked(self) -> None:
        """For names and other spellings, and to authenticate a caller."""
        for ident, strategy in (('name', identity.NOAUTH),
                                (_UUID.upper(), identity.NOAUTH),
                                (_UUID, 'http_basic'),
                                (_UUID, identity.KEYSTONE)):
            self.asked.clear()
            self.assertEqual('api', self._read(ident, strategy)[0])
            self.assertEqual([f'/v1/nodes/{ident}'], self.asked)

    def test_api_refuses(self) -> None:
        """The API is asked for a missing node, and after any failure."""
        self.objects.node = None
        self.assertEqual('api', self._read(_UUID)[0])
        self.objects.failure = KeyError('gone')
        self.assertEqual('api', self._read(_UUID)[0])
        self.assertEqual([f'/v1/nodes/{_UUID}'] * 2, self.asked)

    def test_names_that_no_path_can_have_are_refused(self) -> None:
        """Such a name in a body was answered 500, as a bug of ours."""
        for ident in ('\u4e2d', '\U0001f600', '\ufffd', '\ud800', 'a/b', '',
                      '.', '..'):
            self.assertRaises(errors.InvalidValue, self._read, ident)
        for ident in ('__class__', '__init__'):
            self.assertRaises(errors.NotCanonical, self._read, ident)
        self.assertEqual([], self.asked)
