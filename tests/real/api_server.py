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
"""A process of the API, as an operator starts it.

It is forked from one that has read the code.
"""

from __future__ import annotations

from multiprocessing import process as mp_process
import os
import pathlib
import sys
import time
from typing import Self

from ironic_reservations.cmd import api
from tests import forks
from tools import free_ports

#: What takes so long hangs, also on a machine that has other things to do.
_WITHIN = 600
_SERVES = 'ironic-reservations-api serves http://'


def _serve(log: pathlib.Path, arguments: list[str]) -> None:
    """Be ``ironic-reservations-api``, with a log of its own."""
    with log.open('wb') as output:
        for number in (1, 2):
            os.dup2(output.fileno(), number)
    sys.exit(api.main(arguments))


class ApiServer:
    """One ``ironic-reservations-api``, which serves until it is left.

    :param config_file: of the process.
    :ivar port: where it is.
    """

    _process: mp_process.BaseProcess

    def __init__(self, config_file: pathlib.Path) -> None:
        self._config_file = config_file
        self._log = config_file.with_name('api.log')
        self.port = free_ports.free_port()

    def __enter__(self) -> Self:
        self._log.touch()
        self._process = forks.CONTEXT.Process(target=_serve, args=(
            self._log, ['--port', str(self.port),
                        '--config-file', str(self._config_file)]))
        self._process.start()
        deadline = time.monotonic() + _WITHIN
        while _SERVES not in (said := self._log.read_text(errors='replace')):
            if not self._process.is_alive() or time.monotonic() > deadline:
                self.__exit__()
                raise RuntimeError(
                    f'ironic-reservations-api does not serve: {said[-3000:]}')
            time.sleep(0.1)
        return self

    def __exit__(self, *failure: object) -> None:
        self._process.terminate()
        self._process.join(15)
        self._process.kill()
        self._process.join()
