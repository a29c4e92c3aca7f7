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

"""A port or a volume that moves from one node to another changes both."""

from typing import Any
import uuid

from tests.inprocess.guard import base
from tests.inprocess.guard import handed_over
from tests.inprocess.guard import keystone_ironic
from tools import enrolment

_OWNER = keystone_ironic.PROJECTS['one']


class MovedTestCase(handed_over.HandedOverTestCase):
    """The holder owns the nodes."""

    def move(self, path: str, node: enrolment.Enrolled,
             proof: str | None) -> base.Reply:
        self.as_(self.holder)
        return self.send('PATCH', path, [base.replace('/node_uuid',
                                                      node.uuid)],
                         headers={base.PROOF: proof} if proof else {})

    def port_of(self, node: enrolment.Enrolled) -> str:
        (port,) = self.granted(
            'GET', f'/v1/ports?node={node.uuid}').document['ports']
        return f'/v1/ports/{port["uuid"]}'

    def volume_of(self, node: enrolment.Enrolled) -> str:
        made: dict[str, Any] = self.granted('POST', '/v1/volume/targets', {
            'node_uuid': node.uuid, 'volume_type': 'iscsi',
            'volume_id': str(uuid.uuid4()), 'boot_index': 0}).document
        return f'/v1/volume/targets/{made["uuid"]}'

    def test_proof_of_neither_node_moved_a_port_or_a_volume(self) -> None:
        """Nobody puts back what is changed after the end of a lease."""
        one, two = (self.ready(owner=_OWNER) for _ in range(2))
        for path in (self.port_of(one), self.volume_of(one)):
            self.assert_says(403, 'reservation.proof_invalid', self.move(
                path, two, str(uuid.uuid4())), path)
        self.assert_says(200, None, self.move(path, two, None))

    def test_proof_of_one_node_moved_a_port_or_a_volume(self) -> None:
        """Nobody puts back what is changed on the other one."""
        one, two = (self.ready(owner=_OWNER) for _ in range(2))
        path = self.port_of(one)
        for lent, other in ((one, two), (two, one)):
            lease = self.lent(lent)
            proof = lease['reservations'][0]['id']
            for path in self.port_of(one), self.volume_of(one):
                reply = self.move(path, two, proof)
                self.assert_says(403, 'reservation.proof_invalid', reply, path)
                self.assertIn(other.uuid, str(reply.document))
            self.ended(lease)
