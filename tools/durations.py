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

"""How long classes of tests take, for a stestr that has not run them yet.

Without it, the longest may all be given to one worker, which then ends long
after the others.
"""

from __future__ import annotations

from collections.abc import Mapping
from collections.abc import Sequence
from dbm import dumb
import os
import pathlib
import sys

from stestr.repository import file as repository

#: Shorter ones need no line.
_SHORT = 5


def main(arguments: Sequence[str]) -> int:
    """Read the file of durations, or write it: ``[--write] FILE [FOLDER]``.

    To read changes nothing if stestr knows durations of its own.
    """
    write = arguments[:1] == ['--write']
    name, *rest = arguments[write:]
    times = pathlib.Path(rest[0] if rest else '.', '.stestr', 'times.dbm')
    if write:
        pathlib.Path(name).write_text(''.join(
            f'{seconds:.0f} {test}\n' for test, seconds in _longest(
                {key.decode(): float(value)
                 for key, value in _known(times).items()}).items()))
        return 0
    if not times.parent.exists():
        repository.RepositoryFactory().initialise(str(times.parents[1]))
    if not _known(times):
        with dumb.open(os.fspath(times), 'c') as made:
            for line in pathlib.Path(name).read_text().splitlines():
                seconds, test = line.split()
                made[test] = seconds
    return 0


def known(folder: str = '.') -> dict[str, float]:
    """Return how long each test took, in seconds, as far as stestr knows."""
    return {key.decode(): float(value) for key, value in _known(
        pathlib.Path(folder, '.stestr', 'times.dbm')).items()}


def _known(times: pathlib.Path) -> dict[bytes, bytes]:
    if not times.with_name(f'{times.name}.dir').exists():
        return {}
    with dumb.open(os.fspath(times), 'r') as known:
        return {key: known[key] for key in known.keys()}


def _longest(tests: Mapping[str, float]) -> dict[str, float]:
    """Return the durations of whole classes, longest first.

    Each is that of the class's first test: stestr takes the sum over the
    tests of a class that it knows.
    """
    classes: dict[str, dict[str, float]] = {}
    for test, seconds in sorted(tests.items()):
        classes.setdefault(test.rpartition('.')[0], {})[test] = seconds
    return dict(sorted(
        ((min(members), sum(members.values()))
         for members in classes.values() if sum(members.values()) >= _SHORT),
        key=lambda each: (-each[1], each[0])))


if __name__ == '__main__':
    sys.exit(main(sys.argv[1:]))
