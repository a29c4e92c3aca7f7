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


"""Whether the checker finds what is broken on purpose.

``python -m tests.processes.mutants`` lets a storm go over each mutation and
tells what was found.
"""

from __future__ import annotations

import argparse
import collections
import pathlib
import sys
import tempfile

from tests.processes import mutations
from tests.processes import storm
from tests.real import databases


def main(argv: list[str] | None = None) -> int:
    """Return 1 where something that was broken was not found."""
    parser = argparse.ArgumentParser(
        prog='python -m tests.processes.mutants', description=__doc__)
    parser.add_argument('mutation', nargs='*', default=mutations.names(),
                        help='by default all of them')
    parser.add_argument('--database', default='postgresql',
                        choices=databases.KINDS)
    parser.add_argument('--seconds', type=float, default=240,
                        help='the longest storm over one of them')
    parser.add_argument('--placement', action='store_true')
    parser.add_argument('--seed', default='1')
    chosen = parser.parse_args(argv)
    missed = 0
    for name in chosen.mutation:
        with tempfile.TemporaryDirectory(prefix='storm-') as folder:
            report = storm.run(storm.Options(
                chosen.database, chosen.seconds, chosen.seed, name,
                placement=chosen.placement, first=True),
                pathlib.Path(folder))
        rules = collections.Counter(each.rule for each in report.found)
        missed += not rules
        began = report.told.exchanges[0].sent if report.told.exchanges else 0
        print(f'{name}: {dict(rules) or "NOT FOUND"}', flush=True)
        for found in report.found[:1]:
            print(f'  after {found.at - began:.0f} s: {found.about}: '
                  f'{found.text}', flush=True)
    return 1 if missed else 0


if __name__ == '__main__':
    sys.exit(main())
