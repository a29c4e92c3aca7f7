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

"""The base classes of the resources of our API, and of their managers.

A manager sends its requests through python-ironicclient, or through another
library for which there is a transport, as in :mod:`sdk`.
"""

from __future__ import annotations

import builtins
from collections.abc import Callable
from collections.abc import Iterable
from collections.abc import Mapping
from typing import Any
from typing import ClassVar
from typing import Generic
from typing import TypeVar
from urllib import parse

from ironicclient import exc
from ironicclient.common import base
from ironicclient.v1 import client as ironic_client
from oslo_utils import uuidutils

from ironic_reservations_client import fields
from ironic_reservations_client import session
from ironic_reservations_client import transport


class Resource(base.Resource):
    """A resource, whose attributes are the fields of the API.

    :cvar describes: the description of the fields.
    """

    describes: ClassVar[fields.Resource]

    def __repr__(self) -> str:
        return f'<{type(self).__name__} {self._info}>'


_R = TypeVar('_R', bound=Resource)


class Manager(Generic[_R]):
    """The requests for resources of one kind.

    :param client: an Ironic client, as ``ironicclient.client.get_client``
        returns it.  Its session, credentials and settings are used.
    :param endpoint: the endpoint of the reservation API; by default that of
        the Ironic client.
    :param version: the required version of the reservation API, such as
        ``1.0``; by default the newest one that both sides support.
    """

    resource_class: type[_R]

    def __init__(self, client: ironic_client.Client,
                 endpoint: str | None = None,
                 version: str | None = None) -> None:
        self._ironic = client
        self._transport: transport.Transport = session.Ironic(
            client.http_client, endpoint, self.describes.of_leases, version)

    @classmethod
    def over(cls, other: transport.Transport) -> Any:
        """Return a manager that sends its requests over another transport."""
        made = cls.__new__(cls)
        made._transport = other
        return made

    @property
    def describes(self) -> fields.Resource:
        """The fields of the resources."""
        return self.resource_class.describes

    def _path(self) -> str:
        return self.describes.path

    def _path_of(self, ident: str) -> str:
        """Return the path of one resource.

        :raises ValueError: the id is missing; the path would be that of all.
        """
        if not ident:
            raise ValueError(f'The id of the {self.describes.name} is '
                             'missing.')
        return f'{self._path()}/{parse.quote(ident, safe="")}'

    def _ask(self, method: str, path: str, **given: Any) -> Any:
        _response, found = self._transport.send(
            method, path, self.describes.name, **given)
        return self._transport.made(self, self.describes.content(found))


class Collection(Manager[_R]):
    """The requests for resources that are addressed by an identifier."""

    def get(self, ident: str) -> _R:
        """Return one resource.

        :param ident: the id or UUID; for a host also the name or UUID of its
            node.
        :raises NotFound: no such resource is visible.
        :raises ValueError: the id is empty or ``None``.
        """
        return self._ask('GET', self._path_of(ident))

    def delete(self, ident: str) -> None:
        """Delete a resource: a lease or a window ends now, or never starts.

        :param ident: as for :meth:`get`.
        :raises NotFound: no such resource is visible.
        :raises Conflict: a host has been promised to leases.
        """
        self._transport.send('DELETE', self._path_of(ident))

    def _list(self, query: Mapping[str, Any], most: int | None = None,
              pages: bool = True, **given: Any) -> builtins.list[_R]:
        """Return resources, page by page.

        :param query: the query of the first page; values that are ``None`` are
            ignored.
        :param most: the maximum number of resources; all by default.
        :param pages: whether to request further pages.
        """
        asked = {name: str(value) for name, value in query.items()
                 if value is not None}
        found: builtins.list[_R] = []
        while True:
            _response, page = self._transport.send(
                'GET', self._path(), self.describes.plural, params=asked,
                **given)
            found += [self._transport.made(self, each)
                      for each in page[self.describes.plural]]
            following = page.get('next')
            if not (following and pages) or most and len(found) >= most:
                return found[:most or None]
            asked = dict(query_of(following))

    def _find(self, ident: str, every: Callable[[], Iterable[_R]],
              over: Callable[[_R], bool], thing: str, remark: str) -> _R:
        """Return the resource with an identifier, or the only one with a name.

        :param every: returns the resources among which a name is looked up.
        :param over: returns whether a resource has ended; its name may be used
            again then.
        :param thing: the name of the kind in sentences.
        :param remark: the end of the error message if there is none.
        :raises NotFound: no resource has the name.
        :raises ironicclient.exc.CommandError: several resources have the name.
        """
        if uuidutils.is_uuid_like(ident):
            return self.get(ident)
        found = [each for each in every() if each.name == ident]
        chosen = [each for each in found if not over(each)] or found
        if not chosen:
            raise exc.NotFound(f'There is no {thing} {ident!r}{remark}')
        if len(chosen) > 1:
            key = self.describes.fields[0].name
            raise exc.CommandError(
                f'{len(chosen)} {thing}s have the name {ident!r}: '
                f'{", ".join(getattr(each, key) for each in chosen)}. Use the '
                f'{"UUID" if key == "uuid" else key} of one of them.')
        return chosen[0]


def query_of(link: str) -> list[tuple[str, str]]:
    """Return the query of a link to another page.

    Its path is not used: the service may have another one here.
    """
    return parse.parse_qsl(parse.urlsplit(link).query, keep_blank_values=True)
