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


def _silent(text: str) -> None:
    pass


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
            ('killed', 'inprogress')), tell=_silent)

        self.assertEqual({'passed': 2, 'failed': 3, 'skipped': 1}, totals)

    def test_text_that_was_printed_is_no_test(self) -> None:
        """The line counts tests only, whatever a test prints."""
        stream = io.BytesIO(
            b'9 passed, 0 failed\n'
            + _stream(('good', 'success')).read() + b'good night\n')

        self.assertEqual({'passed': 1, 'failed': 0, 'skipped': 0},
                         summary.count(stream))

    def test_runs_are_added_up_and_one_that_broke_down_has_failed(
            self) -> None:
        """A run without a stream is not hidden by the others."""
        streams = io.BytesIO(
            _stream(('one', 'success'), ('two', 'skip')).read()
            + _stream(('three', 'success'), ('four', 'fail')).read())

        self.assertEqual({'passed': 2, 'failed': 2, 'skipped': 1},
                         summary.count(streams, broken=1, tell=_silent))

    def test_what_failed_is_told_with_the_end_of_its_traceback(self) -> None:
        """The end of a log shows the reason."""
        written = io.BytesIO()
        result = subunit.StreamResultToBytes(written)
        for number in range(30):
            result.status(test_id='bad', file_name='traceback',
                          file_bytes=f'line {number}\n'.encode(),
                          mime_type='text/plain; charset=utf8')
        result.status(test_id='bad', file_name='pythonlogging',
                      file_bytes=b'much', mime_type='text/plain')
        result.status(test_id='bad', test_status='fail')
        result.status(test_id='killed', test_status='inprogress')
        result.status(test_id='good', test_status='success')
        written.seek(0)
        told: list[str] = []

        summary.count(written, tell=told.append)

        bad, killed = told
        self.assertEqual('FAILED bad', bad.splitlines()[0])
        self.assertEqual(['    line 28', '    line 29'],
                         bad.splitlines()[-2:])
        self.assertNotIn('line 4\n', bad)
        self.assertEqual('FAILED killed\n    never came to its end', killed)
