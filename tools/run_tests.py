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

"""Run stestr with workers that share the classes of tests out as they go.

``python -m tools.run_tests`` takes what ``stestr run`` takes.  stestr gives
each worker its tests at the start, by how long they took the last time; a
worker of :mod:`tools.worker` that has run all of its own takes those of
another one that nobody has begun with.
"""

from __future__ import annotations

from collections.abc import Sequence
import os
import pathlib
import subprocess
import sys
import tempfile

from tools import worker


def main(arguments: Sequence[str]) -> int:
    """Run stestr, and return what it ends with."""
    with tempfile.TemporaryDirectory() as folder:
        return subprocess.run(
            [str(pathlib.Path(sys.executable).with_name('stestr')), 'run',
             *arguments],
            env={**os.environ, worker.FOLDER_VARIABLE: folder,
                 # NOTE: a process that multiprocessing forks from one that
                 # has read a worker's code is told that it has.
                 'PYTHONWARNINGS': ','.join(filter(None, (
                     os.environ.get('PYTHONWARNINGS'),
                     'ignore::RuntimeWarning:runpy'))),
                 # NOTE: what stestr runs instead of a Python; it adds the
                 # runner and its arguments.
                 'PYTHON': f'{sys.executable} -m {worker.__name__}'}
            ).returncode


if __name__ == '__main__':
    sys.exit(main(sys.argv[1:]))
