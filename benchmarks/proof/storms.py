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

"""Storms of faults over real processes: the findings of the checker."""

from __future__ import annotations

from collections.abc import Iterator
import pathlib
import sys
import tempfile
import unittest

from benchmarks.proof import rows

KINDS = ('sqlite', 'mysql', 'postgresql')


def measure(seconds: float, seed: str,
            kinds: tuple[str, ...] = KINDS) -> Iterator[rows.Row]:
    """Yield the outcome of a storm over each kind of database that is there.

    :param seconds: how long there are faults.
    """
    # NOTE: no other section needs the code of a whole cloud.
    from tests.processes import storm
    from tests.real import databases
    for kind in kinds:
        try:
            with databases.Database(kind):
                pass
        except unittest.SkipTest as missing:
            print(missing, file=sys.stderr)
            continue
        with tempfile.TemporaryDirectory(prefix=f'storm-{kind}-') as folder:
            report = storm.run(storm.Options(kind, seconds, seed),
                               pathlib.Path(folder))
        yield rows.Storm(
            kind, seed, seconds, len(report.told.exchanges),
            sum(report.hits.values()),
            tuple(f'{each.rule}: {each.text}' for each in report.found),
            dict(sorted(report.told.judged.items())))
