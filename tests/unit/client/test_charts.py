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

"""The charts of the commands, at a fixed width."""

from __future__ import annotations

import datetime
import io

import fixtures
from hypothesis import given
from hypothesis import strategies as st
import testtools

from ironic_reservations_client.charts import availability
from ironic_reservations_client.charts import lease
from ironic_reservations_client.charts import timescale
from ironic_reservations_client.osc import zone
from tests.unit.client import zones
from tests.unit.client.terminal import drawn

NOON = datetime.datetime(2030, 1, 31, 12, tzinfo=datetime.UTC)
HOUR = datetime.timedelta(hours=1)
LEASE = {
    'id': 'lease-id', 'name': 'training', 'status': 'PENDING',
    'start_date': '2030-01-31T14:00:00.000000',
    'end_date': '2030-01-31T16:00:00.000000', 'waiting': None,
    'degraded': False, 'degraded_reason': None, 'between': None,
    'fixed': True, 'queued': False,
    'events': [{'event_type': kind, 'time': f'2030-01-31T{hour}:00:00.000000',
                'status': 'UNDONE'} for kind, hour in (
                    ('end_lease', 16), ('start_lease', 14),
                    ('before_end_lease', 15))],
    'reservations': [{
        'id': 'reservation-id', 'status': 'pending', 'min': 1, 'max': 2,
        'hypervisor_properties': '',
        'resource_properties': '["==", "$resource_class", "gold"]',
        'missing_resources': False, 'resources_changed': False,
        'nodes': [
            {'uuid': 'node-uuid', 'name': 'gold-1', 'state': 'planned',
             'provision_state': 'available'},
            {'uuid': 'other-uuid', 'name': None, 'state': 'planned',
             'provision_state': None}]}]}


def spans(*frees):
    """Return an hour from noon on for each number of free hosts."""
    return [{'start_date': (NOON + place * HOUR).isoformat(),
             'end_date': (NOON + (place + 1) * HOUR).isoformat(),
             'free': free} for place, free in enumerate(frees)]


def found(*classes, hours=4, earliest=None):
    """Return an answer of the service."""
    return {'start_date': NOON.isoformat(),
            'end_date': (NOON + hours * HOUR).isoformat(),
            'earliest': earliest, 'classes': list(classes)}


def of_class(name, hosts, *frees):
    """Return one class of an answer."""
    return {'resource_class': name, 'hosts': hosts, 'spans': spans(*frees)}


