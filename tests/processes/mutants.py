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


"""Whether the checker finds what is broken on purpose, by its rule.

``python -m tests.processes.mutants`` lets a storm go over each mutation, the
one that shows it soonest, and tells what was found.  With ``--full`` it is the
storm that looks for whatever there is, with its aftermath for five minutes
at most.
"""

from __future__ import annotations

import argparse
import collections
import contextlib
import dataclasses
import pathlib
import signal
import sys
import tempfile

from tests.processes import mix
from tests.processes import mutations
from tests.processes import storm
from tests.real import databases

#: Seconds of faults in the storm that is made of everything, which leave half
#: of its five minutes for what is judged after them.
_FULL = 150.0


def main(argv: list[str] | None = None) -> int:
    """Return 1 where something that was broken was not found."""
    parser = argparse.ArgumentParser(
        prog='python -m tests.processes.mutants', description=__doc__)
    parser.add_argument('mutation', nargs='*', default=mutations.names(),
                        help='by default all of them')
    parser.add_argument('--database', choices=databases.KINDS,
                        help='by default the one that each names')
    parser.add_argument('--seconds', type=float,
                        help='the longest storm over one of them; by default '
                             'what each names')
    parser.add_argument('--seed', default='1')
    parser.add_argument('--whole', action='store_true',
                        help='break nothing: the same storms over the '
                             'product as it is find nothing')
    parser.add_argument('--full', action='store_true',
                        help='the storm that is made of everything, instead '
                             'of the one that each names')
    parser.add_argument('--keep', type=pathlib.Path, metavar='FOLDER',
                        help='where the records and logs are left')
    chosen = parser.parse_args(argv)
    signal.signal(signal.SIGTERM, storm.end)
    wrong = 0
    for name in chosen.mutation:
        rule = mutations.every()[name].found_as
        best = mutations.every()[name].best
        if chosen.full:
            best = dataclasses.replace(best, mix=mix.Mix.of_all(),
                                       seconds=_FULL)
        kind = chosen.database or best.kind
        with contextlib.ExitStack() as kept:
            folder = (pathlib.Path(tempfile.mkdtemp(
                prefix=f'{name}-', dir=chosen.keep)) if chosen.keep else
                pathlib.Path(kept.enter_context(
                    tempfile.TemporaryDirectory(prefix='storm-'))))
            report = storm.run(storm.Options(
                kind, chosen.seconds or best.seconds, chosen.seed,
                None if chosen.whole else name, placement=best.placement,
                first=rule, mix=best.mix), folder)
        rules = collections.Counter(each.rule for each in report.found)
        wrong += bool(rules) if chosen.whole else rule not in rules
        missed = '' if chosen.whole or rule in rules else (
            f'NOT FOUND as {rule!r}, ')
        print(f'{name}: {missed}{dict(rules)} after {report.lasted:.0f} s, '
              f'{kind}{" with Placement" if best.placement else ""}, '
              f'seed {chosen.seed}', flush=True)
        if chosen.full:
            print(f'    {report.judged()}', flush=True)
        for found in report.found[:1]:
            print(f'    {found.about}: {found.text}', flush=True)
    return 1 if wrong else 0


if __name__ == '__main__':
    sys.exit(main())
