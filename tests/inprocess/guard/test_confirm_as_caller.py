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

"""A node is confirmed with the facts that Ironic's API shows the caller.

The oracle is the API: each caller sees the same of each node through Ironic's
objects as by a request, with any strategy and policy.
"""

import pathlib
import uuid

from tests.inprocess.guard import base
from tests.inprocess.guard import keystone_ironic
from tests.inprocess.guard import with_keystone
from tests.real import forked_ironic

_ONE, _TWO = (keystone_ironic.PROJECTS[name] for name in ('one', 'two'))
#: A node for each field that a confirmation reads, and for each relation of a
#: project to a node.
_NODES = (
    {}, {'owner': _ONE}, {'owner': _TWO}, {'lessee': _ONE},
    {'owner': _TWO, 'lessee': _ONE}, {'owner': _ONE, 'lessee': _TWO},
    {'traits': ('CUSTOM_A', 'CUSTOM_B')},
    {'owner': _ONE, 'traits': ('CUSTOM_A',)},
    {'extra': {'reservable': 'false', 'more': [1, None, {'a': 'b'}]}},
    {'properties': {'cpus': 4, 'memory_mb': '2048', 'local_gb': 1.5,
                    'cpu_arch': None, 'capabilities': 'a:b'}},
    {'resource_class': None}, {'maintenance': True})
_POLICY = """
"baremetal:node:get": "role:reader and (not project_id:{one}
 or '{two}':%(node.owner)s)"
"""


class _Compared(with_keystone.WithKeystone):

    module = 'tests.inprocess.guard.compared_keystone_ironic'


class _WithoutKeystone(forked_ironic.ForkedIronic):

    module = 'tests.inprocess.guard.compared_ironic'


class _Cases:
    """The comparison of each caller with each node.

    :cvar callers: their headers, by name.
    :cvar sees: the number of nodes that each of them sees.
    """

    def _nodes(self):
        nodes = [self.enroll(**fields)[0].uuid for fields in _NODES]
        child, = self.enroll(parent_node=nodes[0])
        bound, = self.enroll()
        self.bind(bound.uuid, str(uuid.uuid4()))
        return [*nodes, child.uuid, bound.uuid, self._retired()]

    def _retired(self):
        node, = self.enroll()
        self.provision(node.uuid, 'manage')
        self.wait_until(node.uuid, 'manageable')
        reply = self.send('PATCH', f'/v1/nodes/{node.uuid}', [
            base.add('/retired', True)])
        self.assertEqual(200, reply.status, reply)
        return node.uuid

    def _seen(self, headers, node):
        reply = self.send('GET', '/v1/reservations',
                          headers={**headers, 'X-Confirm': node})
        self.assertEqual(200, reply.status, reply)
        return reply.document

    def test_objects_show_what_the_api_shows(self):
        nodes = self._nodes()
        count = {}
        for name, headers in self.callers.items():
            count[name] = 0
            for node in (*nodes, str(uuid.uuid4())):
                asked, read, bare = self._seen(headers, node)
                self.assertEqual(asked, read, (name, node))
                if asked is not None:
                    count[name] += 1
                    asked['traits'] = []
                self.assertEqual(asked, bare, (name, node))
        self.assertEqual(self.sees, count)


class TestNoauth(_Cases, base.GuardTestCase):

    callers = {'anybody': {}, 'forged': {
        'X-Roles': 'reader', 'X-Project-Id': _ONE, 'X-User-Id': 'x'}}
    sees = {'anybody': 15, 'forged': 15}

    @classmethod
    def make(cls, folder):
        return _WithoutKeystone(folder)


class TestBasic(_Cases, base.WithUsers):

    callers = {'user': {}}
    sees = {'user': 15}

    @classmethod
    def make(cls, folder):
        return _WithoutKeystone(folder, users=cls.users,
                                reservations=cls.reservations)


class TestKeystone(_Cases, base.GuardTestCase):

    identity = with_keystone.token('the-system')
    callers = {name: with_keystone.token(name) for name in (
        'the-system', 'nova', 'our-service', 'one', 'admin-of-one',
        'reader-of-one', 'two', 'foreign-admin')}
    sees = {'the-system': 15, 'nova': 15, 'our-service': 15, 'one': 5,
            'admin-of-one': 5, 'reader-of-one': 5, 'two': 3,
            'foreign-admin': 3}
    options = {}

    @classmethod
    def make(cls, folder):
        return with_keystone.make(folder, _Compared, cls.options)


class TestPolicyFile(TestKeystone):
    """The operator's rules apply, not Ironic's defaults."""

    sees = {'the-system': 15, 'nova': 15, 'our-service': 15, 'one': 2,
            'admin-of-one': 2, 'reader-of-one': 2, 'two': 15,
            'foreign-admin': 15}

    @classmethod
    def make(cls, folder):
        path = pathlib.Path(folder, 'policy.yaml')
        path.write_text(_POLICY.format(one=_ONE, two=_TWO))
        cls.options = {'oslo_policy': {'policy_file': path}}
        return super().make(folder)
