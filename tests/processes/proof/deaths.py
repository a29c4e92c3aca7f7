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

"""An Ironic that is killed with deploys in the middle of it."""

from __future__ import annotations

from concurrent import futures
import contextlib
import http.client
import json
import time

import sqlalchemy as sa
from testtools import content

from ironic_reservations.db import tables
from tests.processes.proof import ground

_DEPLOYS = 10
#: When it is killed, in each round: rows of what, with which state, it takes.
_MOMENTS = ((tables.in_flight_requests, 'sent'), (tables.reservations,
                                                  'in_use'))


class DeathsTestCase(ground.GroundTestCase):
    """What becomes of a proof whose carrier dies on the way."""

    def test_reservation_outlives_the_ironic_that_carries_its_proof(
            self) -> None:
        """It is there once, and says what Ironic says."""
        numbers = []
        for table, state in _MOMENTS:
            numbers.append(self._round(table, state))
            for node in self.nodes[:_DEPLOYS]:
                self._give_back(node)
        self.addDetail('numbers', content.text_content(
            f'{self.kind}: {json.dumps(numbers)}'))
        self.assert_all_free()

    def _round(self, table: sa.Table, state: str) -> dict[str, int]:
        proofs = {node: self.reserve(node)['uuid']
                  for node in self.nodes[:_DEPLOYS]}

        def deploy(node: str) -> int:
            with contextlib.suppress(OSError, http.client.HTTPException):
                return self.deploy(node, proofs[node]).status
            return 0
        with futures.ThreadPoolExecutor(_DEPLOYS) as pool:
            answers = dict(zip(proofs, [
                pool.submit(deploy, node) for node in proofs], strict=True))
            self._wait_for_row(table, state)
            self.ironic.kill()
            cut_off = len(self.rows(tables.in_flight_requests))
            statuses = {node: answer.result()
                        for node, answer in answers.items()}
        self.ironic.start()
        self.wait_for(lambda: not self.rows(tables.in_flight_requests) and
                      not any(row['state'] == 'starting'
                              for row in self.rows(tables.reservations)))
        states = [self._assert_settled(node, proof, statuses[node])
                  for node, proof in proofs.items()]
        return {'cut off': cut_off, 'in use': states.count('in_use'),
                'reserved': states.count('reserved')}

    def _wait_for_row(self, table: sa.Table, state: str) -> None:
        deadline = time.monotonic() + 120
        while time.monotonic() < deadline:
            if any(row.get('state') == state for row in self.rows(table)):
                return
            time.sleep(0.002)
        self.fail('No deploy got so far.')

    def _assert_settled(self, node: str, proof: str, status: int) -> str:
        row, = (row for row in self.rows(tables.reservations)
                if row['node_uuid'] == node)
        self.assertEqual(proof, row['uuid'])
        found = self.node(node)
        free = found['provision_state'] == 'available'
        self.assertEqual('reserved' if free else 'in_use', row['state'],
                         found['provision_state'])
        self.assertIn(status, (0,) if free else (0, 202))
        refused = self.deploy(node)
        self.assertEqual((403, 'reservation.proof_required'),
                         (refused.status, refused.code))
        if free:
            # NOTE: what came to nothing can be tried again.
            self.assertEqual(202, self.deploy(node, proof).status)
        return row['state']

    def _give_back(self, node: str) -> None:
        state = self.wait_for(lambda: self._settled_state(node))
        self.assertIn(state, ('active', 'deploy failed'))
        reply = self.send('PUT', f'/v1/nodes/{node}/states/provision',
                          {'target': 'deleted'})
        self.assertEqual(202, reply.status, reply)
        self.wait_for(lambda: self._settled_state(node) == 'available')
        self.wait_for(lambda: not any(
            row['node_uuid'] == node
            for row in self.rows(tables.reservations)))

    def _settled_state(self, node: str) -> str | None:
        found = self.node(node)
        self.addDetail('node', content.text_content(json.dumps(found)))
        if found['reservation'] or found['target_provision_state'] not in (
                None, 'active') or found['provision_state'] == 'deploying':
            return None
        return str(found['provision_state'])
