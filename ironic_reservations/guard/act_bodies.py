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

"""The requests of protected acts, parsed and written again for Ironic."""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Iterable
from typing import Any

from ironic_reservations import errors
from ironic_reservations.api import wsgi
from ironic_reservations.guard import bodies
from ironic_reservations.guard import body_limits
from ironic_reservations.guard import inward
from ironic_reservations.guard import media

#: The field of a node that names its parent.
_PARENT = 'parent_node'
#: A body may name at most so many nodes: each costs requests to Ironic.
_MOST = 2


def proof(environ: wsgi.Environ) -> str | None:
    """Return the proof in the header of a request."""
    return bodies.one_proof(environ.get(inward.PROOF_HEADER_KEY), None)


def rebuilt(environ: wsgi.Environ, path: str,
            limits: body_limits.BodyLimits) -> wsgi.Environ:
    """Return a request that is rebuilt from its parsed body."""
    return inward.rebuilt(environ, path, environ.get('QUERY_STRING', ''),
                          body=document(environ, limits))


def document(environ: wsgi.Environ, limits: body_limits.BodyLimits,
             of_port: bool = False) -> Any:
    """Parse the body of a protected act.

    :param of_port: whether the request is for a port: its body may be a patch,
        and may contain ``node_ident``.
    :returns: ``None`` if the request has no body.
    """
    raw = inward.read_body(environ, limits.other)
    if not raw:
        return None
    is_json = media.is_json_patch if of_port else media.is_json
    if not is_json(environ.get('CONTENT_TYPE', '')):
        raise errors.NotCanonical(
            'A change of a node that others may have reserved must be '
            'JSON in UTF-8, with Content-Type application/json.')
    parsed = bodies.read_json(raw, limits.deepest)
    if (isinstance(parsed, dict) and 'node_ident' in parsed
            and not of_port):
        raise errors.NotCanonical(
            'The node must be named in the path only. Leave the key '
            '"node_ident" out.')
    return parsed


def nodes_in(document: Any) -> tuple[str, ...]:
    """Return the nodes that the body of a request names.

    The request is for a volume, a port or a port group.

    :raises InvalidValue: these are too many.
    """
    if isinstance(document, dict):
        values = [document.get('node_uuid'), document.get('node_ident')]
    else:
        values = [entry.get('value') for entry in (
            document if isinstance(document, list) else ())
            if isinstance(entry, dict)
            and 'node_' in bodies.field(entry.get('path'))]
    return _few(str(value) for value in values if value)


def _few(idents: Iterable[str]) -> tuple[str, ...]:
    distinct = tuple(dict.fromkeys(idents))
    if len(distinct) > _MOST:
        raise errors.InvalidValue(
            f'The body names {len(distinct)} nodes; at most {_MOST} are '
            'allowed here.')
    return distinct


def with_parent(document: Any, adopted: Callable[[str], str]) -> Any:
    """Return the body of a request with the parent that it gives a node.

    :param document: a node to enroll, or a PATCH of one.
    :param adopted: returns the uuid of a node.
    :raises InvalidValue: the body names too many nodes.
    """
    if isinstance(document, dict):
        named = document.get(_PARENT)
        return document if not named or not isinstance(named, str) else {
            **document, _PARENT: adopted(named)}
    if not isinstance(document, list):
        return document
    uuids = {ident: adopted(ident) for ident in _few(
        entry['value'] for entry in document if _gives_parent(entry))}
    return [{**entry, 'value': uuids[entry['value']]}
            if _gives_parent(entry) else entry for entry in document]


def _gives_parent(entry: Any) -> bool:
    return (isinstance(entry, dict) and entry.get('op') != 'remove'
            and _PARENT in bodies.field(entry.get('path'))
            and isinstance(entry.get('value'), str) and bool(entry['value']))


def readdressed(environ: wsgi.Environ, path: str) -> wsgi.Environ:
    """Return a request with the node's uuid in its path, and its own body.

    NOTE: Ironic takes the node from the path, for any body.
    """
    return {**{key: value for key, value in environ.items()
               if key not in ('RAW_URI', 'REQUEST_URI')}, 'PATH_INFO': path}
