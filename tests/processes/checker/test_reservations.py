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


"""What is said of reservations: what can be true is not found."""

from __future__ import annotations

import dataclasses
from typing import Any
import unittest

from tests.processes.checker import by_hand
from tests.processes.checker import history

about = by_hand.about
asked = by_hand.asked
judged = by_hand.judged
M = by_hand.M
N = by_hand.N
reservation = by_hand.reservation
wrote = by_hand.wrote


def given(uuid: str, until: float, node: str = N, state: str = 'reserved',
          of: str | None = None) -> dict[str, Any]:
    """Make the body of an answer; the instance has the name of its uuid."""
    made = reservation(uuid, until, node, state)
    made['reservation']['instance_uuid'] = of or f'i-{uuid}'
    return made


def reserve(uuid: str, sent: float, status: int | None = 201,
            answer: Any = None, *, nodes: tuple[str, ...] = (N,),
            ttl: int = 90, **more: Any) -> history.Exchange:
    """Make a request for one of some nodes; by default it gets the first."""
    if status == 201 and answer is None:
        answer = given(uuid, sent + ttl, nodes[0])
    more.setdefault('body', {'instance_uuid': f'i-{uuid}', 'uuid': uuid,
                             'node_uuid': list(nodes), 'ttl': ttl})
    return asked('reserve', 'POST', '/v1/reservations', sent, status, answer,
                 **more)


def refused(sent: float, code: str = 'reserved', node: str = N,
            **more: Any) -> history.Exchange:
    """Make a request of somebody else that gets nothing."""
    return reserve('v', sent, 409, {'errors': [{
        'code': 'reservation.no_node_available', 'reasons': [
            {'node_uuid': node, 'code': code, 'detail': 'is reserved'}]}]},
        nodes=(node,), who='two', **more)


def acted(sent: float, status: int) -> history.Exchange:
    """Make a request of the holder of the reservation for its node."""
    return asked('act', 'PUT', f'/v1/nodes/{N}/states/power', sent, status,
                 proof='u')


def released(uuid: str, sent: float, status: int | None = 204,
             **more: Any) -> history.Exchange:
    """Make the end of a reservation."""
    return about(uuid, 'release', 'DELETE', sent, status, **more)


