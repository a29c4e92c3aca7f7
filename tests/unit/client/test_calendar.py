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

"""The chart of the calendar, and the joining of its pages."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
import testtools

from ironic_reservations_client import calendar
from ironic_reservations_client.charts import calendar as chart
from tests.unit.client import terminal
from tests.unit.client import zones

HOUR = 3600


def of_class(name, hosts, *steps, **conditions):
    """Return one class of a calendar."""
    return {'resource_class': name, 'hosts': hosts, 'steps': steps,
            'conditions': {'usable': hosts, **conditions}}


def host(ident, *bookings, name=None, kind='gold', condition='usable'):
    """Return one row of a calendar."""
    return {'id': ident, 'name': name, 'resource_class': kind,
            'condition': condition, 'bookings': bookings,
            'maintenances': []}


def found(*classes, hosts=(), leases=(), hours=4):
    """Return a calendar of some hours from noon on."""
    return {'origin': '2030-01-31T12:00:00Z', 'end': hours * HOUR,
            'now': 0, 'classes': classes, 'hosts': hosts, 'leases': leases,
            'maintenances': [], 'links': []}


OURS = {'id': 'ours', 'own': True}
THEIRS = {'id': None, 'own': False}


class CalendarChartTest(testtools.TestCase):
    """Bars for classes, and a line for each host."""

    def test_classes(self):
        """All, none and half of four hosts are free."""
        self.assertEqual(
            ['Hosts from 2030-01-31 12:00:00 UTC until 2030-01-31 16:00:00 '
             'UTC', '',
             'gold  4 hosts, at least 0 free (from 2030-01-31 13:00:00 UTC '
             'until 2030-01-31', '14:00:00 UTC)',
             '  1 broken',
             '4 │' + '█' * 19,
             '  │' + '█' * 19,
             '  │' + '█' * 19 + ' ' * 19 + '█' * 38,
             '0 │' + '█' * 19 + ' ' * 19 + '█' * 38,
             '   12:00' + ' ' * 33 + '14:00' + ' ' * 28 + '16:00'],
            [line.rstrip() for line in terminal.drawn(
                chart.CalendarChart(found(of_class(
                    'gold', 4, (0, 4), (HOUR, 0), (2 * HOUR, 2),
                    broken=1))), width=80)])

    def test_hosts(self):
        """The chart shows the holder of each host; without a name, by its ID.
        """
        lines = terminal.drawn(chart.CalendarChart(found(
            of_class('gold', 3, (0, 1)), hosts=(
                host('1', (0, HOUR, 1, 0, 0), (2 * HOUR, 3 * HOUR, 0, 1, 0),
                     name='gold-1'),
                host('2', (HOUR, 2 * HOUR, 2, -1, 0)),
                host('3', name='gold-3', condition='broken'),
                host('4', kind='silver')),
            leases=(OURS, THEIRS))), width=29)
        self.assertIn('gold-1 │█████·····▒▒▒▒▒·····', lines)
        self.assertIn('host 2 │·····▓▓▓▓▓··········', lines)
        self.assertIn('gold-3 │' + '×' * 20, lines)
        self.assertNotIn('host 4', ' '.join(lines))
        self.assertEqual('· free × broken ▒ planned █ leased ▓ reserved',
                         ' '.join(' '.join(lines[-2:]).split()))

    def test_maintenance_windows(self):
        """After the window in progress, its host is free again."""
        lines = terminal.drawn(chart.CalendarChart(found(
            of_class('gold', 2, (0, 1)), hosts=(
                {**host('1', (0, HOUR, 0, 0, 0), name='gold-1'),
                 'maintenances': [(HOUR, 2 * HOUR, 0, -1)]},
                {**host('2', name='gold-2', condition='maintenance'),
                 'maintenances': [(0, 2 * HOUR, 1, 0)]}),
            leases=(OURS,))), width=29)
        self.assertIn('gold-1 │▒▒▒▒▒┆┆┆┆┆··········', lines)
        self.assertIn('gold-2 │╫╫╫╫╫╫╫╫╫╫··········', lines)
        self.assertEqual(
            '· free ┆ maintenance window ╫ maintenance window under way '
            '▒ planned', ' '.join(' '.join(lines[-4:]).split()))

    def test_legend_keeps_signs_with_their_words(self):
        """A line of the legend ended between a sign and its words."""
        shown = found(
            of_class('gold', 1, (0, 1)), leases=(OURS,), hosts=(
                host('1', (0, HOUR, 0, 0, 0), (HOUR, 2 * HOUR, 1, 0, 0),
                     (2 * HOUR, 3 * HOUR, 2, 0, 0)),))
        pairs = ['· free', '▒ planned', '█ leased', '▓ reserved']
        for width in range(24, 60):
            lines = terminal.drawn(chart.CalendarChart(shown), width=width)
            legend = lines[len(lines) - lines[::-1].index(''):]
            self.assertEqual(pairs, [
                pair for line in legend for pair in line.split('   ')])

    def test_nothing_is_open(self):
        """A sentence says so."""
        self.assertIn('No node is open to leases here.',
                      terminal.drawn(chart.CalendarChart(found()),
                                     width=80))

    def test_a_terminal_without_blocks(self):
        """The output is ASCII only, and nothing fails; long names are cut."""
        lines = terminal.drawn(chart.CalendarChart(found(
            of_class('gold', 1, (0, 1)), hosts=(
                host('1', (0, HOUR, 1, 0, 0), name='a-very-long-name'),),
            leases=(OURS,))), width=40, encoding='ascii')
        self.assertTrue(any(line.startswith('a-very-long-> |#') for line in
                            lines), lines)

    def test_in_the_zone_of_the_machine(self):
        """The window and its labels are local."""
        self.useFixture(zones.Zone('Asia/Tokyo'))
        lines = terminal.drawn(chart.CalendarChart(
            found(of_class('gold', 1, (0, 1))), local=True), width=80)
        self.assertIn('Hosts from 2030-01-31 21:00:00 JST until 2030-02-01 '
                      '01:00:00 JST', lines)

    @given(st.lists(st.tuples(st.integers(0, 100), st.integers(1, 50),
                              st.integers(0, 2)), max_size=5))
    def test_what_is_drawn_free_is_free(self, spans):
        """A column with a booking never looks free."""
        bookings = [(start * 60, (start + length) * 60, had, -1, 0)
                    for start, length, had in spans]
        lines = terminal.drawn(chart.CalendarChart(found(
            of_class('gold', 1, (0, 1)), hosts=(host('1', *bookings),),
            hours=3)), width=80)
        row = next(line for line in lines if line.startswith('host 1'))
        cells = row.partition('│')[2]
        scale = len(cells) / (3 * HOUR)
        for start, end, _had, _lease, _amount in bookings:
            inside = cells[int(start * scale):int((end - 1) * scale) + 1]
            self.assertNotIn('·', inside)


class PagesTest(testtools.TestCase):
    """Each page numbers its own leases."""

    def test_a_lease_on_two_pages_is_one(self):
        """Leases without an id stay separate."""
        whole = found(hosts=[host('1', (0, 1, 0, 0, 0), (1, 2, 0, 1, 0))],
                      leases=[OURS, THEIRS])
        calendar.add_page(whole, found(hosts=[
            host('2', (0, 1, 0, 1, 0), (1, 2, 0, 0, 0), (2, 3, 2, -1, 0),
                 (3, 4, 1, 2, 5))],
            leases=[THEIRS, OURS, {'id': 'other', 'own': True}]))
        self.assertEqual([OURS, THEIRS, THEIRS, {'id': 'other', 'own': True}],
                         whole['leases'])
        self.assertEqual([[0, 1, 0, 0, 0], [1, 2, 0, 2, 0],
                          [2, 3, 2, -1, 0], [3, 4, 1, 3, 5]],
                         whole['hosts'][1]['bookings'])

    def test_a_maintenance_window_on_two_pages_is_one(self):
        """A caller without the right to see it has neither."""
        firmware, disks = ({'uuid': name, 'name': name, 'reason': name}
                           for name in ('firmware', 'disks'))
        whole = {**found(hosts=[{**host('1'), 'maintenances': [
            [0, 1, 0, 0]]}]), 'leases': [], 'maintenances': [firmware]}
        calendar.add_page(whole, {**found(hosts=[{
            **host('2'), 'maintenances': [
                [0, 1, 0, 1], [1, 2, 1, 0], [2, 3, 0, -1]]}]),
            'maintenances': [disks, firmware]})
        self.assertEqual([firmware, disks], whole['maintenances'])
        self.assertEqual([[0, 1, 0, 0], [1, 2, 1, 1], [2, 3, 0, -1]],
                         whole['hosts'][1]['maintenances'])

    def test_the_query_of_the_next_page(self):
        """Its path is not used: the service has another one here."""
        self.assertIsNone(calendar.next_query(found()))
        self.assertEqual(
            [('rows', 'true'), ('marker', '2')],
            calendar.next_query({'links': [
                {'rel': 'next', 'href': 'https://far/baremetal/v1/calendar'
                                        '?rows=true&marker=2'}]}))
