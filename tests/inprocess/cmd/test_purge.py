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

import argparse
import contextlib
import io

import testtools

from ironic_reservations.cmd import purge


class TestPurge(testtools.TestCase):

    def test_date_outside_of_the_calendar_is_refused(self) -> None:
        """Its conversion to UTC ended with a traceback."""
        parser = argparse.ArgumentParser()
        purge.add_parser(parser.add_subparsers().add_parser)
        for text in ('0001-01-01T00:00:00+14:00', '2026-13-01', '',
                     '9999-12-31T23:59:59-14:00'):
            said = io.StringIO()
            with contextlib.redirect_stderr(said):
                self.assertRaises(SystemExit, parser.parse_args,
                                  ['purge', '--before', text])
            self.assertIn('is not a date', said.getvalue())
