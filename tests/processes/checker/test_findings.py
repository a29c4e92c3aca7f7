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


"""Histories written by hand: what is right is not found, what is wrong is."""

from __future__ import annotations

import dataclasses
from typing import Any
import unittest

from tests.processes.checker import by_hand
from tests.processes.checker import findings
from tests.processes.checker import history
from tests.processes.checker import owners

about = by_hand.about
asked = by_hand.asked
date = by_hand.date
deployed = by_hand.deployed
judged = by_hand.judged
LATE = by_hand.LATE
lease = by_hand.lease
M = by_hand.M
N = by_hand.N
reservation = by_hand.reservation
reserved = by_hand.reserved
shown = by_hand.shown
wrote = by_hand.wrote


class SureTestCase(unittest.TestCase):
    """From when until when a node surely is somebody's."""

    def _sure(self, *told: history.Exchange) -> list[tuple[float, float]]:
        return [(round(sure.begin, 3), round(sure.end, 3))
                for sure in owners.find(history.History(told, late=LATE))]

    def test_from_the_answer_to_the_expiry(self) -> None:
        """Less a margin before it."""
        self.assertEqual([(10.1, 100 - owners.MARGIN)],
                         self._sure(reserved('u', 10, 100)))

    def test_until_its_deletion_is_sent(self) -> None:
        """Whatever is answered, unless it is a refusal."""
        for status, end in ((204, 50.0), (503, 50.0), (None, 50.0),
                            (404, 100 - owners.MARGIN)):
            self.assertEqual([(10.1, end)], self._sure(
                reserved('u', 10, 100),
                about('u', 'release', 'DELETE', 50, status)))

    def test_nothing_while_a_deletion_may_still_be_under_way(self) -> None:
        """An answer that shows it does not help: it may go right after."""
        unknown = about('u', 'release', 'DELETE', 50, None)
        self.assertEqual([(10.1, 50.0)], self._sure(
            reserved('u', 10, 300), unknown,
            about('u', 'show', 'GET', 60, 200, reservation('u', 300))))
        self.assertEqual([(10.1, 50.0), (111.1, 300 - owners.MARGIN)],
                         self._sure(
            reserved('u', 10, 300), unknown,
            about('u', 'show', 'GET', 111, 200, reservation('u', 300))))

    def test_renewal_counts_once_it_is_answered(self) -> None:
        """In between neither end is sure."""
        self.assertEqual([(10.1, 50.0), (50.1, 200 - owners.MARGIN)],
                         self._sure(
            reserved('u', 10, 100),
            about('u', 'renew', 'PATCH', 50, 200, reservation('u', 200))))

    def test_one_in_use_does_not_expire(self) -> None:
        """Until somebody undeploys its node."""
        used = about('u', 'show', 'GET', 20, 200,
                     reservation('u', 30, state='in_use'))
        away = asked('undeploy', 'PUT', f'/v1/nodes/{N}/states/provision',
                     500, 202)
        self.assertIn((20.1, 500.0), self._sure(used, away))

    def test_undeploy_that_was_delivered_twice(self) -> None:
        """The first one may still be under way."""
        twice = asked('undeploy', 'PUT', f'/v1/nodes/{N}/states/provision',
                      5, 202, repeated=True)
        self.assertEqual([], self._sure(twice, reserved('u', 10, 100)))
        self.assertEqual([(70.1, 100 - owners.MARGIN)],
                         self._sure(twice, reserved('u', 70, 100)))

    def test_undeploy_for_somebody_before(self) -> None:
        """What was over before it was asked for changes nothing."""
        before, unknown = (
            asked('undeploy', 'PUT', f'/v1/nodes/{N}/states/provision', 5,
                  status) for status in (202, None))
        mine = reserved('u', 10, 100)
        self.assertEqual([(10.1, 100 - owners.MARGIN)],
                         self._sure(before, mine))
        self.assertEqual([], self._sure(unknown, mine))

    def test_lease_while_it_is_active(self) -> None:
        """With the nodes that are bound."""
        self.assertEqual([(10.1, 100 - owners.MARGIN)],
                         self._sure(shown('l', 10, 100, N)))
        self.assertEqual([], self._sure(
            shown('l', 10, 100, N, status='TERMINATING')))

    def test_what_was_only_tried_changes_nothing(self) -> None:
        """A dry run neither shows nor disturbs."""
        tried = asked('try', 'POST', '/v1/leases?dry_run=true', 10, 200,
                      lease('l', 100, N))
        self.assertEqual([], self._sure(tried))
        change = asked('try', 'PUT', '/v1/leases/l?dry_run=true', 20, 200)
        self.assertEqual([(10.1, 100 - owners.MARGIN)],
                         self._sure(shown('l', 10, 100, N), change))


