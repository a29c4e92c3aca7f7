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

"""How long classes of tests take: the longest are begun with first.

Else the last worker ends long after the others.
"""

from __future__ import annotations

from collections.abc import Mapping
from collections.abc import Sequence
from dbm import dumb
import os
import pathlib
import re
import sys

MODULE = r'(?:\w+\.)*?test_\w*'
#: What one worker runs: a class, or a module whose tests are no classes, but
#: the requests of stories, which build on each other.
GROUP = re.compile(rf'{MODULE}\.(?:_?[A-Z]\w*\.)?')
#: Shorter ones need no line.
_SHORT = 5
FILE = pathlib.Path('.ci', 'durations')


def main(arguments: Sequence[str]) -> int:
    """Write the file from what stestr has seen: ``[FILE [FOLDER]]``."""
    file = pathlib.Path(arguments[0]) if arguments else FILE
    folder = arguments[1] if arguments[1:] else '.'
    file.write_text(''.join(
        f'{seconds:.0f} {name}\n' for name, seconds in _longest(
            _seen(pathlib.Path(folder, '.stestr', 'times.dbm'))).items()))
    return 0


def known(file: pathlib.Path = FILE) -> dict[str, float]:
    """Return how long each of the longest classes takes, in seconds."""
    lines = file.read_text().splitlines() if file.exists() else ()
    return {name: float(seconds)
            for seconds, name in (line.split() for line in lines)}


def class_of(test: str) -> str:
    """Return the class of a test, or the module of a story's request."""
    return GROUP.match(test)[0].rstrip('.')


def _seen(times: pathlib.Path) -> dict[str, float]:
    with dumb.open(os.fspath(times), 'r') as seen:
        return {key.decode(): float(seen[key]) for key in seen.keys()}


def _longest(tests: Mapping[str, float]) -> dict[str, float]:
    """Return the durations of whole classes, longest first."""
    classes: dict[str, float] = {}
    for test, seconds in tests.items():
        name = class_of(test)
        classes[name] = classes.get(name, 0) + seconds
    return dict(sorted(
        ((name, seconds) for name, seconds in classes.items()
         if seconds >= _SHORT), key=lambda each: (-each[1], each[0])))


if __name__ == '__main__':
    sys.exit(main(sys.argv[1:]))
