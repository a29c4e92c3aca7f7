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

"""The option ``--local``."""

from __future__ import annotations

import argparse
import datetime
import io
import json

from cliff import app
from cliff import commandmanager
from osc_lib.command import command
import testtools

from ironic_reservations_client import times
from ironic_reservations_client.osc import cells
from ironic_reservations_client.osc import typed
from ironic_reservations_client.osc import zone
from tests.unit.client import zones

EVENT = {'time': '2030-07-01T08:00:00.000000', 'status': 'UNDONE'}
_EVENT_IN_UTC = {**EVENT, 'time': '2030-07-01T08:00:00+00:00'}


class One(zone.Zoned, command.ShowOne):
    """A command with a time as its argument, and times in its output."""

    def get_parser(self, prog_name):
        """Add an argument for a time."""
        parser = super().get_parser(prog_name)
        parser.add_argument('--at', type=typed.instant)
        parser.add_argument('--within', type=typed.instant, nargs=2)
        return parser

    def take_action(self, parsed_args):
        """Show this time, and others."""
        at = parsed_args.at
        return ('start_date', 'name', 'end_date', 'events', 'blocks'), (
            at if at in (None, times.NOW) else at.isoformat(),
            '2030-07-01T08:00:00', None, [EVENT], cells.blocks([EVENT]))


class Many(zone.Zoned, command.Lister):
    """A list with times."""

    def take_action(self, parsed_args):
        """Return two rows, the second of which has no time."""
        return ('id', 'expires_at'), [('1', '2030-01-31T12:00:00+00:00'),
                                      ('2', None)]


class Window(zone.Zoned, command.ShowOne):
    """A command whose times and durations have many digits."""

    def take_action(self, parsed_args):
        """Show times and durations."""
        return ('starts_at', 'duration', 'between', 'updated_at', 'events'), (
            '2030-07-01T08:00:00.473772+00:00', 259200,
            cells.window(['2030-07-01T08:00:00.000000',
                          '2030-07-02T08:00:00.000000']), None,
            cells.blocks([EVENT]))


class Within(One):
    """A command with two times in one option."""

    def take_action(self, parsed_args):
        """Show both times."""
        return ('between',), ([each.isoformat()
                               for each in parsed_args.within],)


class LocalTest(testtools.TestCase):
    """The zone is Berlin, two hours ahead in summer and one in winter."""

    def setUp(self) -> None:
        """Set the zone."""
        super().setUp()
        self.useFixture(zones.Zone('Europe/Berlin'))

    def shown(self, kind, *words):
        """Run a command; return its output, parsed as JSON."""
        return json.loads(self.printed(kind, *words, '-f', 'json'))

    def printed(self, kind, *words):
        """Run a command; return its output."""
        out = io.StringIO()
        manager = commandmanager.CommandManager('no.such.namespace')
        of = app.App('test', '1', manager, stdout=out)
        run = kind(of, argparse.Namespace())
        run.run(run.get_parser('test').parse_args(words))
        return out.getvalue()

    def test_times_are_in_utc(self):
        """This holds unless the user sets a zone."""
        found = self.shown(One, '--at', '2030-07-01 10:00')
        self.assertEqual('2030-07-01T10:00:00+00:00', found['start_date'])
        self.assertEqual([_EVENT_IN_UTC], found['events'])

    def test_times_are_local(self):
        """Typed times are local, and shown times at any depth."""
        found = self.shown(One, '--at', '2030-07-01 10:00', '--local')
        there = {'time': '2030-07-01T10:00:00+02:00', 'status': 'UNDONE'}
        self.assertEqual({
            'start_date': '2030-07-01T10:00:00+02:00',
            'name': '2030-07-01T08:00:00', 'end_date': None,
            'events': [there], 'blocks': [there]}, found)
        self.assertEqual(
            ['2030-01-31T13:00:00+01:00', None],
            [each['expires_at'] for each in self.shown(Many, '--local')])

    def test_a_zone_that_is_typed_is_kept(self):
        """``--local`` concerns times without a zone."""
        for option in ((), ('--local',)):
            found = self.shown(One, '--at', '2030-07-01T10:00+09:00', *option)
            self.assertEqual(
                datetime.datetime(2030, 7, 1, 1, tzinfo=datetime.UTC),
                times.parsed(found['start_date']))

    def test_now_is_now_anywhere(self):
        """"now" has no zone."""
        self.assertEqual('now', self.shown(One, '--at', 'now',
                                           '--local')['start_date'])

    def test_the_ends_of_the_calendar(self):
        """A time whose local form does not exist stays as it is."""
        self.assertEqual(
            '9999-12-31T23:59:00+00:00',
            self.shown(One, '--at', '9999-12-31T23:59:00+00:00',
                       '--local')['start_date'])

    def test_both_times_of_an_option_are_read_in_the_zone(self):
        """This is the form of ``--between``."""
        words = ('--within', '2030-07-01 10:00', '2030-07-02 10:00')
        for option, there in (((), '10:00:00+00:00'),
                              (('--local',), '10:00:00+02:00')):
            self.assertEqual(
                [f'2030-07-01T{there}', f'2030-07-02T{there}'],
                self.shown(Within, *words, *option)['between'])

    def test_a_table_is_for_people(self):
        """Times have whole seconds and the zone, and durations the typed form.
        """
        for option, zones_name, hour in (((), 'UTC', '08'),
                                         (('--local',), 'CEST', '10')):
            cells = [line.split('|')[2].strip() for line
                     in self.printed(Window, *option).splitlines()
                     if line.startswith('|')][1:]
            first, second = (f'2030-07-0{day} {hour}:00:00 {zones_name}'
                             for day in (1, 2))
            self.assertEqual(
                [first, '3d', f'{first} until {second}', 'None',
                 f'time: {first}', 'status: UNDONE'], cells)

    def test_other_formats_have_one_format_of_time(self):
        """It is ISO 8601 with a zone; all digits stay."""
        self.assertEqual(
            {'starts_at': '2030-07-01T08:00:00.473772+00:00',
             'duration': 259200, 'between': [
                 '2030-07-01T08:00:00+00:00', '2030-07-02T08:00:00+00:00'],
             'updated_at': None, 'events': [_EVENT_IN_UTC]},
            self.shown(Window))
        self.assertIn('2030-07-01T08:00:00+00:00',
                      self.printed(Window, '-f', 'yaml'))
