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


"""Bodies of errors as the client reads them."""

from __future__ import annotations

import json

import testtools

from ironic_reservations import errors
from ironic_reservations import faults
from ironic_reservations_client import refusal


class RefusalTest(testtools.TestCase):
    """The body comes from our service, from another one or from a proxy."""

    def test_what_the_service_writes(self):
        """The body is read without a loss."""
        reasons = [{'node_uuid': 'n', 'code': 'busy', 'detail': 'is busy'}]
        status, body = faults.render(
            errors.NoNodeAvailable('No.', reasons=reasons), 'req-1')
        self.assertEqual(
            refusal.Refusal(status, refusal.NO_NODE_AVAILABLE, 'No.',
                            tuple(reasons), 'req-1'), refusal.read(body))

    def test_codes_are_those_of_the_service(self):
        """The client decides by three of them."""
        self.assertEqual(
            (refusal.NO_NODE_AVAILABLE, refusal.CONTENTION,
             refusal.VERSION_NOT_ACCEPTABLE),
            (errors.NoNodeAvailable.code, errors.Contention.code,
             errors.VersionNotAcceptable.code))

    def test_terminal_obeys_no_text_of_others(self):
        """A name could clear the screen, or write to the clipboard."""
        refused = refusal.Refusal(409, 'x', 'No.', ({
            'node_uuid': 'n', 'code': 'busy', 'detail': '\x1b[2J\x9bgold'},))
        self.assertEqual('No. [x] (HTTP 409)\n  node n: \ufffd[2J\ufffdgold '
                         '[busy]', str(refused))

    def test_other_bodies_are_not_ours(self):
        """They are Ironic's own, a proxy's, or nonsense."""
        for body in (b'', b'<html>', b'\xff', b'null', b'[]', b'1',
                     b'{"errors": []}', b'{"errors": [1]}',
                     b'{"errors": [{"status": 409}]}',
                     b'{"error_message": "{}"}',
                     b'{"error": {"message": "x", "code": 401}}'):
            self.assertIsNone(refusal.read(body), body)

    def test_a_sentence_with_a_colon_is_kept(self):
        """Only the service's own list of reasons is cut off."""
        told = refusal.Refusal(400, 'c', 'ttl: 3 is too short.')
        self.assertEqual('ttl: 3 is too short. [c] (HTTP 400)', str(told))
        told = refusal.Refusal(409, 'c', 'Other: words.',
                               ({'node_uuid': 'n', 'code': 'busy',
                                 'detail': 'is busy'},))
        self.assertEqual('Other: words. [c] (HTTP 409)\n'
                         '  node n: is busy [busy]', str(told))

    def test_reasons_that_are_no_objects_are_left_out(self):
        """A later version may have reasons of another kind."""
        body = json.dumps({'errors': [{
            'status': 409, 'code': 'c', 'detail': 'd',
            'reasons': ['x', {'code': 'y'}]}]})
        self.assertEqual(({'code': 'y'},), refusal.read(body).reasons)
