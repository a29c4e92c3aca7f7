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


"""Decide from the request line and headers which requests are guarded.

Ironic's routing is lenient: many paths, methods and parameters lead to the
same controller.  So a request counts not if it *is* a deploy, but if it *could
reach* the code that deploys.  Such a request must be in canonical form, or it
is refused.  With pecan 1.8 there are these ways:

* ``provision`` needs a segment of that name, or a method of that name, which
  may come as ``_method`` in the query or in a form;
* a node is patched by the method PATCH (or ``_method``) anywhere below
  ``nodes``;
* an allocation is made by POST to ``allocations``, or to the attribute
  ``inner`` of ``nodes/X/allocation``;
* any attribute of a controller can be a segment, so that
  ``__init__/__self__`` leads back to the same controller;
* anything before the first slash is dropped.
"""

from __future__ import annotations

import dataclasses
import enum
from urllib import parse

from ironic_reservations import errors
from ironic_reservations.guard import known_routes
from ironic_reservations.guard import media
from ironic_reservations.guard import node_acts

_METHODS = frozenset(
    ('GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS', 'TRACE'))
_READS = frozenset(('GET', 'HEAD'))
#: Methods that neither read nor write.
_NEITHER = frozenset(('OPTIONS', 'TRACE'))
_ROOTS = frozenset(('nodes', 'chassis', 'allocations', 'volume',
                    *node_acts.PORTS))
#: Segments below ``nodes`` that are not nodes.
_NOT_A_NODE = frozenset((
    'allocation', 'bios', 'children', 'detail', 'firmware', 'history',
    'inventory', 'maintenance', 'management', 'portgroups', 'ports',
    'provision', 'states', 'traits', 'validate', 'vendor_passthru', 'vifs',
    'vmedia', 'volume'))
_SUFFIX = '.json'
_METHOD_PARAMETER = '_method'


class Kind(enum.Enum):
    """The possible effect of a request, judged by its request line."""

    #: PUT of a provision target, in canonical form.
    PROVISION = 'provision'
    #: PATCH that binds an instance to a node, depending on its body.
    PATCH = 'patch'
    #: POST of an allocation, in canonical form.
    ALLOCATE = 'allocate'
    #: POST of a node, which may be made a part of another one.
    ENROLL = 'enroll'
    #: A protected act on a node, in canonical form.
    ACT = 'act'
    #: A list that is one of eligible nodes, depending on its query.
    LIST = 'list'
    #: Harmless unless its body is a form that overrides the method.
    FORM = 'form'
    #: A write that the guard does not know.
    UNKNOWN = 'unknown'


@dataclasses.dataclass(frozen=True)
class Classification:
    """A request that the guard must examine.

    :ivar ident: the uuid or name of the node, if the path is canonical.
    :ivar detail: whether a list has all details.
    :ivar act: the protected act.
    :ivar names: for an unknown write, the segments of the path without ``v1``.
    """

    kind: Kind
    ident: str | None = None
    detail: bool = False
    act: node_acts.NodeAct | None = None
    names: tuple[str, ...] = ()


def classify(method: str, path: str, query: str = '', content_type: str = '',
             has_body: bool = False) -> Classification | None:
    """Return how the guard must examine a request.

    :param path: ``PATH_INFO``: percent-decoded, in Latin-1.
    :param query: ``QUERY_STRING`` as received.
    :param has_body: whether the request has or may have a body.
    :returns: ``None`` if it need not.
    :raises NotCanonical: the request could reach a guarded action, but is not
        in canonical form.
    """
    if method not in _METHODS:
        raise _refusal(f'The method {method[:20]!r} is not an HTTP method, '
                       'and Ironic would use it as the name of an action.',
                       'Use GET, POST, PUT, PATCH or DELETE')
    if query and _METHOD_PARAMETER in parse.unquote_plus(query):
        _refuse_method_parameter(query)
    names = segments(path)
    suffixed = bool(names) and names[-1].endswith(_SUFFIX)
    if method in _READS:
        return _classify_read(names, query)
    if '/__' in path:
        raise _refusal('A part of the path begins with two underscores, and '
                       'Ironic would use it as the name of an attribute.',
                       'Name the node by its uuid')
    if not names:
        return None
    root = names[0]
    bare = root[:-len(_SUFFIX)] if suffixed and len(names) == 1 else root
    clean = path[:1] == '/' and '//' not in path
    if bare not in _ROOTS:
        found = _classify_unknown(method, names, clean)
        if found is None:
            return None
    elif bare in node_acts.PORTS:
        act = node_acts.classify_port(method, names, clean, query)
        found = (None if act is None
                 else Classification(Kind.ACT, act=act))
    elif bare == 'volume':
        act = node_acts.classify_volume(method, names,
                                        clean and not suffixed, query)
        found = (None if act is None
                 else Classification(Kind.ACT, act=act))
    elif bare == 'allocations':
        found = _classify_allocations(method, names, clean and not suffixed,
                                      query)
    else:
        found = _classify_nodes(method, names, clean, suffixed, query)
    if found is None:
        found = _classify_unknown(method, names, clean)
    if not (has_body and media.may_be_form(content_type, method)):
        return found
    if found is not None and found.kind in (Kind.ACT, Kind.UNKNOWN):
        raise _refusal('The body could be a form, which could change the '
                       'method of the request.',
                       'Send it as JSON, with Content-Type application/json')
    return found or Classification(Kind.FORM)


