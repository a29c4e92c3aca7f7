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


"""Commands that run in a copy of this process behave like any other."""

from __future__ import annotations

import logging
import os
import sys

import testtools

from tools import loaded_commands


class LoadedCommandsTest(testtools.TestCase):
    """The script is one that each installation with the tests has."""

    def setUp(self) -> None:
        """Load it."""
        super().setUp()
        self.commands = loaded_commands.LoadedCommands(('blazar',))

    def run_it(self, *words: str, timeout: float = 60,
               **environment: str) -> loaded_commands.Done:
        """Run it."""
        return self.commands.run('blazar', words, {
            'PATH': os.environ['PATH'], 'NO_PROXY': '127.0.0.1',
            **environment}, timeout)

    def test_output_and_status(self):
        """Both outputs, in order."""
        done = self.run_it('help', 'lease-list')
        self.assertEqual(0, done.status)
        self.assertIn('--sort-by', done.output)

    def test_failure(self):
        """The environment is the given one, and not ours."""
        done = self.run_it('lease-list', OS_AUTH_TYPE='none',
                           OS_ENDPOINT='http://127.0.0.1:1/v1')
        self.assertEqual(1, done.status)
        self.assertIn("host='127.0.0.1', port=1", done.output)
        self.assertNotIn('OS_ENDPOINT', os.environ)

    def test_logging_of_this_process_is_not_theirs(self):
        """Another test had switched on all logging."""
        root = logging.getLogger()
        self.addCleanup(root.setLevel, root.level)
        root.setLevel(logging.DEBUG)
        handler = logging.StreamHandler(sys.__stderr__)
        root.addHandler(handler)
        self.addCleanup(root.removeHandler, handler)
        done = self.run_it('lease-list', OS_AUTH_TYPE='none',
                           OS_ENDPOINT='http://127.0.0.1:1/v1')
        self.assertNotIn('REQ: curl', done.output)
        self.assertEqual(logging.DEBUG, root.level)

    def test_too_slow(self):
        """The command is killed, and the result says so."""
        self.assertRaises(TimeoutError, self.run_it, 'help', timeout=0)

    def test_lines_of_a_silenced_logger(self):
        """A command of python-blazarclient cannot be loaded, and it says so.
        """
        words = ('help', 'configuration', 'show')
        environment = {'PATH': os.environ['PATH']}
        for silenced, told in (((), True), (('stevedore.extension',), False)):
            done = loaded_commands.LoadedCommands(
                ('openstack',), silenced=silenced).run(
                    'openstack', words, environment, 60)
            self.assertEqual(0, done.status)
            self.assertEqual(told, 'Could not load' in done.output)
