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

"""The names of nodes in refusals, as the user of a command knows them."""

from __future__ import annotations

from collections.abc import Iterator
import contextlib
from typing import Any

from ironicclient import exc
from oslo_utils import uuidutils

from ironic_reservations_client import errors
from ironic_reservations_client.osc import lease_plan


@contextlib.contextmanager
def in_refusals(client: Any) -> Iterator[None]:
    """Add the names of nodes to a refusal, where Ironic shows them.

    :param client: an Ironic client.
    """
    try:
        yield
    except errors.Refused as refused:
        uuids = {str(reason['node_uuid']) for reason in refused.reasons
                 if reason.get('node_uuid')}
        refused.name_nodes(names(client, uuids))
        raise


def names(client: Any, uuids: set[str]) -> dict[str, str]:
    """Return the names of nodes that Ironic shows the caller, by UUID.

    :param client: an Ironic client.
    """
    try:
        known = lease_plan.known_nodes(client, uuids)
    except exc.ClientException:
        # NOTE: the user has to see the answer, even without names.
        return {}
    return {uuid: node['name'] for uuid, node in known.items()
            if node['name']}


def node_uuid(client: Any, ident: str) -> str:
    """Return the UUID of a node.

    :param client: an Ironic client.
    :param ident: its name or UUID.
    :raises NotFound: Ironic shows no such node.
    """
    if uuidutils.is_uuid_like(ident):
        return ident
    return str(client.node.get(ident, fields=['uuid']).uuid)