def segments(path: str) -> list[str]:
    """Return the segments of a path without empty ones and ``v1``."""
    names = [name for name in path.split('/')[1:] if name]
    if names and names[0] == 'v1':
        del names[0]
    return names


def _classify_read(names: list[str], query: str) -> Classification | None:
    if not names or len(names) > 2 or not (
            'reserved' in query or 'provision_state' in query
            or '%' in query):
        return None
    last = names[-1].removesuffix(_SUFFIX)
    listed = [*names[:-1], last]
    if listed not in (['nodes'], ['nodes', 'detail']):
        return None
    return Classification(Kind.LIST, detail=len(listed) == 2)


def _classify_allocations(method: str, names: list[str], clean: bool,
                          query: str) -> Classification | None:
    if method != 'POST':
        act = node_acts.classify_allocation(method, names, clean, query)
        return None if act is None else Classification(Kind.ACT, act=act)
    if clean and len(names) == 1 and not query:
        return Classification(Kind.ALLOCATE)
    raise _refusal('This request could create an allocation.',
                   'Send POST /v1/allocations without a query')


def _classify_nodes(method: str, names: list[str], clean: bool,
                    suffixed: bool, query: str) -> Classification | None:
    plain = [name.removesuffix(_SUFFIX) for name in names]
    under = plain[2:]
    if method == 'POST' and plain == ['nodes']:
        return Classification(Kind.ENROLL)
    if 'provision' in under:
        if (method == 'PUT' and clean and not suffixed and not query
                and names[0] == 'nodes' and len(names) == 4
                and names[2:] == ['states', 'provision']
                and names[1] not in _NOT_A_NODE):
            return Classification(Kind.PROVISION, ident=names[1])
        raise _refusal('This request could change the provision state of a '
                       'node.',
                       'Send PUT /v1/nodes/<uuid>/states/provision without '
                       'a query, with the target in a JSON body')
    if method == 'PATCH':
        if names[0] == 'chassis' and 'nodes' not in plain:
            return None
        node_acts.classify(method, names, clean, query)
        if len(names) > 2 and names[0] == 'nodes':
            return _classify_unknown(method, names, clean)
        ident = (names[1] if names[0] == 'nodes' and len(names) == 2
                 and clean and node_acts.is_patch_query(query)
                 and names[1] not in _NOT_A_NODE else None)
        return Classification(Kind.PATCH, ident=ident)
    if method == 'POST' and ('allocation' in under or 'inner' in under):
        raise _refusal('This request could create an allocation.',
                       'Send POST /v1/allocations without a query')
    act = node_acts.classify(method, names, clean, query)
    return None if act is None else Classification(Kind.ACT, act=act)


def _classify_unknown(method: str, names: list[str],
                      clean: bool) -> Classification | None:
    """Return how the guard must examine a write that it does not guard.

    :returns: ``None`` if it need not; any other such write is unknown.
    """
    if method in _NEITHER or known_routes.is_harmless(method, names):
        return None
    named = (clean and names[0] == 'nodes' and len(names) > 1
             and names[1] not in _NOT_A_NODE)
    return Classification(Kind.UNKNOWN, ident=names[1] if named else None,
                          names=tuple(names))


def _refuse_method_parameter(query: str) -> None:
    for part in query.replace(';', '&').split('&'):
        name = parse.unquote_plus(part.partition('=')[0])
        if name.strip() == _METHOD_PARAMETER:
            raise _refusal('The parameter "_method" changes the method of the '
                           'request.',
                           'Send the request with that method itself')


def _refusal(what: str, instead: str) -> errors.NotCanonical:
    return errors.NotCanonical(
        f'{what} Requests that could affect a reserved node are accepted in '
        f'one form only. {instead}.')
