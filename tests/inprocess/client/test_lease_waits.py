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

"""Lists that are filtered, commands that wait, and refusals as JSON."""

from collections.abc import Iterator
import datetime
import json
import re
from typing import Any
import uuid

from ironic_reservations_client import lease
from ironic_reservations_client.sdk import leases
from tests import clients
from tests.inprocess.client import base

RESERVATION, LEASE = base.RESERVATION, base.LEASE
_TIME = re.compile(r'\d{4}-\d\d-\d\d.\d\d:\d\d')
_ISO = re.compile(r'\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{6})?\+00:00')


def _texts(found: Any) -> Iterator[str]:
    """Yield the texts in a document."""
    if isinstance(found, dict):
        found = [*found.values()]
    if isinstance(found, str):
        yield found
    elif isinstance(found, list):
        for each in found:
            yield from _texts(each)


class LeaseWaitsTest(base.LeaseTestCase):
    """Two hosts of a class of their own."""

    def _states(self, shown: dict[str, Any]) -> list[str]:
        return [node['state'] for part in shown['reservations']
                for node in part['nodes']]

    def test_started_grown_shrunk_and_ended(self) -> None:
        """Each command returns when it is so."""
        made = self.json_of(*LEASE, 'create', self.name, '--duration', '1h',
                            *self.of_kind, '--wait', '120')
        self.assertEqual(('ACTIVE', ['bound']),
                         (made['status'], self._states(made)))
        grown = self.json_of(*LEASE, 'set', self.name, '--hosts', '2',
                             '--wait', '120')
        self.assertEqual(['bound'] * 2, self._states(grown))
        self.json_of(*RESERVATION, 'deploy', self.name, '--all', '--wait',
                     '120')
        shrunk = self.json_of(*LEASE, 'set', self.name, '--give-back',
                              self.enrolled[0].name, '--wait', '120')
        self.assertEqual(['bound'], self._states(shrunk))
        self.assertEqual('available', self.provision_state(self.enrolled[0]))
        self.command(*LEASE, 'delete', self.name, '--wait', '120')
        self.assertEqual('available', self.provision_state(self.enrolled[1]))
        later = self.json_of(*LEASE, 'create', self.name, '--start-date',
                             '2050-01-01', '--duration', '1h', *self.of_kind)
        moved = self.json_of(*LEASE, 'set', later['id'], '--start-date',
                             '2050-01-02', '--end-date', '2050-01-03',
                             '--wait')
        self.assertEqual('PENDING', moved['status'])
        late = self.command(*LEASE, 'create', self.name, '--start-date',
                            '2050-01-01', '--duration', '1h', *self.of_kind,
                            '--wait', '1', status=1)
        self.assertIn('is still PENDING after 1 seconds', late.stderr)

    def test_lists(self) -> None:
        """By name, status, node and time; together, and page by page."""
        made = [self.json_of(
            *LEASE, 'create', f'{self.name}-{day}', '--start-date',
            f'2050-03-0{day}', '--duration', '1d', '--hosts', '2',
            *self.of_kind) for day in (1, 2, 3)]
        ids = [each['id'] for each in made]
        node = ('--node', self.enrolled[0].name)
        for words, wanted in (
                (node, ids),
                (('--name', f'{self.name}-2'), ids[1:2]),
                ((*node, '--status', 'pending'), ids),
                ((*node, '--status', 'ACTIVE', '--status', 'ERROR'), []),
                ((*node, '--from', '2050-03-02 01:00'), ids[1:]),
                ((*node, '--until', '2050-03-02 00:00'), ids[:1]),
                ((*node, '--from', '2050-03-02 01:00', '--until',
                  '2050-03-03'), ids[1:2]),
                ((*node, '--limit', '2'), ids[:2]),
                ((*node, '--marker', ids[0], '--limit', '1'), ids[1:2]),
                (('--node', self.nodes()[0].uuid), [])):
            self.assertEqual(wanted, [each['id'] for each in self.json_of(
                *LEASE, 'list', *words)], words)
        self.refused("'DONE' is not one of PENDING, STARTING", *LEASE, 'list',
                     '--status', 'done')
        self._check_libraries(ids)
        for each in ids:
            self.command(*LEASE, 'delete', each)

    def _check_libraries(self, ids: list[str]) -> None:
        """Check the filters of both libraries."""
        client = clients.ironic(self.ironic.url)
        conn = clients.openstacksdk(self.ironic.url)
        node = self.enrolled[0].uuid
        second = datetime.datetime(2050, 3, 2)
        for chosen, wanted in (
                ({'node': node}, ids),
                ({'name': f'{self.name}-2'}, ids[1:2]),
                ({'node': node, 'statuses': ['pending', 'ERROR']}, ids),
                ({'node': node, 'statuses': ['ACTIVE']}, []),
                ({'node': node, 'since': second}, ids[1:]),
                ({'node': node, 'until': second}, ids[:1]),
                ({'node': node, 'until': 'now'}, []),
                ({'node': node, 'since': 'now', 'limit': 2}, ids[:2])):
            for found in (lease.LeaseManager(client).list(**chosen),
                          leases.leases(conn, **chosen)):
                self.assertEqual(wanted, [each.id for each in found], chosen)

    def test_refusals_as_json(self) -> None:
        """With reasons and offers; the sentence is where it always was."""
        window = ('--start-date', '2050-04-01', '--duration', '1d',
                  *self.of_kind)
        made = self.json_of(*LEASE, 'create', self.name, '--hosts', '2',
                            *window)
        refused = self.command(*LEASE, 'create', 'other', *window, '-f',
                               'json', status=1)
        told = json.loads(refused.stdout)['error']
        self.assertEqual((409, 'lease.refused'),
                         (told['status'], told['code']))
        self.assertEqual('shortage', told['reasons'][0]['code'])
        self.assertIn('later', [each['kind'] for each in told['offers']])
        self.assertIn('[lease.refused]', refused.stderr)
        self.assertTrue(told['request_id'].startswith('req-'))
        one = self.command(*RESERVATION, 'show', str(uuid.UUID(int=1)), '-f',
                           'json', status=1)
        self.assertEqual('reservation.not_found',
                         json.loads(one.stdout)['error']['code'])
        own = self.command(*LEASE, 'set', self.name, '-f', 'json', status=1)
        self.assertEqual((None, True), (
            json.loads(own.stdout)['error']['code'],
            'No change was given' in own.stdout))
        self.command(*LEASE, 'delete', made['id'])

    def test_an_extension_takes_an_offer(self) -> None:
        """Until the latest end that is possible."""
        made = self.json_of(*LEASE, 'create', self.name, '--hosts', '2',
                            '--start-date', '2050-05-01', '--duration', '1d',
                            *self.of_kind)
        other = self.json_of(*LEASE, 'create', 'next', '--start-date',
                             '2050-05-03', '--duration', '1d', *self.of_kind)
        wanted = (*LEASE, 'set', self.name, '--extend', '3d')
        self.refused('It can be extended until 2050-05-0', *wanted)
        done = self.command(*wanted, '--accept', 'later', '--accept',
                            'shorter', '-f', 'json')
        self.assertIn('Taking the offer [shorter].', done.stderr)
        self.assertTrue(json.loads(done.stdout)['end_date'] > '2050-05-02')
        for each in (made, other):
            self.command(*LEASE, 'delete', each['id'])

    def test_json_has_one_format_of_time(self) -> None:
        """The API has three: ours, and two of Blazar's."""
        made = self.json_of(*LEASE, 'create', self.name, '--start-date',
                            '2050-06-01', '--duration', '1d', *self.of_kind)
        node, = self.nodes()
        held = self.json_of(*RESERVATION, 'create', node.name)
        window = self.json_of(
            *RESERVATION, 'maintenance', 'create', 'later', '--start-date',
            '2050-07-01', '--end-date', '2050-07-02', '--node', node.name)
        found = [made, held, window, *(
            self.json_of(*RESERVATION, *words) for words in (
                ('lease', 'show', self.name), ('lease', 'plan', self.name),
                ('lease', 'list', '--long'), ('list', '--long'),
                ('host', 'list', '--long'), ('maintenance', 'list', '--long'),
                ('availability', *self.of_kind),
                ('calendar', '--hosts', *self.of_kind)))]
        times = [each for each in _texts(found) if _TIME.match(each)]
        self.assertEqual([], [each for each in times
                              if not _ISO.fullmatch(each)])
        self.assertTrue({'2050-06-01T00:00:00+00:00',
                         '2050-07-01T00:00:00+00:00'} <= {*times})
        self.command(*LEASE, 'delete', self.name)
        self.command(*RESERVATION, 'delete', held['uuid'])
        self.command(*RESERVATION, 'maintenance', 'delete', window['uuid'])

    def test_tables_of_reservations_have_names(self) -> None:
        """Beside the UUIDs, which programs get alone."""
        node, = self.nodes()
        reserve = (*RESERVATION, 'create', node.name, '--instance',
                   str(uuid.uuid4()))
        shown = self.command(*reserve).stdout
        self.assertIn(f'{node.name} ({node.uuid})', shown)
        made = self.json_of(*reserve)
        self.assertEqual(node.uuid, made['node_uuid'])
        for words in (('show', made['uuid']), ('list', '--node', node.uuid),
                      ('renew', made['uuid'], '--ttl', '600')):
            self.assertIn(f'{node.name} ({node.uuid})',
                          self.command(*RESERVATION, *words).stdout)
        self.command(*RESERVATION, 'delete', made['uuid'])
