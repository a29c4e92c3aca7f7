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

"""Reads answers of Ironic: nodes, pages of lists, and errors."""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Mapping
import json
from typing import Any
from typing import TypeVar

from oslo_utils import strutils
from oslo_utils import uuidutils

from ironic_reservations import errors
from ironic_reservations.clouds import documents
from ironic_reservations.model import mirrored_node

#: The properties that leases can require.
_PROPERTIES = ('cpus', 'memory_mb', 'local_gb', 'cpu_arch')
#: A longer property is ignored: Ironic has no limit, and a row that is too
#: long for MariaDB would stop the mirroring of all nodes.
_LONGEST = 255
#: The key of a node's ``extra`` by which an operator closes the node.
_RESERVABLE = 'reservable'
#: The key of an attached VIF in ``internal_info`` of a port.
_VIF = 'tenant_vif_port_id'
_ERROR = 'error_message'
_NODE = '/v1/nodes/'

_T = TypeVar('_T')


def parsed(path: str, body: Any, read: Callable[[Any], _T]) -> _T:
    """Return what an answer with status 200 contains.

    :param path: the path of the request.
    :param read: parses the body.
    :raises IronicUnavailable: the body is not of the form of such an answer.
    """
    try:
        return read(body)
    except documents.Malformed as exc:
        raise errors.IronicUnavailable(
            f'Ironic answered 200 to GET {path.partition("?")[0]}, but {exc}. '
            'Try again later; if this continues, the operator should check '
            '[ironic] in ironic-reservations.conf.') from exc


def page(body: Any, kind: str, read: Callable[[Any], _T]
         ) -> tuple[list[_T], str | None]:
    """Return the objects of a page, and the marker if it is not the last."""
    rows = documents.each_of(body, kind, dict)
    more = rows and 'next' in body
    return [read(each) for each in rows], (
        documents.field(rows[-1], 'uuid', str) if more else None)


def check_end(marker: str, seen: set[str]) -> None:
    """Check that a page was not returned before.

    :raises IronicUnavailable: it was.
    """
    if marker in seen:
        raise errors.IronicUnavailable(
            'Ironic returned the same page of a list twice, so the list has '
            'no end. Try again later; if this continues, the operator should '
            'check [ironic] in ironic-reservations.conf.')
    seen.add(marker)


def text_of(body: Any, key: str) -> str | None:
    """Return a string of an object with a uuid."""
    documents.field(body, 'uuid', str)
    return documents.optional(body, key, str)


def is_locked(body: Any) -> bool:
    """Return whether a conductor has locked a node."""
    return text_of(body, 'reservation') is not None


def vif(body: Any) -> str | None:
    """Return the VIF that is attached to a port, if there is one."""
    return documents.optional(
        documents.optional(body, 'internal_info', dict) or {}, _VIF, str)


def _inner(answer: Any) -> Any:
    """Return the error in an answer, which is JSON within JSON."""
    inner = answer.get(_ERROR) if isinstance(answer, dict) else None
    try:
        return json.loads(inner) if isinstance(inner, str) else inner
    except (ValueError, RecursionError):
        return inner


def is_ironics(answer: Any) -> bool:
    """Return whether an error was written by Ironic.

    A proxy in front of Ironic that is being configured may answer 404, and its
    answer must not be taken for the deletion of a node.
    """
    return isinstance(_inner(answer), dict)


def is_missing(path: str, answer: Any) -> bool:
    """Return whether an answer with status 404 says that there is no object.

    Of a path that Ironic does not have, such as below a wrong address, its
    framework says so, in another form. The same form has its answer for what
    an Ironic has no interface for, and for a name that is part of a path.

    :param path: the path of the request.
    """
    inner = _inner(answer)
    if not isinstance(inner, dict):
        return False
    ident, _, part = path.partition('?')[0].removeprefix(
        _NODE).partition('/')
    return (isinstance(inner.get('faultstring'), str)
            or path.startswith(_NODE) and (
                bool(part) or not uuidutils.is_uuid_like(ident)))


def said(answer: Any) -> str:
    """Return the message in an error of Ironic or of our guard."""
    if not isinstance(answer, dict):
        return 'it gives no reason'
    inner = _inner(answer)
    if isinstance(inner, str):
        return inner
    if isinstance(inner, dict):
        return str(inner.get('faultstring') or inner.get('description')
                   or inner)
    return str(answer)


def node_of(body: Mapping[str, Any]) -> mirrored_node.Node:
    """Return the node in an answer of Ironic.

    :raises Malformed: it is not a node.
    """
    extra = documents.optional(body, 'extra', dict) or {}
    properties = documents.optional(body, 'properties', dict) or {}
    traits = body.get('traits') is not None
    return mirrored_node.Node(
        uuid=documents.field(body, 'uuid', str),
        name=_text(documents.optional(body, 'name', str)),
        resource_class=_text(documents.optional(body, 'resource_class', str)),
        traits=frozenset(documents.each_of(body, 'traits', str)
                         if traits else ()),
        provision_state=documents.optional(body, 'provision_state', str),
        instance_uuid=documents.optional(body, 'instance_uuid', str),
        maintenance=bool(documents.optional(body, 'maintenance', bool)),
        retired=bool(documents.optional(body, 'retired', bool)),
        # "baremetal node set --extra reservable=false" writes the string.
        reservable=strutils.bool_from_string(extra.get(_RESERVABLE, True),
                                             default=True),
        owner=_text(documents.optional(body, 'owner', str)),
        lessee=_text(documents.optional(body, 'lessee', str)),
        powered=documents.optional(body, 'power_state', str) is not None,
        parent_node=documents.optional(body, 'parent_node', str) or None,
        enrolled_at=documents.optional(body, 'created_at', str),
        properties=tuple((key, said) for key in _PROPERTIES
                         if (said := _text(properties.get(key))) is not None
                         and len(said) <= _LONGEST))


def _text(value: object) -> str | None:
    """Return a text of Ironic without characters that cannot be shown.

    Ironic takes any, also from a lessee: PostgreSQL stores no NUL, and a
    terminal obeys an escape sequence.
    """
    if value is None:
        return None
    text = str(value)
    return text if text.isprintable() else ''.join(
        each if each.isprintable() else '\N{REPLACEMENT CHARACTER}'
        for each in text)
