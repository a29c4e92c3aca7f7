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


"""Console scripts, each run in a copy of a process that has loaded them.

To load one takes longer than to run it. The copy is a process of its own,
with its own arguments, environment and output, as a script of its own is.
"""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Mapping
from collections.abc import Sequence
import dataclasses
import functools
from importlib import metadata
import logging
import os
import runpy
import signal
import sys
import tempfile
import time
import traceback
from typing import IO

import stevedore

#: What the names of groups of entry points begin with, in which the commands
#: of OpenStack look for their parts.
PLUGINS = ('cliff.formatter.', 'keystoneauth1.plugin', 'openstack.')
_POLL = 0.02


@dataclasses.dataclass(frozen=True)
class Done:
    """How a command ended, and what it printed to either output.

    :ivar errors: what it printed to the second one, where they are apart.
    """

    status: int
    output: str
    errors: str = ''


class LoadedCommands:
    """Runs console scripts; a thread of this process must not hold locks.

    :param names: of the scripts, which are loaded at once; the function of
        each takes its arguments.
    :param plugins: what the names of groups of entry points begin with that
        they load, which are loaded as well.
    :param silenced: loggers whose lines are not printed.
    """

    def __init__(self, names: Sequence[str],
                 plugins: Sequence[str] = (),
                 silenced: Sequence[str] = ()) -> None:
        self._silenced = silenced
        # NOTE: each command asks for it, which takes longer than all else
        # that it does; and cliff takes the function when it is loaded.
        metadata.packages_distributions = functools.cache(
            metadata.packages_distributions)
        metadata.packages_distributions()
        self._mains: dict[str, Callable[[list[str]], object]] = {
            name: next(iter(metadata.entry_points(
                group='console_scripts', name=name))).load()
            for name in names}
        for group in metadata.entry_points().groups:
            if group.startswith(tuple(plugins)):
                # NOTE: a command says itself what it cannot load.
                stevedore.ExtensionManager(
                    group, on_load_failure_callback=_ignore)

    def run(self, name: str, words: Sequence[str],
            environment: Mapping[str, str], timeout: float, *,
            folder: str | None = None, apart: bool = False) -> Done:
        """Run a script until it ends.

        :param name: of a script that is loaded, or the path of one in Python.
        :param timeout: in seconds.
        :param folder: where it runs; by default where this process does.
        :param apart: whether the outputs are kept apart.
        :raises TimeoutError: it took longer; it has been killed.
        """
        with (tempfile.TemporaryFile() as output,
              tempfile.TemporaryFile() as errors):
            sys.stdout.flush()
            sys.stderr.flush()
            pid = os.fork()
            if pid == 0:
                self._become(name, words, environment, folder, (
                    output.fileno(), (errors if apart else output).fileno()))
            status = _wait(pid, timeout)
            return Done(os.waitstatus_to_exitcode(status), _text(output),
                        _text(errors))

    def _become(self, name: str, words: Sequence[str],
                environment: Mapping[str, str], folder: str | None,
                outputs: tuple[int, int]) -> None:
        """Run the script in the copy, and never come back."""
        status = 1
        try:
            for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
                signal.signal(number, signal.SIG_DFL)
            os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
            os.dup2(outputs[0], 1)
            os.dup2(outputs[1], 2)
            if folder is not None:
                os.chdir(folder)
            # NOTE: line by line, so that what both say stays in order.
            for number, stream in ((1, 'stdout'), (2, 'stderr')):
                setattr(sys, stream, os.fdopen(number, 'w', buffering=1,
                                               encoding='utf-8'))
            _forget_logging()
            for logger in self._silenced:
                logging.getLogger(logger).setLevel(logging.CRITICAL)
            os.environ.clear()
            os.environ.update(environment)
            time.tzset()
            sys.argv = [name, *words]
            # NOTE: not left to its default, which was read at the import.
            status = _status(self._mains[name](list(words))
                             if name in self._mains else _run(name))
        except SystemExit as ended:
            status = _status(ended.code)
        except BaseException:
            traceback.print_exc()
        finally:
            sys.stdout.flush()
            sys.stderr.flush()
            os._exit(status)


def _run(path: str) -> None:
    """Run the file of a script, which finds its packages as its own would."""
    sys.path[:0] = filter(None, os.environ.get(
        'PYTHONPATH', '').split(os.pathsep))
    runpy.run_path(path, run_name='__main__')


def _text(file: IO[bytes]) -> str:
    file.seek(0)
    return file.read().decode(errors='replace')


def _ignore(*failure: object) -> None:
    """Do nothing."""


def _forget_logging() -> None:
    """Have logging as it is where nobody has set it up."""
    root = logging.getLogger()
    root.handlers.clear()
    root.setLevel(logging.WARNING)
    for logger in logging.Logger.manager.loggerDict.values():
        if isinstance(logger, logging.Logger):
            logger.handlers.clear()
            # NOTE: each change has all loggers forget what they know.
            if logger.level != logging.NOTSET:
                logger.setLevel(logging.NOTSET)


def _status(result: object) -> int:
    """Return the status that a script ends with for what it returns."""
    if result is None or isinstance(result, int):
        return result or 0
    print(result, file=sys.stderr)
    return 1


def _wait(pid: int, timeout: float) -> int:
    deadline = time.monotonic() + timeout
    try:
        while True:
            ended, status = os.waitpid(pid, os.WNOHANG)
            if ended:
                return status
            if time.monotonic() > deadline:
                raise TimeoutError(f'It took longer than {timeout:g} s.')
            time.sleep(_POLL)
    except BaseException:
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
        raise