class GoodTestCase(unittest.TestCase):
    """None of these is a finding."""

    def test_good_histories(self) -> None:
        """What happens on any day."""
        mine = reserved('u', 10, 100)
        use = deployed(20, 202, 'u')
        gone = about('u', 'release', 'DELETE', 30, 204)
        for name, told in {
                'one after the other': (
                    mine, gone, reserved('v', 31, 200, who='two')),
                'after its expiry': (
                    mine, reserved('v', 101, 200, who='two')),
                'side by side': (mine, reserved('v', 11, 90, M)),
                'deployed by its owner': (
                    mine, use, wrote(21, use, provision_state='deploying')),
                'deployed late, nobody has it': (
                    mine, use, wrote(120, use, provision_state='deploying')),
                'deployed by another while it may have ended': (
                    mine, about('u', 'release', 'DELETE', 15, None),
                    wrote(40, deployed(39, 202), provision_state='deploying')
                ),
                'the lessee of its lease': (
                    dataclasses.replace(shown('l', 10, 100, N), project='p'),
                    wrote(20, lessee='p')),
                'undeployed once it is over': (
                    shown('l', 10, 100, N),
                    wrote(101, provision_state='deleting')),
                'not found after its deletion': (
                    mine, gone, about('u', 'show', 'GET', 31, 404)),
                'refused with a code': (
                    asked('reserve', 'POST', '/v1/reservations', 1, 503,
                          {'errors': [{'code': 'service.database'}]}),),
                'Ironic fails by itself': (
                    deployed(1, 500, answer={'error_message': 'x'}),),
                'no answer, and it was done': (
                    asked('reserve', 'POST', '/v1/reservations', 1, None,
                          body={'uuid': 'u'}),
                    about('u', 'probe', 'GET', 20, 200,
                          reservation('u', 50)))}.items():
            with self.subTest(name):
                self.assertEqual([], judged(*told))


class ReadTestCase(unittest.TestCase):
    """What the files say."""

    def test_request_that_was_delivered_twice(self) -> None:
        """Its refusal tells nothing of the first time."""
        sent = {'kind': 'exchange', 'id': 'req-1', 'who': 'one',
                'op': 'release', 'method': 'DELETE',
                'path': '/v1/reservations/u', 'sent': 30.0, 'got': 31.0,
                'status': 404}
        twice = {'kind': 'fault', 'fault': 'repeated', 'at': 30.5,
                 'request': 'req-1'}
        mine = {'kind': 'exchange', 'id': 'req-0', 'who': 'one',
                'op': 'reserve', 'method': 'POST',
                'path': '/v1/reservations', 'sent': 10.0, 'got': 10.1,
                'status': 201, 'answer': reservation('u', 100)}
        for records, found in (([mine, sent], ['lost']),
                               ([mine, sent, twice], []),
                               ([mine, sent, {**twice, 'request': 'req-0'}],
                                ['lost'])):
            with self.subTest(len(records)):
                self.assertEqual(found, [each.rule for each in findings.judge(
                    history.read(records))])

    def test_request_whose_answer_is_still_to_come(self) -> None:
        """It has been sent, and whoever did it has asked for it."""
        sent = {'id': 'req-1', 'who': 'one', 'op': 'deploy', 'method': 'PUT',
                'path': '/v1/nodes/n/states/provision', 'sent': 1.0}
        told = history.read([{'kind': 'sending', **sent}])
        self.assertIsNone(told.exchanges[0].status)
        answered = {'kind': 'exchange', **sent, 'got': 2.0, 'status': 202}
        for records in ([{'kind': 'sending', **sent}, answered],
                        [answered, {'kind': 'sending', **sent}]):
            told = history.read(records)
            self.assertEqual([202], [each.status for each
                                     in told.exchanges])


