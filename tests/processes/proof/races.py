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

"""A reservation against whatever else takes a node, at the same moment."""

from __future__ import annotations

from collections.abc import Callable
from concurrent import futures
import json
import random
import threading
import time
from typing import Any
import uuid

import requests
from testtools import content

from ironic_reservations.db import tables
from tests.inprocess.guard import base
from tests.processes.proof import ground

#: How much later, in seconds, the other one may begin: a reservation asks
#: Ironic over HTTP, and most of the others ask less.
_LATER = (-0.02, 0.1)
_MUCH_LATER = (0, 0.25)
_AT_A_TIME = 4
_REFUSED = (409, 'reservation.no_node_available')


class RacesTestCase(ground.GroundTestCase):
    """Of a reservation and a request without proof, one gets the node."""

    race_nodes = 16

    def _race(self, take: Callable[[str], base.Reply], won: int,
              refused: tuple[int, str],
              took: Callable[[dict[str, Any]], Any],
              give_back: Callable[[str], Any], rounds: int = 2,
              later: tuple[float, float] = _LATER) -> None:
        """Have both at each node, again and again.

        :param take: the other request.
        :param won: the status that it gets when it comes first.
        :param refused: its status and code when it comes second.
        :param took: tells from a node that the other request got it.
        :param give_back: makes such a node available again.
        :param later: how much later it begins, in seconds, at least and at
            most.
        """
        wins = {'reservation': 0, 'other': 0}
        choice = random.Random(refused[1] + self.kind)
        nodes = self.nodes[:self.race_nodes]

        def run(node: str, pause: float) -> None:
            reserved, taken = self._at_once(
                lambda: self._reserve(node), lambda: take(node), pause)
            answers = ((reserved.status, reserved.code),
                       (taken.status, taken.code))
            self.assertIn(answers, (((201, None), refused),
                                    (_REFUSED, (won, None))))
            rows = [row for row in self.rows(tables.reservations)
                    if row['node_uuid'] == node]
            if reserved.status == 201:
                wins['reservation'] += 1
                proof = reserved.document['reservation']['uuid']
                self.assertEqual([(proof, 'reserved')], [
                    (row['uuid'], row['state']) for row in rows])
                self.assert_untouched(node)
                self.assertEqual(204, self.send(
                    'DELETE', f'/v1/reservations/{proof}').status)
            else:
                wins['other'] += 1
                self.assertEqual([], rows)
                self.wait_for(lambda: took(self.node(node)))
                give_back(node)
                self.wait_for(lambda: self._is_free(node))

        with futures.ThreadPoolExecutor(_AT_A_TIME) as pool:
            for _round in range(rounds):
                list(pool.map(run, nodes, [choice.uniform(*later)
                                           for _ in nodes]))
        self.addDetail('numbers', content.text_content(
            f'{self.kind}, {refused[1]}: {len(nodes) * rounds} races, '
            f'won by {json.dumps(wins)}'))

    @staticmethod
    def _at_once(one: Callable[[], base.Reply],
                 other: Callable[[], base.Reply], later: float
                 ) -> tuple[base.Reply, base.Reply]:
        together = threading.Barrier(2)

        def after(pause: float, act: Callable[[], base.Reply]) -> base.Reply:
            together.wait()
            time.sleep(max(pause, 0))
            return act()
        with futures.ThreadPoolExecutor(2) as pool:
            first = pool.submit(after, -later, one)
            second = pool.submit(after, later, other)
            return first.result(), second.result()

    def _reserve(self, node: str) -> base.Reply:
        """Reserve through one of the processes beside Ironic."""
        answer = requests.post(
            f'http://127.0.0.1:{self.api.port}/v1/reservations',
            json={'instance_uuid': str(uuid.uuid4()), 'node_uuid': [node]},
            headers=base.OURS, timeout=60)
        return base.Reply(answer.status_code, dict(answer.headers),
                          answer.json())

    def _is_free(self, node: str) -> bool:
        found = self.node(node)
        return (found['provision_state'] == 'available'
                and found['instance_uuid'] is None
                and found['reservation'] is None
                and not any(row['node_uuid'] == node
                            for row in self.rows(tables.in_flight_requests)))

    def test_reservation_and_deploy_never_both_get_the_node(self) -> None:
        """A deploy without proof and a reservation exclude each other."""
        self._race(
            self.deploy, 202, (403, 'reservation.proof_required'),
            lambda node: node['provision_state'] == 'active',
            lambda node: self.send(
                'PUT', f'/v1/nodes/{node}/states/provision',
                {'target': 'deleted'}))

    def test_reservation_and_instance_never_both_get_the_node(self) -> None:
        """So does an instance that is written on the node."""
        self._race(
            lambda node: self.bind(node, str(uuid.uuid4())), 200,
            (403, 'reservation.proof_required'),
            lambda node: node['instance_uuid'],
            lambda node: self.send('PATCH', f'/v1/nodes/{node}', [
                {'op': 'remove', 'path': '/instance_uuid'}]))

    def test_reservation_and_allocation_never_both_get_the_node(self) -> None:
        """And an allocation of Ironic, which binds the node later."""
        for node in self.nodes[:self.race_nodes]:
            self.send('PUT', f'/v1/nodes/{node}/states/power',
                      {'target': 'power on'})
        self.wait_for(lambda: all(
            self.node(node)['power_state'] == 'power on'
            for node in self.nodes[:self.race_nodes]))
        self._race(
            lambda node: self.send('POST', '/v1/allocations', {
                'resource_class': ground.RESOURCE_CLASS,
                'candidate_nodes': [node]}),
            201, (403, 'reservation.allocation_refused'),
            lambda node: node['allocation_uuid'],
            lambda node: self.send(
                'DELETE', f'/v1/nodes/{node}/allocation'),
            rounds=1, later=_MUCH_LATER)
