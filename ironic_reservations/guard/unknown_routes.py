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

"""Writes of Ironic's API that this release does not know."""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Iterable
from collections.abc import Sequence
import math
import re
from typing import Any
from urllib import parse

from oslo_utils import uuidutils

from ironic_reservations import errors
from ironic_reservations.api import log_text
from ironic_reservations.api import wsgi
from ironic_reservations.clouds import ironic_versions
from ironic_reservations.engine import Engine
from ironic_reservations.engine.in_flight import protect
from ironic_reservations.guard import bodies
from ironic_reservations.guard import body_limits
from ironic_reservations.guard import callers
from ironic_reservations.guard import carry
from ironic_reservations.guard import inward
from ironic_reservations.guard import known_routes
from ironic_reservations.guard import media
from ironic_reservations.guard import node_acts
from ironic_reservations.guard import resolve
from ironic_reservations.guard import routes
from ironic_reservations.lifecycle import admit

#: The keys by which a body names nodes.
_NAMES = frozenset(('node', 'node_ident', 'node_uuid', 'nodes',
                    'node_idents', 'node_uuids', 'parent_node'))
#: A body may name at most so many nodes: each costs a request to Ironic.
_MOST = 50
_VERSION = re.compile('v[0-9]+')
_ANY = '*'
_REST = '**'


class UnknownRoutes:
    """Passes unknown writes to Ironic, or refuses them.

    An unknown write may have any effect on its nodes. So it is refused if a
    node is held, even to the holder: the acts of a holder must be known to be
    undone. It is also refused if it does not name its nodes. An administrator
    may act on a named node, regardless of its holder.

    :param app: Ironic's application.
    :param know_sender: raises unless Ironic knows the sender of a request.
    :param limits: the limits of request bodies.
    """

    def __init__(self, app: wsgi.Application, engine: Engine,
                 resolver: resolve.Resolver, who: callers.Callers,
                 know_sender: Callable[[wsgi.Environ], object],
                 limits: body_limits.BodyLimits) -> None:
        self._app = app
        self._engine = engine
        self._resolver = resolver
        self._callers = who
        self._know_sender = know_sender
        self._limits = limits
        self._opened = [_opened(entry)
                        for entry in engine.conf.guard.open_routes]

    def opened(self, method: str, names: Sequence[str]) -> bool:
        """Return whether the operator allows a request in open_routes.

        :param names: the segments of the path without ``v1``.
        """
        return any(wanted in (_ANY, method) and _is_of(pattern, names)
                   for wanted, pattern in self._opened)

    def carry(self, environ: wsgi.Environ, found: routes.Classification
              ) -> tuple[list[str], wsgi.Answer]:
        """Have Ironic answer a request, unless one of its nodes is held.

        :returns: the uuids of the nodes, and the answer.
        :raises UnknownRoute: a node is held, or the request does not name its
            nodes.
        """
        nodes = []
        if found.ident is None:
            self._know_sender(environ)
        else:
            nodes.append(self._resolver.node(
                environ, resolve.canonical(found.ident)))
        document = read(environ['REQUEST_METHOD'],
                        environ.get('CONTENT_TYPE', ''),
                        inward.read_body(environ, self._limits.other),
                        self._limits.deepest)
        named = _nodes_in(document)
        query = environ.get('QUERY_STRING', '')
        if (not nodes and (query or not named) or len(named) > _MOST
                or 'node' in parse.unquote_plus(query).casefold()):
            raise _refusal(environ, found, None)
        nodes += [self._resolver.node(environ, resolve.canonical(ident))
                  for ident in named]
        path = environ['PATH_INFO']
        if found.ident is not None:
            path = '/'.join((inward.node_path(nodes[0].uuid),
                             *found.names[2:]))
        distinct = {node.uuid: node for node in nodes}
        return [*distinct], carry.pass_judged(
            self._engine, self._app,
            self._judge(environ, found, distinct.values()),
            f'node {", ".join(distinct)}',
            inward.rebuilt(environ, path, query, body=document))

    def _judge(self, environ: wsgi.Environ, found: routes.Classification,
               nodes: Iterable[callers.Node]) -> float:
        """Return the time by the engine's timer until which no node is held.

        :raises UnknownRoute: a node is held.
        """
        deadline = math.inf
        for node in nodes:
            # An administrator may do this, regardless of the holder of the
            # node.
            if self._callers.actor(node, admit.Claim()).administers:
                continue
            view, until = protect.read_view(self._engine, node.uuid)
            if view.claimed:
                raise _refusal(environ, found, node.uuid)
            deadline = min(deadline, until)
        return deadline


