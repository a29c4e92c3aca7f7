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

"""Ask Ironic, as the caller, for the node or allocation of a request."""

from __future__ import annotations

from typing import Any

from oslo_log import log
from oslo_utils import uuidutils

from ironic_reservations import errors
from ironic_reservations.api import wsgi
from ironic_reservations.clouds import ironic_objects
from ironic_reservations.guard import callers
from ironic_reservations.guard import identity
from ironic_reservations.guard import inward
from ironic_reservations.model import uuids

LOG = log.getLogger(__name__)

_NODE = 'fields=uuid,instance_uuid,owner,lessee,provision_state,parent_node'
_ALLOCATION = 'fields=uuid,node_uuid'
_BELOW = 'fields=uuid,node_uuid'

canonical = uuids.canonical


class RefusedByIronic(Exception):
    """A refusal by Ironic itself, whose answer is passed on."""

    def __init__(self, answer: wsgi.Answer) -> None:
        super().__init__(answer.status)
        self.answer = answer


class Resolver:
    """Asks Ironic with the latest API version.

    Older versions do not accept names of nodes, or remove ".json" from a name.

    :param app: Ironic's application.
    :param strategy: Ironic's ``auth_strategy``.
    :param objects: Ironic's objects, to read nodes with; ``None``: by
        requests.
    """

    def __init__(self, app: wsgi.Application, strategy: str,
                 objects: ironic_objects.Objects | None = None) -> None:
        self._app = app
        self._strategy = strategy
        # Where callers are authenticated, the request for the node does both.
        self._objects = objects if strategy == identity.NOAUTH else None

    def node(self, environ: wsgi.Environ, ident: str) -> callers.Node:
        """Return a node as the caller sees it.

        :raises RefusedByIronic: the caller may not read it, or there is no
            such node.
        """
        known = self._read(environ, ident)
        if known is not None:
            return known
        found, caller = self._ask(environ, 'nodes', ident, _NODE)
        return callers.Node(found['uuid'], found.get('instance_uuid'), caller,
                            found.get('owner'), found.get('lessee'),
                            found.get('provision_state'),
                            environ.get(inward.PROJECT_HEADER_KEY),
                            found.get('parent_node') or None)

    def _read(self, environ: wsgi.Environ,
              ident: str) -> callers.Node | None:
        """Read a node through the objects of Ironic.

        :returns: ``None`` if Ironic's API must be asked: there is no such
            node, the objects cannot be used, or the node is given by name.
        """
        if (self._objects is None or not uuidutils.is_uuid_like(ident)
                or ident != canonical(ident)):
            return None
        caller = identity.request_ids(environ)
        try:
            found = self._objects.read(caller, ident, with_traits=False)
        except Exception:
            # These objects are not a public interface of Ironic, so any
            # exception is possible.
            LOG.warning('Node %s could not be read through the objects of '
                        'Ironic; its API is asked', ident, exc_info=True)
            return None
        if found is None:
            return None
        environ[identity.CALLER] = caller
        return callers.Node(found.uuid, found.instance_uuid, caller,
                            found.owner, found.lessee, found.provision_state,
                            parent=found.parent_node)

    def node_of_allocation(self, environ: wsgi.Environ, ident: str
                           ) -> tuple[str, callers.Node | None]:
        """Return the uuid of an allocation, and its node if it has one.

        :raises RefusedByIronic: the caller may not read it, or there is none.
        """
        found, caller = self._ask(environ, 'allocations', ident, _ALLOCATION)
        uuid, node_uuid = found['uuid'], found.get('node_uuid')
        return uuid, (None if node_uuid is None
                      else callers.Node(node_uuid, uuid, caller))

    def node_of(self, environ: wsgi.Environ, kind: str, ident: str) -> str:
        """Return the uuid of the node of a volume, port or port group.

        :param kind: ``volume/targets``, ``volume/connectors``, ``ports`` or
            ``portgroups``.
        :raises RefusedByIronic: the caller may not read it, or there is none.
        """
        found, _ = self._ask(environ, kind, ident, _BELOW)
        return str(found['node_uuid'])

    def _ask(self, environ: wsgi.Environ, kind: str, ident: str, query: str
             ) -> tuple[Any, dict[str, Any]]:
        _check_segment(ident)
        outer = environ
        if self._strategy != identity.NOAUTH:
            # Without the client's identity headers, only those that Ironic's
            # authentication writes are there afterwards.
            environ = identity.without(environ)
        seen = inward.asking(
            environ, f'/v1/{kind}/{ident}', query,
            # NOTE: Ironic 39 answers 500 to "latest" if the path ends with
            # ".json"; since 1.91 it leaves the suffix alone.
            '1.91' if ident.endswith('.json') else 'latest')
        answer = inward.call(self._app, seen)
        caller = identity.about_caller(seen, outer)
        if answer.status != 200:
            check_scope(answer, caller)
            raise RefusedByIronic(answer)
        outer[identity.CALLER] = caller
        return inward.document(answer), caller


def check_scope(answer: wsgi.Answer, caller: wsgi.Environ) -> None:
    """Check that the scope of a caller's token is not why Ironic failed.

    Ironic answers 500 where its policy does not know the scope.

    :raises Forbidden: the token is for a domain.
    """
    if answer.status == 500 and caller.get('HTTP_X_DOMAIN_ID'):
        raise errors.Forbidden(
            'Your token is for a domain, and Ironic does not serve such '
            f'tokens. {errors.USE_A_PROJECT}')


def _check_segment(ident: str) -> None:
    """Check that the name of an object can be a part of a path of Ironic.

    A name in a body can be any string.

    :raises InvalidValue: nothing has such a name.
    :raises NotCanonical: Ironic would not use it as a name.
    """
    try:
        # A path of WSGI is in Latin-1.
        ident.encode('latin-1')
        possible = '/' not in ident and ident not in ('', '.', '..')
    except UnicodeEncodeError:
        possible = False
    if not possible:
        raise errors.InvalidValue(
            f'No node has the name {ascii(ident)[:80]}.')
    if ident.startswith('__'):
        raise errors.NotCanonical(
            f'The name {ascii(ident)[:80]} begins with two underscores, and '
            'Ironic would use it as the name of an attribute. Send the uuid.')
