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


"""Console scripts for tests that run many of them.

They are run in copies of a process that has loaded them, which is one of its
own: tests have threads, which must not be copied.  Shell scripts find a client
of that process by the name of each.  That the scripts work as they are
installed is shown by a test of the examples, and on a whole cloud.
"""

from collections.abc import Mapping
from collections.abc import Sequence
import dataclasses
import functools
import json
import os
import pathlib
import select
import socket
import subprocess
import sys

from tools import loaded_commands

#: The scripts that there are.
NAMES = ('baremetal', 'blazar', 'openstack')
_ROOT = pathlib.Path(__file__).parents[3]
#: How long a command of a shell script may take, in seconds.
_TIMEOUT = 600
#: Such a command. It imports nothing that takes long.
_CLIENT = """\
#!{python} -IS
import json, os, socket, sys
name, *words = [*{fixed!r}, *sys.argv[1:]]
with socket.socket(socket.AF_UNIX) as asking:
    asking.connect({address!r})
    with asking.makefile('rw') as stream:
        json.dump([name, words, dict(os.environ), {timeout}, os.getcwd()],
                  stream)
        stream.write('\\n')
        stream.flush()
        done = json.loads(stream.readline())
if done is None:
    sys.exit('It took longer than {timeout} s.')
sys.stdout.write(done['output'])
sys.stderr.write(done['errors'])
sys.exit(done['status'])
"""


class Commands:
    """Runs scripts, as :func:`subprocess.run` does.

    Its process ends once this one has, whose pipe is at its end then.
    """

    def __init__(self) -> None:
        with socket.socket(socket.AF_UNIX) as listener:
            # NOTE: a name that is in no folder, and chosen by the system.
            listener.bind('')
            listener.listen()
            self._address = listener.getsockname()
            self._process = subprocess.Popen(
                [sys.executable, '-W', 'ignore', '-m', __name__,
                 str(listener.fileno())], cwd=_ROOT, stdin=subprocess.PIPE,
                # NOTE: that of a worker has its results.
                stdout=subprocess.DEVNULL, pass_fds=[listener.fileno()],
                env={**os.environ, 'PYTHONPATH': os.pathsep.join(
                    (str(_ROOT), str(_ROOT / 'plugins/client')))})

    def run(self, args: Sequence[str], environment: Mapping[str, str],
            timeout: float, folder: str | os.PathLike[str] | None = None
            ) -> subprocess.CompletedProcess[str]:
        """Run a script until it ends.

        :param args: its name or its path, and its arguments.
        :param timeout: in seconds.
        :param folder: where it runs; by default where the project lies.
        :raises TimeoutExpired: it took longer; it has been killed.
        """
        name, *words = args
        with socket.socket(socket.AF_UNIX) as asking:
            asking.connect(self._address)
            with asking.makefile('rw') as stream:
                stream.write(json.dumps(
                    [name, words, {**environment}, timeout,
                     str(folder or _ROOT)]) + '\n')
                stream.flush()
                done = json.loads(stream.readline())
        if done is None:
            raise subprocess.TimeoutExpired([*args], timeout)
        return subprocess.CompletedProcess(
            [*args], done['status'], done['output'], done['errors'])

    def write_client(self, file: pathlib.Path, *script: str) -> None:
        """Write a command that has a script run here.

        :param file: of the command.
        :param script: its name or its path; by default, the command's first
            argument is the path, as that of a Python is.
        """
        file.write_text(_CLIENT.format(
            python=sys.executable, address=self._address, fixed=script,
            timeout=_TIMEOUT))
        file.chmod(0o755)


@functools.cache
def commands() -> Commands:
    """Return those of this process."""
    return Commands()


def environment(home: str | os.PathLike[str], **more: str) -> dict[str, str]:
    """Return an environment for commands, without settings of its user.

    :param home: where no clouds.yaml of somebody's lies.
    """
    return {**{name: value for name, value in os.environ.items()
               if not name.startswith(('OS_', 'IRONIC_'))},
            'HOME': str(home), 'NO_PROXY': '127.0.0.1', **more}


def main(descriptor: str) -> None:
    """Run what is asked for, until nobody can ask.

    :param descriptor: of the socket on which it is asked for.
    """
    loaded = loaded_commands.LoadedCommands(
        NAMES, loaded_commands.PLUGINS)
    with socket.socket(fileno=int(descriptor)) as listener:
        while listener in select.select([listener, sys.stdin], [], [])[0]:
            asking = listener.accept()[0]
            with asking, asking.makefile('rw') as stream:
                stream.write(json.dumps(_run(loaded, stream.readline())))
                stream.write('\n')


def _run(loaded: loaded_commands.LoadedCommands, line: str
         ) -> dict[str, object] | None:
    name, words, environment, timeout, folder = json.loads(line)
    try:
        return dataclasses.asdict(loaded.run(
            name, words, environment, timeout, folder=folder, apart=True))
    except TimeoutError:
        return None


if __name__ == '__main__':
    main(sys.argv[1])
