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

"""Which handler is at which path, and the documents that tell clients."""

from __future__ import annotations

from collections.abc import Mapping
import functools
import pathlib
from typing import Any

from oslo_config import cfg
import pecan
import yaml

from ironic_reservations import errors
from ironic_reservations.api import expose
from ironic_reservations.api import url
from ironic_reservations.api import versions
from ironic_reservations.api.middleware import front

_METHODS = {'GET': 'get', 'POST': 'post', 'PUT': 'put', 'PATCH': 'patch',
            'DELETE': 'delete'}
#: Stands for one segment, which the handler is given.
ANY = '*'


class Resource:
    """Something at a path; methods named for HTTP's serve them."""

    def served(self, minor: int) -> bool:
        """Check whether there is anything here at a version."""
        return any(self._has(method, minor) for method in _METHODS)

    def allowed(self, minor: int) -> list[str]:
        """List the HTTP methods that there are at a version."""
        out = [method for method in _METHODS if self._has(method, minor)]
        if 'GET' in out:
            out.insert(out.index('GET') + 1, 'HEAD')
        return [*out, 'OPTIONS']

    def _has(self, method: str, minor: int) -> bool:
        handler = getattr(self, _METHODS[method], None)
        return handler is not None and handler.since <= minor

    def handler(self, method: str, minor: int) -> Any:
        """Give what serves a method at a version.

        :raises MethodNotAllowed: nothing does.
        """
        if method == 'OPTIONS':
            return self.options
        if method in _METHODS and self._has(method, minor):
            return getattr(self, _METHODS[method])
        allow = self.allowed(minor)
        later = getattr(self, _METHODS.get(method, ''), None)
        raise errors.MethodNotAllowed(
            f'{method[:20]!r} is not served at this path; '
            f'{", ".join(allow)} are.'
            + (f' It came with version {versions.text(later.since)}, and '
               f'version {versions.text(minor)} is in use.'
               if later is not None else ''), allow=allow)

    @expose.expose()
    def options(self, call: expose.Call, *segments: str) -> pecan.Response:
        """Tell which methods there are."""
        return expose.empty(Allow=', '.join(self.allowed(call.minor)))


class Root:
    """The root that pecan routes from.

    NOTE: pecan would find handlers by the names of attributes, and by query
    parameters; this goes by the whole path and nothing else.

    :param resources: by path, in segments.
    """

    def __init__(self, resources: Mapping[tuple[str, ...], Resource]) -> None:
        self._resources = dict(resources)

    @pecan.expose()
    def _route(self, segments: list[str],
               request: pecan.Request) -> tuple[Any, list[str]]:
        minor = request.environ[front.MINOR]
        found = self._find(tuple(segments))
        # NOTE: to an older version, what came later is not there.
        if found is None or not found[0].served(minor):
            raise errors.ResourceNotFound('There is nothing at this path.')
        resource, given = found
        return resource.handler(request.method, minor), given

    def _find(self, segments: tuple[str, ...]
              ) -> tuple[Resource, list[str]] | None:
        if segments in self._resources and ANY not in segments:
            return self._resources[segments], []
        # NOTE: no path has more than one part that stands for something.
        for index in reversed(range(len(segments))):
            pattern = (*segments[:index], ANY, *segments[index + 1:])
            if segments[index] and pattern in self._resources:
                return self._resources[pattern], [segments[index]]
        return None


class VersionDocument(Resource):
    """What keystoneauth discovers the API and its versions by.

    :param whole: all major versions, as at the root; else the only one.
    """

    def __init__(self, conf: cfg.ConfigOpts, whole: bool) -> None:
        self._conf = conf
        self._whole = whole

    @expose.expose()
    def get(self, call: expose.Call) -> pecan.Response:
        """Describe the versions."""
        root = url.root(call.environ, self._conf)
        version = {
            'id': f'v{versions.MAJOR}', 'status': 'CURRENT',
            'min_version': versions.text(versions.MINIMUM),
            'version': versions.text(versions.MAXIMUM),
            'links': [{'rel': 'self',
                       'href': f'{root}/v{versions.MAJOR}/'},
                      {'rel': 'describedby', 'type': expose.JSON,
                       'href': f'{root}/openapi.json'}]}
        if not self._whole:
            return expose.answer({'version': version})
        return expose.answer({
            'name': 'OpenStack bare metal reservations',
            'description': 'Reserves bare metal nodes of Ironic.',
            'versions': [version], 'default_version': version})


class Description(Resource):
    """The OpenAPI description of all this."""

    @expose.expose()
    def get(self, call: expose.Call) -> pecan.Response:
        """Give the description as JSON."""
        return expose.answer(_description())


@functools.cache
def _description() -> Any:
    path = pathlib.Path(__file__).parents[1] / 'openapi.yaml'
    return yaml.safe_load(path.read_text('utf-8'))
