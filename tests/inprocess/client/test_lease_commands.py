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

"""``baremetal reservation lease`` and its kin, against a real Ironic.

Each test has nodes of a resource class of its own.
"""

import json
import pathlib
import uuid

import fixtures

from tests.inprocess.client import base

RESERVATION, LEASE = base.RESERVATION, base.LEASE


class LeaseCommandsTest(base.ClientTestCase):
    """An operator's and a tenant's day at the terminal."""

    def setUp(self) -> None:
        """Enroll three nodes, of which two are hosts."""
        super().setUp()
        self.kind = f'class-{uuid.uuid4().hex[:8]}'
        self.enrolled = self.nodes(3, resource_class=self.kind)
        self.imported = self.json_of(
            *RESERVATION, 'host', 'import', self.enrolled[0].name,
            self.enrolled[1].uuid, '--property', 'rack=r1')
        self.name = f'lease-{uuid.uuid4().hex[:8]}'

    def test_hosts_are_imported_once(self):
        """What is there already is left; the command can be repeated."""
        self.assertEqual({'imported': 2, 'hosts_already': 0, 'failed': 0},
                         self.imported)
        every = (*RESERVATION, 'host', 'import', '--resource-class',
                 self.kind)
        done = self.command(*every, '-f', 'json')
        self.assertEqual({'imported': 1, 'hosts_already': 2, 'failed': 0},
                         json.loads(done.stdout))
        # NOTE: no bar where there is no terminal.
        self.assertEqual('', done.stderr)
        self.assertEqual({'imported': 0, 'hosts_already': 3, 'failed': 0},
                         self.json_of('openstack', *every))
        raised = self.json_of(*LEASE, 'create', self.name, '--property',
                              'rack=r1', '--hosts', '1-3', '--start-date',
                              '+1h', '--duration', '1h', *self.of_kind(),
                              '--dry-run')
        self.assertEqual(2, len(raised['reservations'][0]['nodes']))

    def of_kind(self) -> tuple[str, str]:
        """Ask for the test's own class."""
        return '--resource-class', self.kind

    def test_a_host_is_shown_changed_and_taken_back(self):
        """By its ID, or by the name or UUID of its node."""
        first, second, third = self.enrolled
        host = (*RESERVATION, 'host')
        listed = self.json_of(*host, 'list', '--resource-class', self.kind)
        self.assertEqual(
            [(first.name, True), (second.name, True)],
            [(each['name'], each['reservable'])
             for each in listed])
        shown = self.json_of(*host, 'show', first.name)
        self.assertEqual(
            (listed[0]['id'], first.uuid, self.kind, {'rack': 'r1'}),
            (shown['id'], shown['node_uuid'], shown['resource_class'],
             shown['properties']))
        changed = self.json_of(*host, 'set', first.uuid, '--property',
                               'rack=r2', '--property', 'gpu=h100',
                               '--not-reservable')
        self.assertEqual(({'rack': 'r2', 'gpu': 'h100'}, False),
                         (changed['properties'], changed['reservable']))
        changed = self.json_of(*host, 'unset', shown['id'], '--property',
                               'rack')
        self.assertEqual({'gpu': 'h100'}, changed['properties'])
        self.assertTrue(self.json_of(*host, 'set', first.name,
                                     '--reservable')['reservable'])
        page = self.json_of(*host, 'list', '--long', '--limit', '1',
                            '--marker', shown['id'])
        self.assertEqual([(second.uuid, {'rack': 'r1'})],
                         [(each['node_uuid'], each['properties'])
                          for each in page])

        for words, told in (
                (('show', third.name), '[host.not_found]'),
                (('set', first.name), 'No change was given.'),
                (('unset', first.name, '--property', 'rack'),
                 'has no property rack.'),
                (('set', first.name, '--property', 'vcpus=1'),
                 '[request.invalid_value]'),
                (('list', '--limit', '-1'), 'non-negative --limit')):
            refused = self.command(*host, *words, status=1)
            self.assertEqual('', refused.stdout)
            self.assertIn(told, refused.stderr)
        gone = self.command(*host, 'delete', first.name, third.name, status=1)
        self.assertEqual(f'Deleted host {first.name}\n', gone.stdout)
        self.assertIn(f'Failed to delete host {third.name}: ', gone.stderr)
        csv = self.command(*host, 'list', '--resource-class', self.kind, '-f',
                           'csv', '-c', 'name')
        self.assertEqual(f'"name"\n"{second.name}"\n',
                         csv.stdout)

    def test_a_lease_is_shown_with_times_of_here(self):
        """As the service has it; with ``--local`` in the user's zone."""
        self.environment = {**self.environment, 'TZ': 'Europe/Berlin'}
        window = ('--start-date', '2050-07-01 10:00', '--duration', '2h')
        made = self.json_of(*LEASE, 'create', self.name, *window,
                            *self.of_kind(), '--local')
        self.assertEqual('2050-07-01T10:00:00+02:00', made['start_date'])
        shown = self.json_of(*LEASE, 'show', self.name)
        self.assertEqual(
            (made['id'], '2050-07-01T08:00:00+00:00'),
            (shown['id'], shown['start_date']))
        table = self.command(*LEASE, 'show', self.name, '--local').stdout
        self.assertIn('time: 2050-07-01 10:00:00 CEST', table)
        (node,) = made['reservations'][0]['nodes']
        self.assertIn(f'  {node["name"]} ({node["uuid"]}) planned ', table)
        self.assertNotIn('{', table)
        self.assertNotIn('planned None', table)
        drawn = self.command(*LEASE, 'plan', self.name, '--local').stdout
        self.assertIn('2050-07-01 10:00:00 CEST until', drawn)
        other = self.json_of(*LEASE, 'create', self.name, '--start-date',
                             '2050-07-02 10:00', '--duration', '2h',
                             *self.of_kind())
        self.refused('Use the id of one of them.', *LEASE, 'show', self.name)
        for each in (made, other):
            self.command(*LEASE, 'delete', each['id'])
        self.refused('[lease.not_found]', *LEASE, 'show', str(uuid.uuid4()))

    def test_what_cannot_be_imported_is_told(self):
        """By node, while the others are; the status says so."""
        node = self.enrolled[2]
        done = self.command(
            *RESERVATION, 'host', 'import', node.name, '--property',
            'vcpus=1', '-f', 'json', status=1)
        self.assertEqual({'imported': 0, 'hosts_already': 0, 'failed': 1},
                         json.loads(done.stdout))
        self.assertIn(f'{node.name}: ', done.stderr)
        self.assertIn('[request.invalid_value]', done.stderr)
        self.refused('no node of the resource class', *RESERVATION, 'host',
                     'import', '--resource-class', 'no-such-class')

    def test_refused_with_offers_one_of_which_is_taken(self):
        """The same window for one host more than there is."""
        window = ('--start-date', '2050-01-01 10:00', '--duration', '2h')
        made = self.json_of(*LEASE, 'create', self.name, '--hosts', '2',
                            *window, *self.of_kind())
        self.assertEqual(
            ('PENDING', '2050-01-01T10:00:00+00:00',
             '2050-01-01T12:00:00+00:00'),
            (made['status'], made['start_date'], made['end_date']))
        nodes = made['reservations'][0]['nodes']
        self.assertEqual({node.name for node in self.enrolled[:2]},
                         {node['name'] for node in nodes})

        other = (*LEASE, 'create', 'other', *window, *self.of_kind())
        refused = self.command(*other, status=1)
        self.assertEqual('', refused.stdout)
        for words in (
                '[lease.refused] (HTTP 409)',
                '\n  reservation 0: 1 host missing at '
                '2050-01-01 10:00:00 UTC [shortage]',
                'in the way: 2 hosts from 2050-01-01 10:00:00 UTC until '
                '2050-01-01 12:00:00 UTC, of your lease',
                '\n  offer: The nearest later window is from 2050-01-01 '
                '12:00'):
            self.assertIn(words, refused.stderr)
        self.refused('[lease.refused]', *other, '--dry-run')

        taken = self.command(*other, '--accept', 'shorter', '--accept',
                             'later', '-f', 'json')
        self.assertIn('Taking the offer [', taken.stderr)
        self.assertNotEqual(made['start_date'],
                            json.loads(taken.stdout)['start_date'])
        self.command(*LEASE, 'delete', json.loads(taken.stdout)['id'])

    def test_a_dry_run_says_who_makes_room(self):
        """A lease that gets the other host, by name; and nothing is done."""
        window = ('--start-date', '2050-05-01 10:00', '--duration', '2h',
                  *self.of_kind())
        for number, node in enumerate(self.enrolled[:2]):
            self.json_of(*RESERVATION, 'host', 'set', node.uuid,
                         '--property', f'rack=own{number}')
        made = self.json_of(*LEASE, 'create', self.name, *window)
        left = made['reservations'][0]['nodes'][0]['uuid']
        number = [node.uuid for node in self.enrolled].index(left)
        wanted = ('--property', f'rack=own{number}')
        tried = (*LEASE, 'create', 'other', *window, *wanted, '--dry-run')
        move, = self.json_of(*tried)['moves']['leases']
        self.assertEqual(
            (made['id'], self.name, 0,
             [{'from': left, 'to': self.enrolled[1 - number].uuid}]),
            tuple(move[key] for key in ('id', 'name', 'shift', 'nodes')))
        self.assertIn(f'To make room, {self.name} would move to 1 other '
                      'host.', ' '.join(self.command(
                          *tried).stdout.split()))
        again = self.json_of(*LEASE, 'show', self.name)
        self.assertEqual(left, again['reservations'][0]['nodes'][0]['uuid'])
        self.assertNotIn('moves', again)

        later = self.json_of(
            *LEASE, 'create', 'other', '--start-date', '2050-05-01 08:00',
            '--duration', '2h', *self.of_kind(), *wanted)
        extended = self.json_of(*LEASE, 'set', later['id'], '--extend', '1h',
                                '--dry-run')
        self.assertEqual([made['id']], [
            each['id'] for each in extended['moves']['leases']])
        for each in (made, later):
            self.command(*LEASE, 'delete', each['id'])

    def test_changed_listed_given_back_and_ended(self):
        """The day of a lease that never starts."""
        asked = (*LEASE, 'create', self.name, '--hosts', '2', '--start-date',
                 '2050-02-01 10:00', '--end-date', '2050-02-01 12:00',
                 *self.of_kind(), '--key', self.name)
        made = self.json_of(*asked)
        self.assertEqual(made['id'], self.json_of(*asked)['id'])

        longer = self.json_of(*LEASE, 'set', self.name, '--extend', '30m')
        self.assertEqual('2050-02-01T12:30:00+00:00', longer['end_date'])
        tried = self.json_of(*LEASE, 'set', self.name, '--shorten', '1h',
                             '--dry-run')
        self.assertEqual('2050-02-01T11:30:00+00:00', tried['end_date'])
        smaller = self.json_of(*LEASE, 'set', made['id'], '--give-back',
                               self.enrolled[0].name)
        reservation, = smaller['reservations']
        self.assertEqual(
            (1, [self.enrolled[1].uuid]),
            (reservation['min'], [node['uuid'] for node in
                                  reservation['nodes']]))
        self.refused('No change was given.', *LEASE, 'set', made['id'])

        listed = [each for each in self.json_of(*LEASE, 'list', '--long')
                  if each['id'] == made['id']]
        self.assertEqual([(self.name, '2050-02-01T12:30:00+00:00', 1)],
                         [(each['name'], each['end_date'], each['nodes'])
                          for each in listed])
        gone = self.command(*LEASE, 'delete', self.name)
        self.assertEqual(f'Deleted lease {self.name}\n', gone.stdout)
        self.refused('[lease.not_found]', *LEASE, 'delete', made['id'])

    def test_the_window_of_open_dates_changes(self):
        """And so do the duration, and when it is fixed."""
        made = self.json_of(
            *LEASE, 'create', self.name, '--between', '2050-02-01 10:00',
            '2050-02-09 10:00', '--duration', '1d', *self.of_kind())
        changed = self.json_of(
            *LEASE, 'set', self.name, '--between', '2050-03-01 10:00',
            '2050-03-09 10:00', '--duration', '2d', '--fix-before', '1h')
        self.assertEqual(
            (['2050-03-01T10:00:00+00:00', '2050-03-09T10:00:00+00:00'],
             2 * 86400, 3600, '2050-03-01T10:00:00+00:00'),
            tuple(changed[key] for key in (
                'between', 'duration', 'fix_before', 'start_date')))
        for options in (('--duration', '1d', '--start-date', '+1d'),
                        ('--fix-before', '1h', '--extend', '1d')):
            self.refused('leaves the dates open', *LEASE, 'set', self.name,
                         *options)
        self.command(*LEASE, 'delete', made['id'])

    def test_instances(self):
        """By sizes or by a flavor's file, together or apart."""
        kind = f'sized-{uuid.uuid4().hex[:8]}'
        for node in self.nodes(2, resource_class=kind):
            self.command('baremetal', 'node', 'set', node.uuid, *(
                word for size in ('cpus=8', 'memory_mb=4096', 'local_gb=40')
                for word in ('--property', size)))
        self.command(*RESERVATION, 'host', 'import', '--resource-class',
                     kind)
        window = ('--start-date', '2050-06-01 10:00', '--duration', '2h',
                  '--resource-class', kind)
        made = self.json_of(
            *LEASE, 'create', self.name, '--instances', '1', '--vcpus', '4',
            '--ram', '2048', '--anti-affinity', *window)
        reservation, = made['reservations']
        self.assertEqual(
            ('virtual:instance', 1, 4, 2048, 0, False),
            tuple(reservation[key] for key in (
                'resource_type', 'amount', 'vcpus', 'memory_mb', 'disk_gb',
                'affinity')))
        more = self.json_of(*LEASE, 'set', made['id'], '--instances', '2')
        self.assertEqual(2, len(more['reservations'][0]['nodes']))
        self.command(*LEASE, 'delete', made['id'])

        file = pathlib.Path(self.useFixture(fixtures.TempDir()).path, 'f')
        file.write_text(json.dumps({
            'id': '7', 'name': 'small', 'vcpus': 8, 'ram': 1024, 'disk': 10,
            'properties': {}}))
        of_flavor = self.json_of(
            *LEASE, 'create', self.name, '--instances', '2', '--flavor-file',
            str(file), *window)
        self.assertEqual('flavor:instance',
                         of_flavor['reservations'][0]['resource_type'])
        for words, said in (
                (('--instances', '1', '--vcpus', '9'), '[no_host_matches]'),
                (('--instances', '2', '--vcpus', '1', '--affinity'),
                 '[no_host_takes_all]'),
                (('--instances', '1'), 'Set the size of the instances either'),
                (('--vcpus', '1'), '--vcpus applies to instances'),
                (('--instances', '1', '--flavor', 'x', '--vcpus', '1'),
                 'either with --vcpus')):
            self.refused(said, *LEASE, 'create', 'no', *words, *window)

    def test_availability(self):
        """As data, and as a chart."""
        self.json_of(*LEASE, 'create', self.name, '--start-date',
                     '2050-03-01 10:00', '--end-date', '2050-03-01 12:00',
                     *self.of_kind())
        asked = (*RESERVATION, 'availability', *self.of_kind(), '--from',
                 '2050-03-01 08:00', '--until', '2050-03-01 16:00',
                 '--hosts', '2', '--duration', '3h')
        found = self.json_of(*asked)
        self.assertEqual('2050-03-01T12:00:00+00:00', found['earliest'])
        self.assertEqual(
            [(self.kind, 2, [('08', 2), ('10', 1), ('12', 2)])],
            [(each['resource_class'], each['hosts'],
              [(span['start_date'][11:13], span['free'])
               for span in each['spans']]) for each in found['classes']])
        drawn = self.command(*asked).stdout
        self.assertIn(f'{self.kind}  2 hosts, at least 1 free', drawn)
        self.assertIn('Earliest start for 2 hosts for 3h: 2050-03-01 '
                      '12:00:00 UTC', drawn)
        self.assertNotIn('\x1b', drawn)
        slots = self.json_of(*asked, '--slots', '3')['slots']
        self.assertEqual(
            [('2050-03-01T12:00:00+00:00', '2050-03-01T15:00:00+00:00')],
            [(each['start_date'], each['end_date']) for each in slots])
        drawn = self.command(*asked, '--slots', '3').stdout
        self.assertIn('  2050-03-01 12:00:00 UTC until 2050-03-01 15:00:00 '
                      'UTC', drawn)
        for words, said in ((('--slots', '3'), 'use --hosts and --duration'),
                            (('--slots', '21'), 'from 1 to 20')):
            refused = self.command(*RESERVATION, 'availability', *words,
                                   status=1 if '3' in words else 2)
            self.assertIn(said, refused.stderr)
        self.refused('use both --hosts and --duration', *RESERVATION,
                     'availability', '--hosts', '2')

    def test_the_plan_of_a_lease(self):
        """Drawn by default; some columns if they are asked for."""
        self.json_of(*LEASE, 'create', self.name, '--start-date',
                     '2050-04-01 10:00', '--end-date', '2050-04-01 12:00',
                     *self.of_kind())
        drawn = self.command(*LEASE, 'plan', self.name).stdout
        for words in (f'{self.name}  PENDING', '2050-04-01 10:00:00 UTC '
                      'until 2050-04-01 12:00:00 UTC (2h)', 'planned',
                      'available', 'UNDONE'):
            self.assertIn(words, drawn)
        self.assertTrue(any(node.name in drawn for node in self.enrolled))
        shown = self.command(*LEASE, 'plan', self.name, '-f', 'value', '-c',
                             'status')
        self.assertEqual('PENDING\n', shown.stdout)
        self.refused("no lease 'no-such-lease'", *LEASE, 'plan',
                     'no-such-lease')
        self.refused('is still PENDING after 1 seconds', *LEASE, 'plan',
                     self.name, '--wait', '1')

    def test_times_that_cannot_be(self):
        """The command says how to write them, and asks nobody."""
        for option, text, hint in (
                ('--end-date', 'tomorrow', '+4h'),
                ('--duration', 'long', '1h30m'),
                ('--hosts', 'two', '2-4')):
            done = self.command(*LEASE, 'create', 'x', option, text,
                                status=2)
            self.assertIn(hint, done.stderr)