class ReservationsTestCase(unittest.TestCase):

    def _check(self, rule: str, **histories: tuple[Any, ...]) -> None:
        """Check that each of the histories breaks a rule, and no other one.

        :param rule: an empty one where they are good.
        """
        for name, told in histories.items():
            with self.subTest(name):
                self.assertEqual([rule] if rule else [], judged(*told))

    def test_what_can_be_true_is_let_be(self) -> None:
        mine = reserve('u', 10)
        by_class = {'instance_uuid': 'i-u', 'uuid': 'u', 'ttl': 90,
                    'resource_class': 'gold'}
        self._check(
            '', refused=(mine, refused(20)),
            refused_in_passing=(mine, refused(9.95)),
            refused_at_the_end=(mine, refused(101)),
            refused_for_something_else=(refused(20, 'maintenance'),),
            refused_while_another_request_finds_that_it_is_held_elsewhere=(
                refused(19, 'held_elsewhere', got=23), refused(20)),
            refused_while_another_request_goes_on_to_the_next_node=(
                reserve('u', 19, 201, given('u', 109, M), nodes=(N, M),
                        got=23), refused(20)),
            refused_while_it_is_used=(
                mine, by_hand.deployed(20, 202, 'u'), refused(500)),
            refused_while_the_node_is_put_back=(
                reserve('u', 10, ttl=5), acted(11, 202), refused(60)),
            refused_while_it_may_have_been_made=(
                reserve('u', 10, None), refused(150)),
            refused_while_one_of_any_may_have_been_made=(
                reserve('u', 10, None, body=by_class), refused(150)),
            refused_while_it_may_have_been_renewed=(
                mine, about('u', 'renew', 'PATCH', 50, None,
                            body=[{'value': 500}]), refused(400)),
            refused_after_a_release_of_which_nobody_knows=(
                mine, released('u', 20, None), refused(30)),
            made_again_after_its_release=(
                mine, released('u', 20), reserve('u', 30),
                about('u', 'show', 'GET', 40, 200, given('u', 120))),
            a_late_copy_may_have_made_it_again=(
                reserve('u', 10, repeated=True), released('u', 20),
                about('u', 'show', 'GET', 40, 200, given('u', 100))),
            another_of_the_list=(
                reserve('u', 10, answer=given('u', 100, M), nodes=(N, M)),),
            deployed_by_its_owner=(
                mine, use := by_hand.deployed(20, 202, 'u'),
                wrote(20.05, use, provision_state='deploying'),
                about('u', 'show', 'GET', 30, 200,
                      given('u', 100, state='in_use'))),
            undeployed_before=(
                wrote(1, provision_state='active'),
                wrote(5, provision_state='available'), mine),
            deployed_in_passing=(
                mine, wrote(10.05, provision_state='deploying')),
            enrolled_again=(
                wrote(1, provision_state='active'),
                dataclasses.replace(wrote(5), what='create'), mine))

    def test_refused_for_nothing(self) -> None:
        mine = reserve('u', 10)
        self._check(
            'untrue answer', nobody=(refused(20),),
            before=(mine, refused(5)), later=(mine, refused(103)),
            another_node=(mine, refused(20, node=M)),
            released=(mine, released('u', 15), refused(20)),
            said_to_be_gone=(
                reserve('u', 10, ttl=5),
                about('u', 'show', 'GET', 16, 404), refused(16.5)),
            nothing_to_put_back=(
                reserve('u', 10, ttl=5), acted(11, 403), refused(60)))

    def test_came_back(self) -> None:
        over = reserve('u', 10), released('u', 20)
        self._check(
            'untrue answer',
            shown=(*over, about('u', 'show', 'GET', 30, 200,
                                given('u', 100))),
            renewed=(*over, about('u', 'renew', 'PATCH', 30, 200,
                                  given('u', 100), body=[{'value': 70}])))

    def test_not_as_asked(self) -> None:
        self._check(
            'untrue answer',
            a_node_that_is_not_listed=(
                reserve('u', 10, answer=given('u', 100, M)),),
            another_uuid=(
                reserve('u', 10, answer=given('x', 100, of='i-u')),),
            another_instance=(
                reserve('u', 10, answer=given('u', 100, of='i-x')),))

    def test_lease_that_is_not_as_asked(self) -> None:
        for count, wrong in ((0, 1), (1, 0), (2, 0), (3, 1)):
            made = by_hand.lease('l', 100, *[N, M, 'node-o'][:count],
                                 status='PENDING')
            made['lease']['reservations'][0] |= {'min': 1, 'max': 2}
            self.assertEqual(['untrue answer'] * wrong, judged(asked(
                'lease', 'POST', '/v1/leases', 1, 201, made,
                body={'name': 'l'})), count)

    def test_promised_to_nobody(self) -> None:
        mine = reserve('u', 10)
        for uuid, lease, wrong in (('u', None, 0), ('x', None, 1),
                                   ('x', 'r', 0)):
            self.assertEqual(['left over'] * wrong, judged(
                mine, snapshots=({'at': 200.0, 'left_over': [], 'tables': {
                    'reservations': [{
                        'uuid': uuid, 'node_uuid': N, 'instance_uuid':
                        f'i-{uuid}', 'lease_reservation_id': lease}]}},)))

    def test_reserved_in_use(self) -> None:
        for state in ('deploying', 'active', 'cleaning'):
            self._check('promised twice', by_another=(
                wrote(1, provision_state='available'),
                wrote(5, provision_state=state), reserve('u', 10)))
        self.assertEqual([], judged(
            wrote(5, provision_state='active'), reserve('u', 10),
            faults=({'fault': 'kill', 'at': 8.0},)))

    def test_made_twice(self) -> None:
        """One key, and two reservations or windows."""
        def made(ident: str, sent: float) -> history.Exchange:
            return reserve('u', sent, answer=given(ident, 100, of='i-u'),
                           key='k', body={'instance_uuid': 'i-u',
                                          'node_uuid': [N], 'ttl': 90})

        def booked(ident: str, sent: float) -> history.Exchange:
            return asked('book', 'POST', '/v1/maintenances', sent, 201, {
                'maintenance': {'uuid': ident, 'name': 'w', 'nodes': []}},
                key='k', body={'name': 'w'})
        for make in made, booked:
            self.assertEqual([], judged(make('a', 1), make('a', 2)))
            self.assertIn('made twice', judged(make('a', 1), make('b', 2)))

    def test_switched_by_another(self) -> None:
        """Not what the guard had looked at before it was somebody's."""
        path = f'/v1/nodes/{N}/states/power'
        by = asked('switch', 'PUT', path, 20, 202, project='q')
        for begin, project, found in (
                (10, 'p', ['done to the node of another']), (16, 'p', []),
                (10, 'q', [])):
            self.assertEqual(found, judged(
                reserve('u', begin, project=project), by,
                wrote(20.08, by, target_power_state='power off'),
                passed=(history.Passed(20.05, 'PUT', path, by.id),)))

    def test_lost_from_a_list(self) -> None:
        """Or there twice; one that may be over need not be in it."""
        def listed(sent: float, *uuids: str) -> history.Exchange:
            return asked('list', 'GET', '/v1/reservations', sent, 200, {
                'reservations': [given(uuid, 100)['reservation']
                                 for uuid in uuids]}, project='p')
        mine = reserve('u', 10, project='p')
        self._check('', there=(mine, listed(20, 'u')), over=(
            mine, listed(101)), of_another=(reserve('u', 10), listed(20)))
        self._check('lost', gone=(mine, listed(20)), twice=(
            mine, listed(20, 'u', 'u')))

    def test_unavailable_although_nothing_has_failed(self) -> None:
        """But a machine that is busy may say so."""
        for code, found in (('service.ironic_unavailable', ['error']),
                            ('service.database_unavailable', []),
                            ('reservation.contention', ['error'])):
            given = reserve('u', 10, 503, {'errors': [{'code': code}]})
            self.assertEqual(found, judged(given, calm=True), code)
            self.assertEqual([], judged(given), code)
