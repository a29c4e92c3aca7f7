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

"""What is made of answers that Ironic does not give."""

from collections.abc import Callable
from collections.abc import Mapping
import json
from typing import Any

import testtools

from ironic_reservations import errors
from ironic_reservations.clouds import ironic
from ironic_reservations.model import handovers
from tests import answering
from tests import world

_UUID = world.new_uuid()
_NODE = {'uuid': _UUID, 'name': 'n', 'traits': ['CUSTOM_A'], 'owner': 'o',
         'extra': {}, 'properties': {'cpus': 4}, 'maintenance': False,
         'reservation': 'h', 'conductor': 'c', 'created_at': 'then',
         'maintenance_reason': 'why', 'state': 'active', 'node_uuid': 'n',
         'instance_uuid': 'i', 'provision_state': 'active',
         'resource_class': 'gold', 'power_state': 'power on'}
_LIST = {'nodes': [_NODE]}
_OF_NODE = ('uuid',)
#: May be null or left out, but not of another kind.
_OPTIONAL = ('name', 'traits', 'owner', 'extra', 'properties', 'maintenance',
             'instance_uuid', 'provision_state', 'resource_class',
             'power_state')
_Read = Callable[[ironic.Ironic], Any]
#: Each read of one object: how, and the keys that may be null.
_OBJECTS: dict[str, tuple[_Read, tuple[str, ...]]] = {
    'node': (lambda client: client.node(_UUID), _OPTIONAL),
    'confirm': (lambda client: client.confirm(_UUID, True), _OPTIONAL),
    'settled': (lambda client: client.settled(_UUID),
                (*_OPTIONAL, 'reservation')),
    'conductor_of': (lambda client: client.conductor_of(_UUID),
                     ('conductor',)),
    'allocation': (lambda client: client.allocation(_UUID),
                   ('state', 'node_uuid')),
    'enrolled_at': (lambda client: client.enrolled_at(_UUID),
                    ('created_at',)),
    'maintained': (lambda client: client.maintained(_UUID),
                   (*_OPTIONAL, 'maintenance_reason')),
    'document': (lambda client: client.document(_UUID), ()),
}
_LISTS: dict[str, tuple[_Read, tuple[str, ...]]] = {
    'nodes': (lambda client: [*client.nodes()], _OPTIONAL),
    'all_settled': (lambda client: [*client.all_settled()],
                    (*_OPTIONAL, 'conductor')),
    'conductors_of_all': (lambda client: client.conductors_of_all(),
                          ('conductor',)),
    'lately_changed': (lambda client: [*client.lately_changed()], _OPTIONAL),
    'reasons': (lambda client: client.reasons(), ('maintenance_reason',)),
}
_OTHERS: dict[str, _Read] = {
    'newest_version': lambda client: client.newest_version(),
    'ask_conductor': lambda client: client.ask_conductor(_UUID),
}
_READS = [*(read for read, _ in (*_OBJECTS.values(), *_LISTS.values())),
          *_OTHERS.values()]
_CHANGES: dict[str, Callable[[ironic.Ironic], None]] = {
    'delete_allocation': lambda client: client.delete_allocation('a'),
    'write_lessee': lambda client: client.write_lessee(_UUID, 'p'),
    'undeploy': lambda client: client.undeploy(_UUID),
    'abort': lambda client: client.abort(_UUID),
    'clear_instance': lambda client: client.clear_instance(_UUID),
    'manage': lambda client: client.manage(_UUID),
    'provide': lambda client: client.provide(_UUID),
    'put_back': lambda client: client.put_back(_UUID, 'PUT', 'traits', {}),
    'set_maintenance': lambda client: client.set_maintenance(_UUID, 'why'),
    'clear_maintenance': lambda client: client.clear_maintenance(_UUID),
}
#: What the framework below Ironic says of a path that is not there.
_NO_PATH = {'error_message': json.dumps({
    'code': 404, 'title': 'Not Found', 'description': 'Not Found'})}
_NO_NODE = {'error_message': json.dumps({
    'faultcode': 'Client', 'faultstring': 'It could not be found.',
    'debuginfo': None})}
_NO_ERRORS = (*answering.NO_DOCUMENTS, {'message': 'no Route matched'},
              *({'error_message': each} for each in (
                  None, 5, 'x', '5', '[]', 'null', '[' * 100000, [], [5])))


