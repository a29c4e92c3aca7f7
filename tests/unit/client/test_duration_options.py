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

"""Each option with a duration, in each command."""

from __future__ import annotations

import argparse
import contextlib
import io

import testtools

from ironic_reservations_client.osc import typed
from tests.unit.client import commands


class DurationOptionsTest(testtools.TestCase):
    """A number without a unit is refused with the units."""

    def test_plain_seconds_name_both_ways_to_write_them(self) -> None:
        """``--ttl`` and ``--wait`` also take a number of seconds."""
        parser = argparse.ArgumentParser()
        parser.add_argument('--ttl', type=typed.plain_seconds)
        self.assertEqual([600, 600], [
            parser.parse_args(['--ttl', text]).ttl for text in ('600', '10m')])
        self.assertIn('or 2w, or as a number of seconds',
                      _refusal(parser, '--ttl', 'abc'))

    def test_each_option_needs_a_unit(self) -> None:
        """The parser of each command in setup.cfg is checked."""
        seen = set()
        for name, kind in commands.described():
            parser = kind(None, None).get_parser(name)
            for action in parser._actions:
                if action.metavar != '<duration>':
                    continue
                for option in action.option_strings:
                    seen.add(f'{name} {option}')
                    told = _refusal(parser, option, '3')
                    self.assertIn("'3' has no unit", told, option)
                    self.assertIn('3h (hours), 3d (days)', told, option)
                    action.type('3h')
        self.assertLessEqual(
            {'lease_create --duration', 'lease_create --fix-before',
             'lease_set --extend', 'lease_set --shorten',
             'lease_set --duration', 'lease_set --fix-before',
             'availability --duration', 'maintenance_create --duration'},
            seen)


def _refusal(parser: argparse.ArgumentParser, *words: str) -> str:
    """Return the output of a parser that refuses words."""
    told = io.StringIO()
    with contextlib.redirect_stderr(told), contextlib.suppress(SystemExit):
        parser.parse_args([*words])
    return told.getvalue()
