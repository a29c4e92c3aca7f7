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

"""The nodes of Ironic that a caller sees, and their names."""

from __future__ import annotations

from collections.abc import Collection
from collections.abc import Iterator
from collections.abc import Sequence
import contextlib
from typing import Any

from ironicclient import exc
from keystoneauth1 import exceptions as ksa_exceptions
from oslo_utils import uuidutils

from ironic_reservations_client import errors

#: From so many nodes on, one list of all is quicker than asking for each.
_MANY = 16
#: The fields that tables have.
_SHOWN = ('uuid', 'name', 'provision_state')


def read(client: Any, uuids: Collection[str],
         fields: Sequence[str] = _SHOWN) -> dict[str, Any]:
    """Return the nodes that Ironic shows the caller, by UUID.

    :param client: an Ironic client.
    """
    if len(uuids) >= _MANY:
        wanted = set(uuids)
        with _unseen():
            return {node.uuid: node
                    for node in client.node.list(limit=0, fields=[*fields])
                    if node.uuid in wanted}
    found = {}
    for uuid in uuids:
        with _unseen():
            found[uuid] = client.node.get(uuid, fields=[*fields])
    return found


def _unseen() -> contextlib.AbstractContextManager[None]:
    """Ignore that Ironic does not show nodes, or that there is no Ironic."""
    # A member sees the nodes of a lease in Ironic from its start on only, as
    # their lessee.
    return contextlib.suppress(exc.NotFound, exc.Forbidden)


def names(client: Any, uuids: Collection[str]) -> dict[str, str]:
    """Return the names of nodes that Ironic shows the caller, by UUID.

    :param client: an Ironic client.
    """
    try:
        return {uuid: node.name for uuid, node in read(client, uuids).items()
                if node.name}
    except (exc.ClientException, ksa_exceptions.ClientException):
        # The user has to see the answer, even without names.
        return {}


@contextlib.contextmanager
def named_in_refusals(client: Any) -> Iterator[None]:
    """Add the names of nodes to a refusal, where Ironic shows them.

    :param client: an Ironic client.
    """
    try:
        yield
    except errors.Refused as refused:
        refused.name_nodes(names(client, {
            str(reason['node_uuid']) for reason in refused.reasons
            if reason.get('node_uuid')}))
        raise


def uuid_of(client: Any, ident: str) -> str:
    """Return the UUID of a node.

    :param client: an Ironic client.
    :param ident: the name or UUID of the node.
    :raises NotFound: Ironic shows no such node.
    """
    return (ident if uuidutils.is_uuid_like(ident)
            else str(get(client, ident, ['uuid']).uuid))


def get(client: Any, ident: str, fields: Sequence[str]) -> Any:
    """Return a node.

    :param client: an Ironic client.
    :param ident: the name or UUID of the node.
    :raises NotFound: Ironic shows no such node; the text names the list of
        nodes.
    :raises NoNodes: this is the standalone service.
    """
    try:
        return client.node.get(ident, fields=[*fields])
    except exc.NotFound as error:
        errors.check_nodes(error)
        error.args = (f'{error} "baremetal node list" lists the nodes that '
                      'you may see.',)
        raise
