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

"""One id for a request, in the answer, the audit and the log."""

import json
from typing import Any
import uuid

from tests.inprocess.guard import base

_HEADER = 'openstack-request-id'


class RequestIdsTestCase(base.WithUsers):

    def _events(self, action: str) -> list[dict[str, Any]]:
        """Return the audit events of an action by the guard."""
        lines = [line for line in self.ironic.log_tail(4000).splitlines()
                 if '"observer"' in line]
        events = [json.loads(line[line.index('{"action"'):].strip())
                  for line in lines]
        return [each for each in events if each['action'] == action
                and each['observer']['name'] == 'guard']

    def test_refusal_has_the_id_of_its_answer_in_the_audit_and_the_log(self):
        """The audit had an id of its own, that no client has seen."""
        sent = f'req-{uuid.uuid4()}'
        node, _ = self.reserved()
        for ident in (node.uuid, node.name):
            reply = self.send('PUT', f'/v1/nodes/{ident}/states/provision',
                              {'target': 'active'},
                              headers={'X-OpenStack-Request-ID': sent})
            self.assert_needs_proof(reply)
            known = reply.headers[_HEADER]
            self.assertEqual(known, reply.document['errors'][0]['request_id'])
            initiator = self._events('deny')[-1]['initiator']
            self.assertEqual((known, sent), (
                initiator['request_id'], initiator.get('global_request_id')))
            line, = (each for each in self.ironic.log_tail(400).splitlines()
                     if f'[{known}] The guard refused' in each)
            # The context of the line, where the format shows it.
            self.assertEqual(
                {known}, {word.strip('[]:') for word in line.split()
                          if word.strip('[').startswith('req-')} - {sent})

    def test_accepted_request_has_the_id_of_its_answer_in_the_audit(self):
        node, proof = self.reserved()
        reply = self.deploy(node.uuid, proof)
        self.assertEqual(202, reply.status, reply)
        self.assertEqual(
            reply.headers[_HEADER],
            self._events('allow')[-1]['initiator']['request_id'])
