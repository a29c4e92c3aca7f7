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

"""Ironic's settings for browsers and for its URL apply to our paths."""

from tests.inprocess.guard import base
from tests.real import forked_ironic
from tools import all_in_one

_ORIGIN = 'https://portal.example.org'
_PUBLIC = 'https://metal.example.org/baremetal'
_ALLOW = 'access-control-allow-origin'


class BrowsersTestCase(base.GuardTestCase):
    """A portal of another origin, which the operator allows."""

    @classmethod
    def make(cls, folder: str) -> all_in_one.AllInOne:
        """Return an Ironic with these settings."""
        return forked_ironic.ForkedIronic(folder, options={
            'cors': {'allowed_origin': _ORIGIN},
            'api': {'public_endpoint': _PUBLIC}})

    def _asked(self, method: str, path: str, *wanted: str,
               origin: str = _ORIGIN) -> base.Reply:
        """Send the question that a browser sends before a request."""
        return self.send('OPTIONS', path, headers={
            'Origin': origin, 'Access-Control-Request-Method': method,
            'Access-Control-Request-Headers': ','.join(wanted)})

    def test_our_paths_have_the_headers(self) -> None:
        """All our answers have them; Ironic's answers have them once."""
        for path, status in (('/v1/leases', 200), ('/v1/reservations', 200),
                             ('/v1/leases/none', 404), ('/v1/nodes', 200),
                             ('/reservation/', 200)):
            reply = self.send('GET', path, headers={'Origin': _ORIGIN})
            self.assertEqual((status, _ORIGIN), (
                reply.status, reply.headers.get(_ALLOW)), path)
            other = self.send('GET', path, headers={
                'Origin': 'https://evil.example.org'})
            self.assertNotIn(_ALLOW, other.headers)
            self.assertNotIn(_ALLOW, self.send('GET', path).headers)

    def test_a_refusal_of_the_guard_can_be_read(self) -> None:
        """The calling script got a network error."""
        node, = self.enroll()
        made = self.send('POST', '/v1/reservations', {
            'instance_uuid': node.uuid, 'node_uuid': [node.uuid]})
        self.assertEqual(201, made.status)
        reply = self.send('PUT', f'/v1/nodes/{node.uuid}/states/provision',
                          {'target': 'active'}, headers={'Origin': _ORIGIN})
        self.assertEqual(
            (403, 'reservation.proof_required', _ORIGIN),
            (reply.status, reply.code, reply.headers.get(_ALLOW)))

    def test_questions_before_a_request(self) -> None:
        """Our headers are allowed, on our paths and on Ironic's."""
        for method, path in (
                ('POST', '/v1/leases'), ('PUT', '/v1/leases/x'),
                ('PUT', '/v1/nodes/x/states/provision')):
            reply = self._asked(
                method, path, 'OpenStack-API-Version', 'X-Auth-Token',
                'OpenStack-Baremetal-Reservation', 'Idempotency-Key',
                'Content-Type')
            self.assertIn(reply.status, (200, 204), path)
            self.assertEqual(_ORIGIN, reply.headers.get(_ALLOW), path)
            other = self._asked(method, path,
                                origin='https://evil.example.org')
            self.assertNotIn(_ALLOW, other.headers)

    def test_links_have_the_public_url_of_ironic(self) -> None:
        """Our own option is not set."""
        node, = self.enroll()
        made = self.send('POST', '/v1/reservations', {
            'instance_uuid': node.uuid, 'node_uuid': [node.uuid]})
        ident = made.document['uuid'] if 'uuid' in made.document else (
            made.document['reservation']['uuid'])
        self.assertEqual(f'{_PUBLIC}/v1/reservations/{ident}',
                         made.headers['location'])
