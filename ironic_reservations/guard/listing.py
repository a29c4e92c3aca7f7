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


"""Hide reserved nodes in lists of eligible nodes.

Eligible nodes are ``available`` and not associated.  All other lists show all
nodes, since nova-compute would take a missing node for a deleted one.
"""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Collection
import dataclasses
import json
from typing import Any
from urllib import parse

from oslo_utils import strutils

from ironic_reservations import errors
from ironic_reservations.api import wsgi
from ironic_reservations.guard import inward

_AVAILABLE = 'available'
#: The size of the pages after the first one.
_PAGE = 1000

#: Returns Ironic's answer to a list with these parameters.
Ask = Callable[[list[tuple[str, str]]], wsgi.Answer]


@dataclasses.dataclass(frozen=True)
class EligibleList:
    """A list of eligible nodes.

    :ivar reserved: whether the list is of reserved nodes, or of the others.
    :ivar parameters: the whole query as received.
    """

    reserved: bool
    parameters: tuple[tuple[str, str], ...]

    def last(self, name: str) -> str | None:
        """Return the value of a parameter."""
        return dict(self.parameters).get(name)


def wanted(query: str) -> EligibleList | None:
    """Return the parsed query if it asks for eligible nodes.

    :param query: the query of GET /v1/nodes.
    :raises InvalidValue: ``reserved`` is neither true nor false.
    """
    parameters = tuple(parse.parse_qsl(query, keep_blank_values=True))
    named = [value for name, value in parameters if name == 'reserved']
    if named:
        if len(named) > 1 or _boolean(named[0]) is None:
            raise errors.InvalidValue(
                'The parameter "reserved" must be true or false, and be sent '
                'once.')
        return EligibleList(bool(_boolean(named[0])), parameters)
    states = [value for name, value in parameters
              if name == 'provision_state']
    associated = [value for name, value in parameters
                  if name == 'associated']
    if (states == [_AVAILABLE] and len(associated) == 1
            and _boolean(associated[0]) is False):
        return EligibleList(False, parameters)
    return None


def _boolean(text: str) -> bool | None:
    try:
        return strutils.bool_from_string(text, strict=True)
    except ValueError:
        return None


def fill(wanted: EligibleList, ask: Ask,
         reserved: Collection[str]) -> wsgi.Answer:
    """Return a full page, from as many pages of Ironic as necessary.

    :param reserved: the nodes that are reserved now.
    :returns: the page, or the first answer of Ironic that is not a page.
    """
    fields = wanted.last('fields')
    # For an empty list of fields, Ironic shows nothing but the links.
    added = fields is not None and 'uuid' not in (
        field.strip().lower() for field in fields.split(','))
    kept = [(name, value) for name, value in wanted.parameters
            if name not in ('reserved', 'limit', 'marker')]
    sent = ([(name, value + ',uuid' if name == 'fields' else value)
             for name, value in kept] if added else list(kept))
    first = [(name, value) for name, value in wanted.parameters
             if name in ('limit', 'marker')]
    answer = ask(sent + first)
    if answer.status != 200:
        return answer
    body = inward.document(answer)
    there: list[Any] = body['nodes']
    more: str | None = body.get('next')
    base = more and more.partition('?')[0]
    # Only a full page has a next one, so its length is Ironic's limit.
    limit = len(there) if more else None
    shown: list[Any] = []
    marker = None
    while True:
        examined = 0
        for item in there:
            if len(shown) == limit:
                break
            examined += 1
            marker = item['uuid']
            if (marker in reserved) == wanted.reserved:
                shown.append(item)
        exhausted = not more and examined == len(there)
        if exhausted or len(shown) == limit or not there:
            break
        answer = ask([*sent, ('limit', str(max(limit or 0, _PAGE))),
                      ('marker', str(marker))])
        if answer.status != 200:
            return answer
        page = inward.document(answer)
        there, more = page['nodes'], page.get('next')
    body['nodes'] = [_without_uuid(item) for item in shown] if (
        added) else shown
    body.pop('next', None)
    if shown and not exhausted:
        body['next'] = (f'{base}?' + parse.urlencode(
            [*_outward(wanted), ('limit', str(limit)), ('marker', marker)]))
    raw = json.dumps(body).encode('ascii')
    headers = [(name, value) for name, value in answer.headers
               if name.lower() not in ('content-length', 'etag')]
    return wsgi.Answer(answer.status,
                       [*headers, ('Content-Length', str(len(raw)))], raw)


def _outward(wanted: EligibleList) -> list[tuple[str, str]]:
    return [(name, value) for name, value in wanted.parameters
            if name not in ('limit', 'marker')]


def _without_uuid(item: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in item.items() if key != 'uuid'}