class TestMalformedAnswers(testtools.TestCase):
    """They were KeyErrors, or nodes that are deleted."""

    def setUp(self) -> None:
        super().setUp()
        self.status, self.document = 200, None
        #: By path; anything else gets the document.
        self.good: dict[str, Any] = {}
        self.asked = 0
        self.client = ironic.Ironic(self)

    def send(self, method: str, path: str, headers: Mapping[str, str],
             body: Any = None) -> tuple[int, Any]:
        """Be a transport."""
        self.asked += 1
        path = path.partition('?')[0]
        if path in self.good:
            return 200, self.good[path]
        return self.status, self.document

    def unavailable(self, read: _Read) -> str:
        """Return what is said of an answer, besides whose it is."""
        raised = self.assertRaises(errors.IronicUnavailable, read,
                                   self.client)
        self.assertIn(str(self.status), str(raised))
        return str(raised)

    def test_each_read_of_what_ironic_does_not_answer(self) -> None:
        for self.document in answering.NO_DOCUMENTS:
            for read in _READS:
                self.unavailable(read)

    def test_each_key_of_an_object(self) -> None:
        for name, (read, optional) in _OBJECTS.items():
            self._each_key(name, read, _NODE, optional, '')
        self.good = {}
        for name, (read, optional) in _LISTS.items():
            self._each_key(name, read, _LIST, optional, 'nodes/')

    def _each_key(self, name: str, read: _Read, good: dict[str, Any],
                  optional: tuple[str, ...], prefix: str) -> None:
        if name != 'document':
            self.document = good
            self.assertTrue(read(self.client), name)
        for self.document in answering.spoiled(good, f'{prefix}uuid'):
            self.assertIn('"uuid"', self.unavailable(read))
        for key in optional:
            for self.document in answering.spoiled(good, f'{prefix}{key}',
                                                   needed=False):
                node = (self.document['nodes'][0] if prefix
                        else self.document)
                # Of a list, its values are what is wrong.
                if node[key] not in (None, []):
                    self.assertIn(f'"{key}"', self.unavailable(read))
        if prefix:
            for self.document in answering.spoiled(good, 'nodes'):
                self.assertIn('"nodes"', self.unavailable(read))

    def test_each_object_below_a_node(self) -> None:
        read = _OBJECTS['document'][0]
        good = {f'/v1/nodes/{_UUID}': _NODE,
                '/v1/ports/detail': {'ports': [
                    {'uuid': 'p', 'internal_info': None}]},
                '/v1/portgroups/detail': {'portgroups': []},
                '/v1/volume/targets': {'targets': [{'uuid': 't'}]},
                '/v1/volume/connectors': {'connectors': []}}
        self.good = good
        self.assertEqual({'t': {'uuid': 't'}}, read(self.client).targets)
        for path, document in good.items():
            for self.document in answering.NO_DOCUMENTS:
                self.good = {each: there for each, there in good.items()
                             if each != path}
                self.unavailable(read)
            kind = path.split('/')[-2 if path.endswith('detail') else -1]
            self.good[path] = {**document, 'next': 'x'}
            if document.get(kind):
                self.assertIn('twice', str(self.assertRaises(
                    errors.IronicUnavailable, read, self.client)))
        self.good = {**good, '/v1/ports/detail': {'ports': [
            {'uuid': 'p', 'internal_info': 5}]}}
        self.assertIn('"internal_info"', self.unavailable(read))
        self.good = good
        for part in ('bios', 'firmware', handovers.BOOT_DEVICE):
            for self.document in answering.NO_DOCUMENTS:
                self.unavailable(
                    lambda client, part=part: client.document(_UUID, [part]))

    def test_error_of_a_proxy_is_no_missing_thing(self) -> None:
        for self.status in (400, 404):
            for self.document in _NO_ERRORS:
                for read in _READS:
                    self.unavailable(read)

    def test_path_that_ironic_does_not_have_is_no_missing_node(self) -> None:
        """So says each Ironic below a wrong address, such as one with /v1."""
        self.status, self.document = 404, _NO_PATH
        for read in _READS:
            self.unavailable(read)
        # Ironic says the same of a name that is part of its paths.
        self.assertIsNone(self.client.node('ports'))
        self.document = _NO_NODE
        for read, _ in _OBJECTS.values():
            self.assertIsNone(read(self.client))
        for read, _ in _LISTS.values():
            self.unavailable(read)

    def test_change_that_a_proxy_answers_is_not_refused_by_ironic(
            self) -> None:
        """Its 404 was a refusal, with which a step may be left out."""
        for self.status in (400, 403, 404, 406):
            for self.document in _NO_ERRORS:
                for name, change in _CHANGES.items():
                    self.assertIn(f'{self.status}', self.unavailable(change),
                                  name)
            for self.document in (_NO_NODE, _NO_PATH):
                for change in _CHANGES.values():
                    self.assertRaises(ironic.Refused, change, self.client)

    def test_page_that_repeats_is_no_list(self) -> None:
        """It was read again and again, for ever."""
        for read, _ in _LISTS.values():
            self.document, self.asked = {**_LIST, 'next': 'x'}, 0
            raised = self.assertRaises(errors.IronicUnavailable, read,
                                       self.client)
            self.assertIn('twice', str(raised))
            self.assertEqual(2, self.asked)