class AvailabilityChartTest(testtools.TestCase):
    """Bars of free hosts."""

    def test_bars_over_time(self):
        """Of four hosts, all, none, half and all are free for an hour each."""
        self.assertEqual(
            ['Free hosts from 2030-01-31 12:00:00 UTC',
             'until 2030-01-31 16:00:00 UTC', '',
             'gold  4 hosts, at least 0 free (from',
             '2030-01-31 13:00:00 UTC until 2030-01-31',
             '14:00:00 UTC)',
             '4 │█████████                  █████████',
             '  │█████████                  █████████',
             '  │█████████         ██████████████████',
             '0 │█████████         ██████████████████',
             '   12:00             14:00        16:00'],
            drawn(availability.AvailabilityChart(found(
                of_class('gold', 4, 4, 0, 2, 4))), width=40))

    def test_the_earliest_start(self):
        """The chart shows it, or that there is none."""
        told = found(of_class('gold', 4, 4), hours=1,
                     earliest='2030-01-31T13:00:00.000000')
        self.assertEqual('4 for 4h: 2030-01-31 13:00:00 UTC', drawn(
            availability.AvailabilityChart(told, '4 for 4h'))[-1])
        told['earliest'] = None
        self.assertEqual('4 for 4h: not within a year', drawn(
            availability.AvailabilityChart(told, '4 for 4h'))[-1])

    def test_slots(self):
        """Slots are one a line; otherwise a line says that there are none."""
        told = found(of_class('gold', 4, 4), hours=1,
                     earliest='2030-01-31T13:00:00.000000')
        told['slots'] = [{'start_date': f'2030-01-31T{hour}:00:00.000000',
                          'end_date': f'2030-01-31T{hour + 1}:00:00.000000'}
                         for hour in (13, 15)]
        self.assertEqual(
            ['', 'The first possible starts in this period:',
             '  2030-01-31 13:00:00 UTC until 2030-01-31 14:00:00 UTC',
             '  2030-01-31 15:00:00 UTC until 2030-01-31 16:00:00 UTC'],
            drawn(availability.AvailabilityChart(told, '4 for 1h'),
                  width=80)[-4:])
        told['slots'] = []
        self.assertEqual('No start is possible in this period.', drawn(
            availability.AvailabilityChart(told, '4 for 1h'))[-1])

    def test_in_the_zone_of_the_machine(self):
        """Labels and sentences are local, with the name of the zone."""
        self.useFixture(zones.Zone('Europe/Berlin'))
        lines = drawn(availability.AvailabilityChart(found(
            of_class('gold', 4, 4, 0, 2, 4)), local=True), width=90)
        self.assertEqual('Free hosts from 2030-01-31 13:00:00 CET until '
                         '2030-01-31 17:00:00 CET', lines[0])
        self.assertIn('(from 2030-01-31 14:00:00 CET until', lines[2])
        self.assertRegex(lines[-1], '^   13:00 +15:00 +17:00$')

    def test_no_hosts_of_that_kind(self):
        """A sentence says so."""
        self.assertIn('No host matches.', drawn(
            availability.AvailabilityChart(found()), width=80))

    def test_many_classes_take_a_line_each(self):
        """Nodes without a class have a name as well."""
        lines = drawn(availability.AvailabilityChart(found(
            *(of_class(f'c{each}', 2, 2, 1) for each in range(9)),
            of_class(None, 2, 0, 2), hours=2)), width=60)
        self.assertEqual(10, len([line for line in lines if '│' in line]))
        self.assertTrue(any(line.startswith('(no resource class)')
                            for line in lines))

    def test_a_terminal_without_blocks(self):
        """The output is ASCII only, and nothing fails."""
        lines = drawn(availability.AvailabilityChart(found(
            of_class('gold', 4, 4, 0, 3, 4))), encoding='ascii')
        self.assertIn('4 |#########                  #########', lines)

    def test_a_narrow_terminal(self):
        """The output is short, without an error."""
        self.assertTrue(drawn(availability.AvailabilityChart(found(
            of_class('gold', 4, 4, 0, 3, 4))), width=8))

    def test_rows_do_not_wrap_in_a_very_narrow_terminal(self):
        """The bars went on in the next line, and the drawing was broken."""
        self.useFixture(fixtures.EnvironmentVariable('COLUMNS', '20'))
        out = io.StringIO()
        zone.screen(out).print(availability.AvailabilityChart(found(
            of_class('gold', 4, 4, 0, 3, 4))))
        for line in out.getvalue().splitlines():
            self.assertNotRegex(line, '^ *[▁▂▃▄▅▆▇█ ]+$')

    def test_colours_are_for_terminals(self):
        """A pipe gets no colours."""
        what = availability.AvailabilityChart(found(of_class('gold', 4, 1)))
        self.assertNotIn('\x1b', ''.join(drawn(what)))
        self.assertIn('\x1b', ''.join(drawn(what, force_terminal=True,
                                            color_system='standard')))

    @given(st.lists(st.integers(0, 9), min_size=1, max_size=60),
           st.integers(1, 50))
    def test_what_is_shown_can_be_had(self, frees, columns):
        """A column never shows more than is free at any time of it."""
        scale = timescale.Timescale(NOON, NOON + len(frees) * HOUR, columns)
        shown = availability.lowest(spans(*frees), scale)
        self.assertEqual(columns, len(shown))
        for column, number in enumerate(shown):
            begin = (scale.edge(column) - NOON) / HOUR
            end = (scale.edge(column + 1) - NOON) / HOUR
            inside = [free for place, free in enumerate(frees)
                      if place < end - 1e-6 and place + 1 > begin + 1e-6]
            self.assertLessEqual(number, min(inside))
            self.assertGreaterEqual(number, min(frees))


