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

"""If Ironic's objects cannot be used, its API is asked."""

from types import SimpleNamespace

from ironic.common import exception
from oslo_config import cfg
import testtools

from ironic_reservations import errors
from ironic_reservations.clouds import ironic_objects

_BODY = {'uuid': 'aa', 'provision_state': 'available'}


def _conf(middleware=('reservations',), audit=False):
    conf = cfg.ConfigOpts()
    conf.register_opts([cfg.ListOpt('middleware', default=list(middleware))],
                       'api')
    conf.register_opts([cfg.BoolOpt('enabled', default=audit)], 'audit')
    return conf


class _Context(dict):
    """A caller, as far as policy is concerned."""

    @classmethod
    def from_environ(cls, environ, overwrite):
        return cls(environ)

    def to_policy_values(self):
        return dict(self)


class TestLoad(testtools.TestCase):

    def test_with_our_middleware_next_to_ironic(self):
        for names in (('reservations',), ('reservations', 'other')):
            self.assertIsNotNone(ironic_objects.load(_conf(names)), names)

    def test_not_with_other_middleware_between(self):
        """It may hide nodes."""
        for names in ((), ('other', 'reservations')):
            self.assertIsNone(ironic_objects.load(_conf(names)), names)

    def test_not_with_ironics_audit(self):
        """It records each request."""
        self.assertIsNone(ironic_objects.load(_conf(audit=True)))


class TestEmbedded(testtools.TestCase):

    def setUp(self):
        super().setUp()
        self.asked = []
        self.answer = 200, _BODY

    def send(self, method, path, headers, body=None):
        """Be a transport."""
        self.asked.append((path.partition('?')[0], headers['X-Auth-Token']))
        return self.answer

    def _observer(self, found=(), policy=None):
        def authorize(rule, target, creds):
            if policy is not None:
                raise policy

        def read(context, filters, fields):
            if isinstance(found, Exception):
                raise found
            return found

        return ironic_objects.EmbeddedIronic(
            self, {'X-Auth-Token': 'secret'}, ironic_objects.Objects(
                SimpleNamespace(Node=SimpleNamespace(list=read)),
                SimpleNamespace(RequestContext=_Context),
                SimpleNamespace(authorize=authorize), exception), {})

    def test_read_that_fails(self):
        node = SimpleNamespace(owner=None, lessee=None)
        for observer in (self._observer(KeyError('gone')),
                         self._observer([node], policy=ValueError('scope')),
                         self._observer([node])):
            self.asked.clear()
            self.assertEqual('aa', observer.confirm('aa', True).uuid)
            self.assertEqual([('/v1/nodes/aa', 'secret')], self.asked)

    def test_api_that_fails_as_well(self):
        self.answer = 500, None
        self.assertRaises(errors.IronicUnavailable,
                          self._observer(KeyError('gone')).confirm, 'aa', True)

    def test_node_that_is_gone_or_hidden_is_not_asked_for_again(self):
        hidden = self._observer([SimpleNamespace(owner='o', lessee='l')],
                                exception.HTTPForbidden(resource='x'))
        for observer in (self._observer(), hidden):
            self.assertIsNone(observer.confirm('aa', True))
        self.assertEqual([], self.asked)