class BadTestCase(unittest.TestCase):
    """Each of these is one."""

    def test_two_owners(self) -> None:
        """Reservations and leases, in any mixture."""
        mine = reserved('u', 10, 100)
        for other in (reserved('v', 50, 200, who='two'),
                      shown('l', 50, 200, N, who='two')):
            self.assertEqual(['two owners'], judged(mine, other))
        self.assertEqual(['two owners'], judged(
            shown('k', 10, 100, N), shown('l', 50, 200, N)))

    def test_two_owners_are_told_once(self) -> None:
        """However often they look."""
        again = [about('v', 'show', 'GET', 50 + at, 200,
                       reservation('v', 200)) for at in range(5)]
        self.assertEqual(['two owners'],
                         judged(reserved('u', 10, 100), *again))

    def test_deployed_by_another(self) -> None:
        """Without a proof, with another one, and by nobody at all."""
        mine = reserved('u', 10, 100)
        for by in (deployed(20, 202), deployed(20, None, 'v'), None):
            self.assertEqual(
                ['done to the node of another'],
                judged(mine, *([by] if by else []),
                       wrote(30, by, provision_state='deploying')))

    def test_late_deploy_of_one_who_was_there_before(self) -> None:
        """Its answer was given up long ago, and its promise is over."""
        late = deployed(20, None, 'u', got=30)
        self.assertEqual(
            ['done to the node of another'],
            judged(reserved('u', 10, 25), late,
                   reserved('v', 40, 100, who='two'),
                   wrote(45, late, provision_state='deploying')))

    def test_undeployed_by_us(self) -> None:
        """While a lease has the node."""
        self.assertEqual(
            ['done to the node of another'],
            judged(shown('l', 10, 100, N),
                   wrote(50, provision_state='deleting')))

    def test_wrong_lessee(self) -> None:
        """Taken away, or another's."""
        mine = dataclasses.replace(shown('l', 10, 100, N), project='p')
        for lessee in (None, 'q'):
            self.assertEqual(['done to the node of another'],
                             judged(mine, wrote(50, lessee=lessee)))
        self.assertEqual(
            ['done to the node of another'],
            judged(reserved('u', 10, 100), wrote(50, lessee='q')))

    def test_bound_by_another(self) -> None:
        """An instance on a node that is reserved."""
        by = asked('bind', 'PATCH', f'/v1/nodes/{N}', 20, 200)
        self.assertEqual(['done to the node of another'], judged(
            reserved('u', 10, 100), by, wrote(20.05, by, instance_uuid='i')))

    def test_bound_by_another_of_the_project_that_leases_it(self) -> None:
        """It needs no proof; on a reserved node it does."""
        leased = dataclasses.replace(shown('l', 10, 100, N), project='p')
        reserved_by_p = reserved('u', 10, 100, project='p')
        for mine, project, proof, wrong in (
                (leased, 'p', None, 0), (leased, 'q', None, 1),
                (leased, 'p', 'v', 1), (reserved_by_p, 'p', None, 1)):
            by = asked('bind', 'PATCH', f'/v1/nodes/{N}', 20, 200,
                       project=project, proof=proof)
            self.assertEqual(
                ['done to the node of another'] * wrong,
                judged(mine, by, wrote(20.05, by, instance_uuid='i')))

    def test_put_into_maintenance_by_another(self) -> None:
        """Who has no proof; an operator may, and its own project."""
        mine = reserved('u', 10, 100, project='p')
        for op, project, wrong in (('meddle', 'q', 1), ('meddle', 'p', 0),
                                   ('operate-maintenance', None, 0)):
            by = asked(op, 'PUT', f'/v1/nodes/{N}/maintenance', 20, 202,
                       project=project)
            self.assertEqual(
                ['done to the node of another'] * wrong,
                judged(mine, by, wrote(20.05, by, maintenance=True)))

    def test_lease_that_an_operator_is_shown_is_its_projects(self) -> None:
        """Its lessee, written once more, is no other's."""
        there = lease('l', 100, N, project_id='p', start_date=date(0)[:26],
                      created_at=date(0)[:19].replace('T', ' '),
                      updated_at=None)
        mine = asked('audit', 'GET', '/v1/leases', 10, 200,
                     {'leases': [there['lease']]}, project=None)
        for lessee, wrong in (('p', 0), ('q', 1)):
            self.assertEqual(['done to the node of another'] * wrong,
                             judged(mine, wrote(50, lessee=lessee)))

    def test_put_into_maintenance_by_one_who_asked_before(self) -> None:
        """It was free when that was asked for, and is another's by now."""
        by = asked('meddle', 'PUT', f'/v1/nodes/{N}/maintenance', 9, 202,
                   got=21, project='q')
        self.assertEqual(['done to the node of another'], judged(
            by, reserved('u', 10, 100, project='p'),
            wrote(20, by, maintenance=True)))

    def test_lost_to_an_undeploy_of_before(self) -> None:
        """Ironic had it before the promise, and carried it out during it."""
        path = f'/v1/nodes/{N}/states/provision'
        by = asked('undeploy', 'PUT', path, 5, 500, got=8)
        for handed, found in ((6.0, ['lost']), (12.0, [])):
            self.assertEqual(found, judged(
                by, reserved('u', 10, 100), about('u', 'show', 'GET', 30, 404),
                passed=(history.Passed(handed, 'PUT', path, by.id),)))

    def test_lost_to_maintenance(self) -> None:
        """It suspends a promise, and never ends it."""
        by = asked('operate-maintenance', 'PUT',
                   f'/v1/nodes/{N}/maintenance', 20, 202)
        self.assertEqual(['lost'], judged(
            reserved('u', 10, 100), by, about('u', 'show', 'GET', 30, 404)))

    def test_allocated_to_another(self) -> None:
        """An allocation landed on it."""
        by = asked('allocate', 'POST', '/v1/allocations', 20, 201,
                   body={'uuid': 'a'})
        done = history.Done('allocation', 'save', 'a', 21, 21.1,
                            {'node_id': 7, 'state': 'active'})
        self.assertEqual(['done to the node of another'], judged(
            reserved('u', 10, 100), by, done, node_ids={7: N}))

    def test_lost(self) -> None:
        """Not found, on another node, or over before its time."""
        mine = reserved('u', 10, 100)
        for op, method in (('show', 'GET'), ('renew', 'PATCH'),
                           ('release', 'DELETE')):
            self.assertEqual(['lost'], judged(
                mine, about('u', op, method, 50, 404)))
        self.assertIn('lost', judged(mine, about(
            'u', 'show', 'GET', 50, 200, reservation('u', 100, M))))
        for now in (shown('l', 50, 100, M),
                    shown('l', 50, 100, N, status='TERMINATING'),
                    asked('show-lease', 'GET', '/v1/leases/l', 50, 404)):
            self.assertIn('lost', judged(shown('l', 10, 100, N), now))

    def test_proof_refused(self) -> None:
        """Of the one who has it."""
        self.assertEqual(['proof refused'], judged(
            reserved('u', 10, 100), deployed(20, 403, 'u', answer={
                'errors': [{'code': 'reservation.proof_invalid'}]})))

    def test_errors(self) -> None:
        """500, and anything above that has no name."""
        for status, answer in ((500, {'errors': [{'code': 'x'}]}),
                               (500, 'Internal Server Error'),
                               (503, None), (502, {'code': 'x'})):
            self.assertEqual(['error'], judged(asked(
                'reserve', 'POST', '/v1/reservations', 1, status, answer)))
        self.assertEqual(['error'], judged(deployed(
            1, 500, answer={'errors': [{'code': 'service.unexpected'}]})))

    def test_untrue_answer(self) -> None:
        """Nothing was promised, it said."""
        for status, answer in (
                (503, {'errors': [{'code': 'service.database',
                                   'detail': 'nothing was promised'}]}),
                (409, {'errors': [{'code': 'x'}]})):
            self.assertEqual(['untrue answer'], judged(
                asked('reserve', 'POST', '/v1/reservations', 1, status,
                      answer, body={'uuid': 'u'}),
                about('u', 'probe', 'GET', 20, 200, reservation('u', 50))))

    def test_left_over(self) -> None:
        """As the snapshot says."""
        self.assertEqual(['left over'], judged(snapshots=({
            'at': 1.0, 'waited': 61, 'phase': 'the last fault',
            'left_over': [{'about': N, 'text': 'its lessee'}],
            'tables': {}},)))

    def test_lost_in_the_end(self) -> None:
        """It is not in the tables, or there with another node."""
        told = (reserved('u', 10, 100), shown('l', 10, 100, M))
        rows = [{'uuid': 'u', 'node_uuid': N, 'lease_reservation_id': None},
                {'uuid': 'x', 'node_uuid': M, 'lease_reservation_id': 'r'}]
        for wrong, there in ((0, rows), (1, rows[:1]), (1, rows[1:]),
                             (1, [{**rows[0], 'node_uuid': M}, rows[1]])):
            self.assertEqual(['lost'] * wrong, judged(*told, snapshots=({
                'at': 50.0, 'left_over': [], 'tables': {
                    'lease_reservations': [{'id': 'r', 'lease_id': 'l'}],
                    'reservations': there}},)))

    def test_promised_beyond_what_there_is(self) -> None:
        """A node twice at one time, or more of a host than it has."""
        def listed(*leases: dict[str, Any]) -> history.Exchange:
            return asked('audit', 'GET', '/v1/leases', 5, 200,
                         {'leases': list(leases)})

        def planned(ident: str, begin: int, end: int, node: str,
                    vcpus: int = 0, state: str = 'planned', made: int = 0,
                    changed: int = 0, status: str = 'PENDING'
                    ) -> dict[str, Any]:
            return lease(
                ident, end, node, status=status, state=state,
                of={'vcpus': vcpus}, start_date=date(begin),
                created_at=date(made)[:19].replace('T', ' '),
                updated_at=date(changed)[:19].replace('T', ' '))['lease']
        here: dict[str, Any] = {'capacities': {M: {'VCPU': 16}}}
        for name, wrong, leases in (
                ('after each other', [], (planned('k', 10, 20, N),
                                          planned('l', 20, 30, N))),
                ('at once', ['promised twice'], (
                    planned('k', 10, 21, N), planned('l', 20, 30, N))),
                ('made after its start, once the node was free', [], (
                    planned('k', 10, 21, N),
                    planned('l', 20, 30, N, made=21))),
                ('moved after its start, once the node was free', [], (
                    planned('k', 10, 21, N),
                    planned('l', 20, 30, N, changed=21))),
                ('made after its start, before that', ['promised twice'], (
                    planned('k', 10, 25, N),
                    planned('l', 20, 30, N, made=21))),
                ('made before its start', ['promised twice'], (
                    planned('k', 10, 21, N),
                    planned('l', 20, 30, N, made=18))),
                ('active, and changed since', ['promised twice'], (
                    planned('k', 10, 21, N), planned(
                        'l', 20, 30, N, changed=25, status='ACTIVE'))),
                ('one is being taken back', [], (
                    planned('k', 10, 21, N, state='ending'),
                    planned('l', 20, 30, N))),
                ('they fit', [], (planned('k', 10, 20, M, 8),
                                  planned('l', 15, 30, M, 8))),
                ('they do not', ['promised twice'], (
                    planned('k', 10, 20, M, 8), planned('l', 15, 30, M, 9)))):
            with self.subTest(name):
                self.assertEqual(wrong, judged(listed(*leases), **here))

    def test_made_twice(self) -> None:
        """One key, two leases, whoever is shown them."""
        made = by_hand.leased_by_key
        self.assertEqual([], judged(made('l', 1), made('l', 2)))
        self.assertEqual(['made twice'], judged(made('l', 1), made('m', 2)))
