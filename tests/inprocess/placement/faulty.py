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


"""The application of Placement, as gunicorn serves it, with faults.

A test leaves files in a folder; each is one fault for one write, and whoever
deletes it suffers it.
"""

from collections.abc import Callable
from collections.abc import Iterable
import functools
import os
import pathlib
import random
import signal
import time
from typing import Any
import uuid

from placement import wsgi
import sqlalchemy as sa

#: The variable that names the folder.
FOLDER = 'PLACEMENT_FAULTS'
#: Nothing is done, and an error answered; or it is done all the same.
ERROR, ERROR_DONE = 'error', 'error-done'
#: It is done too late, or done and answered too late.
LATE, ANSWERED_LATE = 'late', 'answered-late'
#: It is done once the test lets it go, see :func:`let_go`.
HELD = 'held'
#: SIGKILL before, in the middle of, and after the work.
KILLED, KILLED_WITHIN, KILLED_DONE = 'killed', 'killed-within', 'killed-done'
ALL = (ERROR, ERROR_DONE, LATE, ANSWERED_LATE, KILLED, KILLED_WITHIN,
       KILLED_DONE)
_LIKELY = 0.4

_commits_left: int | None = None


def ask(folder: str, faults: Iterable[str], seconds: float,
        certain: bool = False) -> None:
    """Have faults happen.

    :param seconds: how late what is late is.
    :param certain: to the next writes; else to any that follow.
    """
    for number, fault in enumerate(faults):
        pathlib.Path(folder, f'{number:03} {fault} {seconds} {certain:d}'
                     ).touch()


def let_go(folder: str) -> None:
    """Have what is held done now."""
    _gate(folder).touch()


def done(folder: str) -> int:
    """Return how many of those that were held, or late, have been done."""
    return len([*_gate(folder).parent.glob(f'{_gate(folder).name}-*')])


def _gate(folder: str) -> pathlib.Path:
    # NOTE: beside it: each file in the folder is a fault.
    return pathlib.Path(folder + '.go')


def left(folder: str) -> int:
    """Tell how many have not happened yet."""
    return len(os.listdir(folder))


Application = Callable[[dict[str, Any], Callable[..., Any]], Iterable[bytes]]


def make() -> Application:
    """Make the application, in the process that is to serve it."""
    sa.event.listen(sa.engine.Engine, 'commit', _about_to_commit)
    return functools.partial(_serve, wsgi.init_application())


def _serve(application: Application, environ: dict[str, Any],
           start_response: Callable[..., Any]) -> Iterable[bytes]:
    fault, seconds = _take(environ)
    if fault == LATE:
        time.sleep(seconds)
    while fault == HELD and not _gate(os.environ[FOLDER]).exists():
        time.sleep(0.05)
    if fault == KILLED:
        _die()
    if fault == ERROR:
        return _fail(start_response)
    if fault == KILLED_WITHIN:
        # NOTE: of the two transactions of a first write, the first is done.
        global _commits_left
        _commits_left = 1
    if fault is None:
        return application(environ, start_response)
    said: list[Any] = []
    body = b''.join(application(
        environ, lambda *arguments: said.append(arguments)))
    if fault in (KILLED_DONE, KILLED_WITHIN):
        _die()
    if fault == ERROR_DONE:
        return _fail(start_response)
    if fault == ANSWERED_LATE:
        time.sleep(seconds)
    if fault in (HELD, LATE):
        gate = _gate(os.environ[FOLDER])
        gate.with_name(f'{gate.name}-{uuid.uuid4()}').touch()
    start_response(*said[0])
    return [body]


def _take(environ: dict[str, Any]) -> tuple[str | None, float]:
    if environ['REQUEST_METHOD'] == 'GET' or not environ[
            'PATH_INFO'].startswith('/allocations'):
        return None, 0.0
    folder = pathlib.Path(os.environ[FOLDER])
    for path in sorted(folder.iterdir()):
        _number, fault, seconds, certain = path.name.split()
        if certain == '0' and random.random() > _LIKELY:
            return None, 0.0
        try:
            path.unlink()
        except FileNotFoundError:
            continue
        return fault, float(seconds)
    return None, 0.0


def _fail(start_response: Callable[..., Any]) -> Iterable[bytes]:
    start_response('500 Internal Server Error',
                   [('Content-Type', 'text/plain')])
    return [b'It broke.']


def _die() -> None:
    os.kill(os.getpid(), signal.SIGKILL)
    time.sleep(60)


def _about_to_commit(connection: sa.Connection) -> None:
    global _commits_left
    if _commits_left is not None:
        if _commits_left == 0:
            _die()
        _commits_left -= 1
