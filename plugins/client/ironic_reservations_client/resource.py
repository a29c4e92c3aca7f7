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

"""The resources of our API, and their managers, for python-ironicclient."""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Iterable
from collections.abc import Iterator
import contextlib
from typing import Any
from typing import cast
from typing import ClassVar
from typing import Generic
from typing import TypeVar
from urllib import parse

from ironicclient import exc
from ironicclient.common import base
from ironicclient.v1 import client as ironic_client

from ironic_reservations_client import errors
from ironic_reservations_client import session


class Resource(base.Resource):
    """A resource, whose attributes are those of the API.

    :cvar envelope: in which one resource comes; those of a list have none.
    """

    envelope: ClassVar[str]

    def __init__(self, manager: Any, info: dict[str, Any],
                 loaded: bool = False) -> None:
        super().__init__(manager, info.get(self.envelope, info), loaded)

    def __repr__(self) -> str:
        return f'<{type(self).__name__} {self._info}>'


_R = TypeVar('_R', bound=Resource)


# NOTE: ironicclient's is not generic before 6.1.
class Manager(base.Manager, Generic[_R]):
    """The requests for resources of one kind.

    :param client: an Ironic client, as ``ironicclient.client.get_client``
        returns it.  Its session, credentials and settings are used.
    :param endpoint: where the resources are served, if not at the endpoint
        of the Ironic client.
    :cvar speaks: the versions that the requests name.
    """

    speaks: ClassVar[type[session.ReservationSession]] = (
        session.ReservationSession)

    def __init__(self, client: ironic_client.Client,
                 endpoint: str | None = None) -> None:
        super().__init__(self.speaks(client.http_client, endpoint=endpoint))

    def _ask(self, method: str, path: str, **kwargs: Any) -> _R:
        _response, found = self.api.json_request(method, path, **kwargs)
        return cast(_R, self.resource_class(self, found, loaded=True))


class Collection(Manager[_R]):
    """The requests for resources that are addressed by an identifier."""

    def get(self, ident: str) -> _R:
        """Get one.

        :param ident: its id or UUID; for a host also the name or UUID of its
            node.
        :raises NotFound: none is visible.
        """
        return cast(_R, self._get(parse.quote(ident, safe='')))

    def delete(self, ident: str) -> None:
        """Delete one: a lease or a window ends now, or never starts.

        :param ident: as for :meth:`get`.
        :raises NotFound: none is visible.
        :raises Conflict: a host has been promised to leases.
        """
        self._delete(parse.quote(ident, safe=''))


def named(name: str, found: Iterable[_R], over: Callable[[_R], bool],
          thing: str, key: str, remark: str) -> _R:
    """Return the one resource that has a name.

    :param over: tells whether one has ended, so that its name may be used
        again.
    :param thing: what it is called in sentences.
    :param key: the attribute with its identifier.
    :param remark: ends the sentence that there is none.
    :raises NotFound: there is none.
    :raises ironicclient.exc.CommandError: there are several.
    """
    every = [each for each in found if each.name == name]
    chosen = [each for each in every if not over(each)] or every
    if not chosen:
        raise exc.NotFound(f'There is no {thing} {name!r}{remark}')
    if len(chosen) > 1:
        raise exc.CommandError(
            f'{len(chosen)} {thing}s have the name {name!r}: '
            f'{", ".join(getattr(each, key) for each in chosen)}. Use the '
            f'{"UUID" if key == "uuid" else key} of one of them.')
    return chosen[0]


@contextlib.contextmanager
def served_since(version: str, lacking: str) -> Iterator[None]:
    """Raise what it means that a resource is not found.

    :param version: the version of the API that it came with.
    :param lacking: what an older service does not do.
    :raises NotServed: the service is older than that.
    """
    try:
        yield
    except (exc.NotFound, errors.NotServed) as error:
        raise errors.NotServed(
            f'The service {lacking} came with version {version} of the '
            'reservation API.') from error
