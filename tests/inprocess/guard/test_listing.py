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
from urllib import parse

from hypothesis import given
from hypothesis import strategies as st
import testtools

from ironic_reservations import errors
from ironic_reservations.api import wsgi
from ironic_reservations.guard import listing
from tests import examples

_MAX = 7


class _Ironic:
    """Lists nodes as Ironic does, at most ``_MAX`` at a time."""

    def __init__(self, count):
        self.uuids = [f'node-{number}' for number in range(count)]
        self.asked = 0

    def __call__(self, parameters):
        self.asked += 1
        query = dict(parameters)
        limit = min(int(query.get('limit', _MAX)), _MAX)
        start = (self.uuids.index(query['marker']) + 1
                 if 'marker' in query else 0)
        page = self.uuids[start:start + limit]
        body = {'nodes': [{'uuid': uuid} for uuid in page]}
        if len(page) == limit:
            body['next'] = f'http://ironic/v1/nodes?marker={page[-1]}'
        return wsgi.Answer(200, [('Content-Length', '0')],
                           json.dumps(body).encode())


class WantedTestCase(testtools.TestCase):

    def test_lists_of_eligible_nodes(self):
        for query, reserved in (
                ('provision_state=available&associated=false', False),
                ('associated=%46ALSE&x=y&provision_state=availabl%65',
                 False),
                ('reserved=true', True), ('reserved=No', False),
                ('reserved=t&provision_state=active', True)):
            self.assertEqual(reserved, listing.wanted(query).reserved, query)

    def test_other_lists(self):
        for query in ('', 'provision_state=available', 'associated=false',
                      'provision_state=available&associated=true',
                      'provision_state=available&associated=maybe',
                      'provision_state=AVAILABLE&associated=false',
                      'provision_state=available&provision_state=active'
                      '&associated=false'):
            self.assertIsNone(listing.wanted(query), query)

    def test_reserved_is_true_or_false(self):
        for query in ('reserved=', 'reserved=2', 'reserved=1&reserved=1'):
            self.assertRaises(errors.InvalidValue, listing.wanted, query)


class FillTestCase(testtools.TestCase):

    @examples.settings(300)
    @given(count=st.integers(0, 25), numbers=st.sets(st.integers(0, 24)),
           limit=st.one_of(st.none(), st.integers(1, 12)),
           reserved=st.booleans())
    def test_pages_are_full_and_lead_to_each_node_once(
            self, count, numbers, limit, reserved):
        ironic = _Ironic(count)
        held = {f'node-{number}' for number in numbers}
        query = f'reserved={reserved}' + (
            '' if limit is None else f'&limit={limit}')
        seen = []
        while query is not None:
            answer = listing.fill(listing.wanted(query), ironic, held)
            self.assertEqual([('Content-Length', str(len(answer.body)))],
                             answer.headers)
            body = json.loads(answer.body)
            page = [node['uuid'] for node in body['nodes']]
            seen += page
            query = None
            if 'next' in body:
                self.assertEqual(min(limit or _MAX, _MAX), len(page))
                query = parse.urlsplit(body['next']).query
                self.assertIn(f'reserved={reserved}', query)
        self.assertEqual([uuid for uuid in ironic.uuids
                          if (uuid in held) == reserved], seen)
