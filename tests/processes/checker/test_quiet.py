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


"""What is left over after a storm, and what is not."""

from __future__ import annotations

from typing import Any
import unittest

from tests.processes.checker import quiet

NODE = {'uuid': 'n', 'provision_state': 'available', 'instance_uuid': None,
        'lessee': None, 'reservation': None}
#: By a window.
MAINTAINED = {**NODE, 'maintenance': True, 'maintenance_reason':
              'fan [maintenance window 00000000-0000-4000-8000-000000000000]'}


def snapshot(nodes: tuple[dict[str, Any], ...] = (NODE,),
             allocations: tuple[dict[str, Any], ...] = (),
             **tables: Any) -> quiet.Snapshot:
    """Make a snapshot, with nothing in it but what is said."""
    return {'tables': tables, 'nodes': nodes, 'allocations': allocations,
            'now': '2050-01-01 00:00:00'}


def lease(status: str, ends_at: str = '2050-01-02 00:00:00',
          starts_at: str = '2050-01-01 10:00:00') -> dict[str, Any]:
    """Make the rows of a lease of one node."""
    return {
        'leases': [{'id': 'l', 'name': 'mine', 'status': status,
                    'project_id': 'p', 'degraded': False,
                    'starts_at': starts_at, 'ends_at': ends_at}],
        'lease_reservations': [{'id': 'r', 'lease_id': 'l'}],
        'reservations': [{'node_uuid': 'n', 'lease_reservation_id': 'r',
                          'state': 'bound'}]}


def window(state: str, starts_at: str, ends_at: str) -> dict[str, Any]:
    """Make the row of a node in a window."""
    return {'window_id': 'w', 'node_uuid': 'n', 'state': f'window_{state}',
            'lease_reservation_id': None, 'starts_at': starts_at,
            'expires_at': ends_at}


def planned_across(degraded: bool) -> quiet.Snapshot:
    """Make a snapshot with a lease that is planned across a window."""
    there = lease('PENDING')
    there['leases'][0]['degraded'] = degraded
    there['reservations'][0].update(
        state='planned', starts_at='2050-01-01 10:00:00',
        expires_at='2050-01-02 00:00:00')
    there['reservations'].append(window(
        'planned', '2050-01-01 12:00:00', '2050-01-01 13:00:00'))
    return snapshot(**there)


