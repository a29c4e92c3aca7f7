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

"""Refusals that commands show have the names of nodes."""

import types

from ironicclient import exc
from keystoneauth1 import exceptions as ksa_exceptions
import testtools

from ironic_reservations_client import errors
from ironic_reservations_client import nodes as client_nodes
from ironic_reservations_client import refusal

NAMED, UNNAMED, UNSEEN = (f'{number}' * 36 for number in range(3))


class _Nodes:
    """The nodes of Ironic that the caller may see."""

    def get(self, uuid, fields):
        if uuid == UNSEEN:
            raise exc.NotFound()
        return types.SimpleNamespace(
            uuid=uuid, name='gold-0' if uuid == NAMED else None,
            provision_state='available')


class _NoNodes:
    """An Ironic that does not answer."""

    def get(self, uuid, fields):
        raise exc.ServiceUnavailable()


class _NoConnection:
    """An Ironic that cannot be reached any more."""

    def get(self, uuid, fields):
        raise ksa_exceptions.ConnectFailure()


class TestNames(testtools.TestCase):

    def told(self, nodes):
        reasons = tuple({'node_uuid': uuid, 'code': 'leased',
                         'detail': 'is leased'}
                        for uuid in (NAMED, UNNAMED, UNSEEN))
        refused = errors.Conflict(refusal.Refusal(
            409, 'maintenance.refused', 'Nothing was booked.', reasons),
            exc.Conflict())
        with (testtools.ExpectedException(errors.Conflict),
              client_nodes.named_in_refusals(types.SimpleNamespace(node=nodes))):
            raise refused
        return str(refused).splitlines()[1:]

    def test_advice_after_the_reasons_is_shown(self):
        """It was cut off together with the reasons, which are lines."""
        node = {'node_uuid': NAMED, 'code': 'leased', 'detail': 'is leased'}
        other = {**node, 'node_uuid': UNNAMED}
        for sentence, reasons in (
                (f'No: node {NAMED} is leased; node {UNNAMED} is leased.',
                 (node, other)),
                (f'No: node {NAMED} is leased; and 1 more.', (node, other)),
                ('No: of the nodes that you may see, 12 leased, 3 busy.',
                 ({'nodes': 12, 'code': 'leased'},
                  {'nodes': 3, 'code': 'busy'}))):
            for advice in ('', ' Wait: it ends. Or ask for others.'):
                text = str(refusal.Refusal(409, 'no', sentence + advice,
                                           reasons))
                self.assertEqual(f'No.{advice} [no] (HTTP 409)',
                                 text.splitlines()[0])

    def test_where_ironic_shows_them(self):
        self.assertEqual(
            [f'  node gold-0 ({NAMED}): is leased [leased]',
             f'  node {UNNAMED}: is leased [leased]',
             f'  node {UNSEEN}: is leased [leased]'], self.told(_Nodes()))

    def test_the_refusal_is_shown_where_ironic_does_not_answer(self):
        for nodes in (_NoNodes(), _NoConnection()):
            self.assertEqual(
                [f'  node {uuid}: is leased [leased]'
                 for uuid in (NAMED, UNNAMED, UNSEEN)], self.told(nodes))
