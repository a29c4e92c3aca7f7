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

"""The benchmark of the calendar measures what it says."""

import testtools

from benchmarks import calendar
from tests.real import databases


class BenchmarkTest(testtools.TestCase):
    """On PostgreSQL, with few nodes."""

    def test_each_request_is_answered(self) -> None:
        """With all, or with nothing where the client knows it."""
        server = self.useFixture(
            databases.Database('postgresql')).url.rpartition('/')[0]
        rows = calendar.measure(server, 12, 120, 2)
        self.assertEqual([200, 200, 304, 200, 200, 304, 200, 200],
                         [row.status for row in rows])
        for row in rows:
            self.assertEqual(row.status == 200, row.sent > 0)
            self.assertTrue(all(0 < each for each in row.wall))