class QuietTestCase(unittest.TestCase):
    """Snapshots written by hand."""

    def test_nothing_there(self) -> None:
        """Nothing is left."""
        self.assertEqual([], quiet.unsettled(snapshot()))
        self.assertEqual([], quiet.left_over(snapshot()))

    def test_promise_that_goes_on(self) -> None:
        """It has settled, and is left once all should be over."""
        mine = {**NODE, 'lessee': 'p'}
        now = snapshot((mine,), **lease('ACTIVE'))
        self.assertEqual([], quiet.unsettled(now))
        self.assertEqual(3, len(quiet.left_over(now)))

    def test_reservation_that_says_what_ironic_says(self) -> None:
        """Whoever died in a deploy: it is in use, or can be tried again."""
        for state, node, settled in (
                ('reserved', {}, True), ('in_use', {}, False),
                ('reserved', {'provision_state': 'active'}, False),
                ('in_use', {'provision_state': 'deploy failed'}, True),
                ('in_use', {'instance_uuid': 'i'}, True)):
            self.assertEqual(settled, not quiet.unsettled(snapshot(
                ({**NODE, **node},), reservations=[{
                    'node_uuid': 'n', 'state': state,
                    'lease_reservation_id': None}])), (state, node))

    def test_lease_that_says_why(self) -> None:
        """A finding was not to be explained: only the lease knew why."""
        there = {**lease('DELETING')['leases'][0],
                 'waiting': 'Node n is in maintenance.'}
        for look in (quiet.unsettled, quiet.left_over):
            self.assertEqual(
                [{'about': 'l', 'text': 'the lease is DELETING, and says: '
                  'Node n is in maintenance.'}],
                look(snapshot(leases=[there])))

    def test_node_of_a_reservation_waits_for_its_undeploy(self) -> None:
        """Storms on busy machines called that a finding."""
        there = lease('DELETING')
        for name, state, settled in (
                ('reservation-u-l', 'active', True),
                ('reservation-u-l', 'available', False),
                ('mine', 'active', False)):
            left = quiet.unsettled(snapshot(
                ({**NODE, 'provision_state': state, 'lessee': None},),
                leases=[{**there['leases'][0], 'name': name}],
                lease_reservations=there['lease_reservations'],
                reservations=[{**each, 'state': 'ending'}
                              for each in there['reservations']]))
            self.assertEqual(settled, not left, (name, state, left))

    def test_what_has_not_settled(self) -> None:
        """Each of these."""
        for name, now in {
                'in flight': snapshot(in_flight_requests=[{'node_uuid': 'n'}]),
                'on the way': snapshot(
                    ({**NODE, 'lessee': None},),
                    leases=[{'id': 'l', 'name': 'mine', 'status': 'DELETING',
                             'project_id': 'p', 'degraded': False,
                             'ends_at': '2050-02'}]),
                'not over': snapshot(
                    ({**NODE, 'lessee': 'p'},),
                    **lease('ACTIVE', '2049-12-31 23:59:59')),
                'not started': snapshot(leases=[
                    lease('PENDING', starts_at='2049-12-31 23:59:59')[
                        'leases'][0]]),
                'lessee of nobody': snapshot(({**NODE, 'lessee': 'q'},)),
                'lessee not written': snapshot(**lease('ACTIVE')),
                'window': snapshot(reservations=[window(
                    'active', '2049-12-31 20:00:00', '2049-12-31 23:59:59')]),
                'planned across one': planned_across(False),
                'maintenance of no window': snapshot((MAINTAINED,)),
                'starting': snapshot(reservations=[
                    {'node_uuid': 'n', 'lease_reservation_id': None,
                     'state': 'starting'}])}.items():
            with self.subTest(name):
                self.assertEqual(1, len(quiet.unsettled(now)),
                                 quiet.unsettled(now))

    def test_one_that_is_flagged_across_a_window(self) -> None:
        """Nothing else was found for it."""
        self.assertEqual([], quiet.unsettled(planned_across(True)))

    def test_what_is_left(self) -> None:
        """Each of these."""
        for name, now in {
                'row': snapshot(reservations=[{'node_uuid': 'n'}]),
                'in flight': snapshot(in_flight_requests=[{'node_uuid': 'n'}]),
                'hold': snapshot(holds=[{'node_uuid': 'n'}]),
                'lease': snapshot(leases=[{'id': 'l', 'status': 'DELETING'}]),
                'deployed': snapshot(({**NODE, 'provision_state': 'active'},
                                      )),
                'instance': snapshot(({**NODE, 'instance_uuid': 'i'},)),
                'lessee': snapshot(({**NODE, 'lessee': 'p'},)),
                'window': snapshot(reservations=[window(
                    'planned', '2050-01-02 00:00:00',
                    '2050-01-02 01:00:00')]),
                'notice': snapshot(outbox=[
                    {'lease_id': 'l', 'outcome': None},
                    {'lease_id': 'l', 'outcome': 'delivered'}]),
                'maintenance': snapshot((MAINTAINED,)),
                'lock': snapshot(({**NODE, 'reservation': 'host'},)),
                'allocation': snapshot(allocations=({'uuid': 'a'},))}.items():
            with self.subTest(name):
                self.assertEqual(1, len(quiet.left_over(now)))

    def test_what_is_left_in_placement(self) -> None:
        """A provider, a class, and what is held."""
        now = {**snapshot(), 'placement': {
            'providers': ['p'], 'classes': ['CUSTOM_RESERVATION_1'],
            'allocations': {'n': {'consumer': {}}}}}
        self.assertEqual(3, len(quiet.left_over(now)))
