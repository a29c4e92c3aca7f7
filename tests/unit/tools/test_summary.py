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


"""The last line of tools/test.sh."""

from __future__ import annotations

import io

import subunit
import testtools

from tools import summary


def _stream(*events: tuple[str, str]) -> io.BytesIO:
    written = io.BytesIO()
    result = subunit.StreamResultToBytes(written)
    for test_id, status in events:
        result.status(test_id=test_id, test_status=status)
    written.seek(0)
    return written


class CountTestCase(testtools.TestCase):

    def test_each_test_counts_once_by_its_last_word(self) -> None:
        """A test that only began has failed: its worker died."""
        totals = summary.count(_stream(
            ('good', 'inprogress'), ('good', 'success'),
            ('bad', 'inprogress'), ('bad', 'fail'),
            ('known', 'xfail'), ('surprise', 'uxsuccess'),
            ('left out', 'skip'), ('listed', 'exists'),
            ('killed', 'inprogress')))

        self.assertEqual({'passed': 2, 'failed': 3, 'skipped': 1}, totals)

    def test_text_that_was_printed_is_no_test(self) -> None:
        """Whatever a test prints, the line counts tests."""
        stream = io.BytesIO(
            b'9 passed, 0 failed\n'
            + _stream(('good', 'success')).read() + b'good night\n')

        self.assertEqual({'passed': 1, 'failed': 0, 'skipped': 0},
                         summary.count(stream))

    def test_runs_are_added_up_and_one_that_broke_down_has_failed(
            self) -> None:
        """Where a run leaves no stream, the others do not hide it."""
        streams = io.BytesIO(
            _stream(('one', 'success'), ('two', 'skip')).read()
            + _stream(('three', 'success'), ('four', 'fail')).read())

        self.assertEqual({'passed': 2, 'failed': 2, 'skipped': 1},
                         summary.count(streams, broken=1))