class LeasePlanTest(testtools.TestCase):
    """The window and the nodes of a lease."""

    def test_ahead(self):
        """The chart shows the lease, its window and its nodes."""
        lines = drawn(lease.LeasePlan(LEASE, NOON), width=73)
        self.assertEqual(
            ['training  PENDING  lease-id',
             '2030-01-31 14:00:00 UTC until 2030-01-31 16:00:00 UTC (2h); '
             'starts in 2h', '',
             '  ┃' + '·' * 34 + '▒' * 35,
             '  12:00' + ' ' * 30 + '14:00' + ' ' * 25 + '16:00'], lines[:5])
        told = '\n'.join(lines)
        for words in ('start         2030-01-31 14:00:00 UTC   UNDONE',
                      'Reservation reservation-id  pending',
                      '1 to 2 hosts with ["==", "$resource_class", "gold"]',
                      'gold-1   node-uuid    planned   available',
                      '-        other-uuid   planned   -'):
            self.assertIn(words, told)
        self.assertLess(told.index('start '), told.index('end is near'))

    def test_in_the_zone_of_the_machine(self):
        """The window, its labels and the events are local."""
        self.useFixture(zones.Zone('Asia/Tokyo'))
        lines = drawn(lease.LeasePlan(LEASE, NOON, local=True), width=73)
        self.assertIn('2030-01-31 23:00:00 JST until 2030-02-01 01:00:00 JST '
                      '(2h);', ' '.join(lines))
        self.assertTrue(any(line.startswith('  21:00') for line in lines))
        self.assertIn('start         2030-01-31 23:00:00 JST   UNDONE',
                      '\n'.join(lines))

    def test_open_dates(self):
        """A line says until when they can change."""
        loose = {**LEASE, 'fix_before': 3600, 'fixed': False, 'between': [
            '2030-01-31T13:00:00.000000', '2030-02-01T13:00:00.000000']}
        late = NOON + datetime.timedelta(hours=3)
        for plan, now, told in (
                (loose, NOON, 'Not fixed: may be moved between 2030-01-31 '
                 '13:00:00 UTC and 2030-02-01 13:00:00 UTC, until 1h before '
                 'its start'),
                ({**loose, 'fixed': True}, NOON,
                 'Fixed: its dates no longer change automatically'),
                ({**loose, 'fixed': True}, late, None),
                ({**LEASE, 'fixed': True, 'between': None}, NOON, None)):
            lines = [line for line in drawn(lease.LeasePlan(plan, now),
                                            width=120) if 'ixed' in line]
            self.assertEqual([told] if told else [], lines)

    def test_instances(self):
        """A line shows their number and size."""
        host = LEASE['reservations'][0]
        sized = {key: value for key, value in host.items() if key not in (
            'min', 'max', 'hypervisor_properties')}
        sized.update(resource_type='virtual:instance', amount=2, vcpus=4,
                     memory_mb=1024, disk_gb=10, affinity=None,
                     resource_properties='')
        plan = {**LEASE, 'reservations': [sized, host, {
            **sized, 'resource_properties': '["==", "$gpu", "h100"]'}]}
        told = '\n'.join(drawn(lease.LeasePlan(plan, NOON), width=120))
        for words in ('2 instances of 4 vcpus, 1024 MB of memory, 10 GB of '
                      'disk\n', '1 to 2 hosts with',
                      '10 GB of disk, on hosts with ["==", "$gpu", "h100"]'):
            self.assertIn(words, told)

    def test_nodes_that_are_lent(self):
        """The end of each loan is below the nodes."""
        one, other = LEASE['reservations'][0]['nodes']
        plan = {**LEASE, 'reservations': [{
            **LEASE['reservations'][0], 'nodes': [
                {**one, 'lent_until': '2030-02-01T10:30:00.000000'},
                {**other, 'lent_until': None}]}]}
        self.assertEqual(
            'Lent by another project, at present until 2030-02-01 10:30:00 '
            'UTC at the latest: gold-1',
            drawn(lease.LeasePlan(plan, NOON), width=120)[-1])

    def test_leases_that_would_make_room(self):
        """Own leases are named; those of others are counted."""
        own = [{'name': 'open', 'shift': 4 * 3600, 'nodes': []},
               {'name': 'back', 'shift': -60, 'nodes': [{}, {}]},
               {'name': 'there', 'shift': 0, 'nodes': [{}]}]
        for moves, said in (
                ({'leases': own, 'others': 2},
                 'To make room, open would start 4h later; back would start '
                 '1m earlier and move to 2 other hosts; there would move '
                 'to 1 other host; 2 leases of others would move.'),
                ({'leases': [], 'others': 1},
                 'To make room, 1 lease of others would move.')):
            self.assertIn(said, drawn(lease.LeasePlan(
                {**LEASE, 'moves': moves}, NOON), width=250))
        for nothing in ({}, {'moves': None},
                        {'moves': {'leases': [], 'others': 0}}):
            self.assertNotIn('To make room', '\n'.join(drawn(
                lease.LeasePlan({**LEASE, **nothing}, NOON))))

    def test_running(self):
        """The past part is shown apart from the rest."""
        plan = {**LEASE, 'status': 'ACTIVE'}
        lines = drawn(lease.LeasePlan(plan, NOON + 3 * HOUR), width=43)
        self.assertIn('  ' + '█' * 20 + '┃' + '▒' * 19, lines)
        self.assertIn('ends in 1h', '\n'.join(lines))

    def test_over(self):
        """A line says so."""
        lines = drawn(lease.LeasePlan(LEASE, NOON + 6 * HOUR), width=90)
        self.assertIn('ended 2h ago', lines[1])

    def test_what_it_waits_for(self):
        """A line shows the fault as well."""
        plan = {**LEASE, 'waiting': 'node gold-1 is cleaning',
                'degraded': True, 'reservations': [
                    {**LEASE['reservations'][0], 'missing_resources': True,
                     'resources_changed': True}]}
        told = '\n'.join(drawn(lease.LeasePlan(plan, NOON), width=120))
        for words in ('Waiting for: node gold-1 is cleaning', 'Degraded',
                      'fewer hosts than it was promised', 'was replaced'):
            self.assertIn(words, told)

    def test_a_terminal_without_blocks(self):
        """The output is ASCII only, and nothing fails."""
        lines = drawn(lease.LeasePlan(LEASE, NOON), width=72,
                      encoding='ascii')
        self.assertIn('  |' + '.' * 33 + '=' * 35, lines)

    def test_labels_of_years_have_the_year(self):
        """The axis of more than a year had months without years."""
        for days, label in ((364, '01-31 12:00'), (365, '2030-01-31')):
            line = timescale.Timescale(
                NOON, NOON + datetime.timedelta(days=days), 60).labels()
            self.assertEqual(label, line.plain[:len(label)])

    def test_identifiers_are_never_cut(self):
        """A narrow terminal wraps them."""
        told = ''.join(drawn(lease.LeasePlan(LEASE, NOON), width=30))
        self.assertNotIn('…', told)
