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


"""What is really done in Ironic, to which node, when, and in whose name.

``factory`` is a middleware: innermost of all, it sees what the guard hands
to Ironic.  :func:`record_objects` sees what an API or a conductor writes of
a node, an allocation or a volume target.  A client marks each request with a
request id of its own, which Ironic passes on to its conductors: with it each
write is known to be of that request, and one without is of nobody who was
asked.
"""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Iterable
from collections.abc import Iterator
from collections.abc import Mapping
import contextlib
import functools
import io
import json
import os
from typing import Any

from tests.processes import journal
from tests.processes import trouble
from tests.real import remembering

VARIABLE = 'STORM_JOURNAL'
_REQUEST_ID = 'HTTP_X_OPENSTACK_REQUEST_ID'
_NODE_FIELDS = ('provision_state', 'target_provision_state', 'instance_uuid',
                'lessee', 'maintenance', 'maintenance_reason',
                'resource_class', 'target_power_state', 'power_state',
                'extra', 'description', 'instance_info', 'boot_mode',
                'secure_boot')
#: What only the hardware knows.
_HARDWARE = ('boot_device',)
_ALLOCATION_FIELDS = ('node_id', 'state')
_VOLUME_FIELDS = ('node_id', 'volume_id')


@functools.cache
def _journal() -> journal.Journal:
    return journal.Journal(os.environ[VARIABLE])


def factory(app: Any) -> Any:
    """Put the recorder round Ironic's application."""
    def recorded(environ: dict[str, Any],
                 start_response: Callable[..., Any]) -> Iterable[bytes]:
        if environ['REQUEST_METHOD'] in ('GET', 'HEAD', 'OPTIONS'):
            return app(environ, start_response)  # type: ignore[no-any-return]
        body = _peek(environ)
        passed = {'method': environ['REQUEST_METHOD'],
                  'path': environ.get('PATH_INFO'), 'body': body,
                  'request': environ.get(_REQUEST_ID), 'pid': os.getpid()}
        began = journal.now()
        # NOTE: written before, too: the process may not live to the end.
        _journal().write('passing', began=began, **passed)
        statuses: list[str] = []

        def started(status: str, *more: Any, **others: Any) -> Any:
            statuses.append(status)
            return start_response(status, *more, **others)
        failed = trouble.of(str(environ.get('PATH_INFO')))
        if failed is None:
            answer = app(environ, started)
        else:
            answer = trouble.answer(failed, app, environ, started)
            _journal().write('fault', fault=f'ironic-{failed}',
                             at=journal.now(), method=passed['method'],
                             path=passed['path'], request=passed['request'])
        _journal().write('passed', began=began, ended=journal.now(),
                         status=int(statuses[-1][:3]) if statuses else None,
                         **passed)
        return answer  # type: ignore[no-any-return]
    return recorded


def _peek(environ: dict[str, Any]) -> Any:
    length = int(environ.get('CONTENT_LENGTH') or 0)
    raw = environ['wsgi.input'].read(length) if length else b''
    environ['wsgi.input'] = io.BytesIO(raw)
    try:
        return json.loads(raw) if raw else None
    except ValueError:
        return raw.decode(errors='replace')


def record_objects() -> None:
    """Have this process of Ironic record what it writes."""
    from ironic.objects import allocation
    from ironic.objects import node
    from ironic.objects import volume_target
    _record(node.Node, 'node', _NODE_FIELDS)
    _record(allocation.Allocation, 'allocation', _ALLOCATION_FIELDS)
    _record(volume_target.VolumeTarget, 'volume', _VOLUME_FIELDS)
    remembering.install(_note)


@contextlib.contextmanager
def _note(node: Any, values: Mapping[str, Any]) -> Iterator[None]:
    """Record what is set of the hardware of a node."""
    told = {name: value for name, value in values.items()
            if name in _HARDWARE}
    began = journal.now()
    yield
    if told:
        _journal().write(
            'node', what='save', began=began, ended=journal.now(),
            uuid=node.uuid, values=told, pid=os.getpid(),
            request=_of(node, ()), **_also(node, 'node'))


def _record(which: Any, kind: str, fields: tuple[str, ...]) -> None:
    for name in ('save', 'create', 'destroy'):
        setattr(which, name, _recorded(which, getattr(which, name), kind,
                                       name, fields))


def _recorded(which: Any, method: Any, kind: str, what: str,
              fields: tuple[str, ...]) -> Any:
    @functools.wraps(method)
    def wrapper(self: Any, *arguments: Any, **named: Any) -> Any:
        changed = self.obj_what_changed()
        values = {field: getattr(self, field) for field in fields
                  if field in changed}
        if what == 'save' and not values:
            return method(self, *arguments, **named)
        began = journal.now()
        done = method(self, *arguments, **named)
        _journal().write(
            kind, what=what, began=began, ended=journal.now(),
            uuid=self.uuid, values=values, pid=os.getpid(),
            request=_of(self, arguments), **_also(self, kind))
        return done
    return wrapper


def _of(thing: Any, arguments: tuple[Any, ...]) -> str | None:
    context = getattr(thing, '_context', None)
    return getattr(context, 'global_request_id', None)


def _also(thing: Any, kind: str) -> dict[str, Any]:
    if kind == 'node':
        return {'id': getattr(thing, 'id', None),
                'owner_now': getattr(thing, 'lessee', None),
                'instance_now': getattr(thing, 'instance_uuid', None)}
    return {}
