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


"""What Ironic itself fails at: busy nodes, and errors before and after."""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Iterable
import functools
import json
import os
import pathlib
import random
from typing import Any

VARIABLE = 'STORM_TROUBLE'

#: The conductor has the node locked; it fails, and has done nothing; it
#: fails once it has done what it was asked for; and so does what is between.
_BUSY, _BEFORE, _AFTER, _GONE = 'busy', 'before', 'after', 'gone'
_STATUSES = {_BUSY: '409 Conflict', _BEFORE: '500 Internal Server Error',
             _AFTER: '500 Internal Server Error',
             _GONE: '503 Service Unavailable'}


@functools.cache
def _wanted() -> tuple[pathlib.Path, float, random.Random]:
    wanted = json.loads(os.environ.get(VARIABLE) or '{}')
    return (pathlib.Path(wanted.get('while', '/nowhere')),
            float(wanted.get('often', 0)),
            random.Random(f'{wanted.get("seed")} {os.getpid()}'))


def of(path: str) -> str | None:
    """Return what Ironic is to fail at this time; mostly nothing."""
    there, often, choice = _wanted()
    # NOTE: an operator does not lose a node on its way back.
    if not path.startswith(('/v1/nodes/', '/v1/allocations')) or (
            choice.random() >= often or not there.exists()):
        return None
    return choice.choice(tuple(_STATUSES))


def answer(what: str, app: Any, environ: dict[str, Any],
           start_response: Callable[..., Any]) -> Iterable[bytes]:
    """Answer a request that Ironic is to fail at."""
    if what in (_AFTER, _GONE):
        done = app(environ, lambda *_, **__: lambda _: None)
        try:
            for _ in done:
                pass
        finally:
            if hasattr(done, 'close'):
                done.close()
    said = json.dumps({'error_message': {
        'faultstring': f'The storm: {what}', 'faultcode': 'Server',
        'debuginfo': None}}).encode()
    start_response(_STATUSES[what], [
        ('Content-Type', 'application/json'),
        ('Content-Length', str(len(said)))])
    return [said]
