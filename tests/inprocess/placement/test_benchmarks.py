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


"""The benchmarks of holds and of the audit do what they measure."""

from collections.abc import Mapping
from collections.abc import Sequence
import contextlib
import io
from pathlib import Path

import fixtures
import testtools

from benchmarks import audit
from benchmarks import holds
from tests import forked_child
from tests.real import databases

_GUNICORN = '''
from gunicorn.app import wsgiapp
sys.argv[0] = 'gunicorn'
wsgiapp.run()
'''


def _fork(name: str, command: Sequence[str], folder: Path, log_file: Path,
          environment: Mapping[str, str]) -> forked_child.ForkedChild:
    """Start a gunicorn without reading its code, and Placement's, anew."""
    return forked_child.ForkedChild(
        name, _GUNICORN, command[command.index('gunicorn') + 1:], folder,
        log_file, environment)


class BenchmarksTest(testtools.TestCase):
    """On PostgreSQL, with few nodes."""

    def setUp(self) -> None:
        super().setUp()
        # NOTE: first, since a server may have to be started for it.
        self.server = self.useFixture(
            databases.Database('postgresql')).url.rpartition('/')[0]
        self.useFixture(fixtures.MonkeyPatch('tools.placement.child.Child',
                                             _fork))

    def test_audit_of_clean_nodes_takes_three_calls(self) -> None:
        """Two, and one for each class; those that are held cost two more each
        the first time, and none later.
        """
        (_, first), (_, following) = audit.measure(self.server, 16)
        self.assertEqual((3 + 2 * 4, 3), (first, following))

    def test_all_who_ask_are_served(self) -> None:
        """By reservations, each once."""
        with contextlib.redirect_stdout(io.StringIO()):
            held, chosen = holds.measure(self.server, 32, 16)
        self.assertEqual((16, 0), (len(held.seconds), held.stuck))
        self.assertEqual((16, 0), (len(chosen.seconds), chosen.stuck))
