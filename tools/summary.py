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


"""Sum up subunit streams: failures, and ``N passed, N failed, N skipped``."""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Iterable
import io
from typing import Any
from typing import BinaryIO

import subunit
import testtools

# What each of the last words on a test counts as. Anything else, such as
# ``inprogress``, is a test that never came to its end: its worker died.
_COUNTS_AS = {'success': 'passed', 'xfail': 'passed', 'skip': 'skipped'}

# Who looks at the end of a long log reads why it failed, not all of it.
_LINES = 25


def count(stream: BinaryIO, broken: int = 0,
          tell: Callable[[str], None] = print) -> dict[str, int]:
    """Count what became of each test, and tell of those that failed.

    :param stream: subunit, version 2.
    :param broken: how many runs left nothing that could be counted.
    :param tell: takes a text for each test that failed.
    """
    totals = {'passed': 0, 'failed': broken, 'skipped': 0}

    def add(test: dict[str, Any]) -> None:
        if test['status'] == 'exists':
            return
        became = _COUNTS_AS.get(test['status'], 'failed')
        totals[became] += 1
        if became == 'failed':
            tell(_of_failure(test))

    results = testtools.StreamToDict(add)
    results.startTestRun()
    subunit.ByteStreamToStreamResult(
        stream, non_subunit_name='stdout').run(
            testtools.CopyStreamResult([_TestsOnly(results)]))
    results.stopTestRun()
    return totals


def _of_failure(test: dict[str, Any]) -> str:
    if test['status'] == 'inprogress':
        return f'FAILED {test["id"]}\n    never came to its end'
    # NOTE: several tracebacks are told apart by a number: traceback-1.
    said = [line for name, content in sorted(test['details'].items())
            if name.startswith(('traceback', 'reason'))
            for line in content.as_text().splitlines()]
    return '\n    '.join((f'FAILED {test["id"]}', *said[-_LINES:]))


class _TestsOnly(testtools.StreamResult):
    """Leaves out what is not about a test, such as printed text."""

    def __init__(self, target: testtools.StreamResult) -> None:
        super().__init__()
        self._target = target

    def status(self, *args: object, **words: object) -> None:
        test_id = words.get('test_id', args[0] if args else None)
        if test_id not in (None, 'stdout'):
            self._target.status(*args, **words)


def report(streams: Iterable[bytes], broken: int = 0,
           tell: Callable[[str], None] = print) -> int:
    """Print which tests failed, and the line of counts.

    :param streams: of ``stestr last --subunit``.
    :param broken: how many runs left nothing that could be counted.
    :param tell: takes a text for each test that failed.
    :returns: 0 if some tests ran and none failed, else 1.
    """
    totals = count(io.BytesIO(b''.join(streams)), broken, tell)
    print(', '.join(f'{number} {word}' for word, number in totals.items()))
    return int(not totals['passed'] or bool(totals['failed']))