def read(method: str, content_type: str, raw: bytes,
         deepest: int = bodies.DEEPEST) -> Any:
    """Parse the body of an unknown write.

    :param deepest: the maximum depth of nesting.
    :returns: ``None`` if there is no body.
    :raises NotCanonical: the body is not plain JSON, or Ironic would read it
        as a change of a node.
    """
    if not raw:
        return None
    if not media.is_json_patch(content_type):
        raise errors.NotCanonical(
            'A change of nodes that others may have reserved must be JSON in '
            'UTF-8, with Content-Type application/json.')
    document = bodies.read_json(raw, deepest)
    if method == 'PATCH' and node_acts.pointers(document):
        # Ironic ignores the path behind the node.
        raise errors.NotCanonical(
            'A change of a node that others may have reserved must be sent as '
            'PATCH /v1/nodes/<uuid>, with nothing behind it in the path.')
    return document


def _opened(entry: str) -> tuple[str, tuple[str, ...]]:
    """Return the method and the segments of an entry of open_routes."""
    method, _, path = entry.partition(' ')
    return method, tuple(routes.segments(path))


def _is_of(pattern: Sequence[str], names: Sequence[str]) -> bool:
    if pattern[-1:] == (_REST,):
        pattern, names = pattern[:-1], names[:len(pattern) - 1]
    return len(pattern) == len(names) and known_routes.matches(pattern, names)


def _nodes_in(document: Any) -> tuple[str, ...]:
    """Return the nodes that a body names, if it concerns no others.

    Anything but strings, numbers and lists of nodes may be a filter that
    matches further nodes.
    """
    if not isinstance(document, dict):
        return ()
    found: list[str] = []
    for key, value in document.items():
        if key in _NAMES:
            found += value if isinstance(value, list) else [value]
        elif isinstance(value, dict | list) and value:
            return ()
    return tuple(found) if all(
        isinstance(value, str) and value for value in found) else ()


def _refusal(environ: wsgi.Environ, found: routes.Classification,
             node_uuid: str | None) -> errors.UnknownRoute:
    """Return the error for a request that is not passed on.

    :param node_uuid: a node that is held; ``None`` if the nodes are not known.
    """
    method = environ['REQUEST_METHOD']
    why = ('It does not say which nodes it is for, and one of them may be '
           'reserved or leased.' if node_uuid is None else
           f'Node {node_uuid} is reserved or leased.')
    return errors.UnknownRoute(
        f'{method} {log_text.path(environ)} is not known to this release of '
        f'ironic-reservations, which covers Ironic\'s API up to '
        f'{ironic_versions.REVIEWED}, so '
        f'nothing was sent to Ironic. {why} The operator can install a '
        "release of ironic-reservations that covers this request's version "
        'of the API, or let such requests through with '
        f'"{method} {_pattern(found)}" in [guard] open_routes.',
        reviewed=ironic_versions.REVIEWED,
        **({} if node_uuid is None else {'node_uuid': node_uuid}))


def _pattern(found: routes.Classification) -> str:
    """Return the entry of open_routes for a path."""
    node = 1 if found.ident is not None else None
    return log_text.quoted('/'.join(('', *(
        () if _VERSION.fullmatch(found.names[0]) else ('v1',)), *(
        _ANY if number == node or uuidutils.is_uuid_like(name) else name
        for number, name in enumerate(found.names)))))
