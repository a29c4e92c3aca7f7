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

"""Hosts, the nodes that are open to leases, through python-ironicclient."""

from __future__ import annotations

import builtins
from collections.abc import Mapping
from typing import Any

from ironic_reservations_client import resource
from ironic_reservations_client import resources

#: The field "properties" is made of the others here.
_OWN = {field.name for field in resources.HOST.fields} - {'properties'}


class Host(resource.Resource):
    """A node that an operator has opened to leases.

    Its attributes are those of the API: ``id``, ``node_uuid``, ``name``,
    ``hypervisor_hostname``, ``resource_class``, ``reservable`` and so on,
    and the capabilities that the operator has given it.
    """

    describes = resources.HOST

    @property
    def shown_name(self) -> str:
        """The name of the node, or its UUID if it has no name."""
        return str(self.name or self.hypervisor_hostname)

    @property
    def capabilities(self) -> dict[str, str]:
        """The properties of the host that leases can require."""
        return {name: value for name, value in self._info.items()
                if name not in _OWN}


class HostManager(resource.Collection[Host]):
    """The operations on hosts."""

    resource_class = Host

    def create(self, name: str,
               capabilities: Mapping[str, str] | None = None) -> Host:
        """Open a node to leases, or a compute host of Nova.

        :param name: the name or UUID of the node, or of the compute host's
            provider in Placement.
        :param capabilities: properties that leases can require.
        :raises NotFound: there is no such node or compute host.
        :raises Conflict: the node is a host already.
        """
        return self._ask('POST', self._path(),
                         body={**(capabilities or {}), 'name': name})

    def list(self, limit: int | None = None, marker: str | None = None
             ) -> builtins.list[Host]:
        """List hosts, in the order in which they were opened.

        :param limit: the maximum number of hosts; all by default.
        :param marker: the id of the last host of the previous page.
        """
        return self._list({'limit': limit or None, 'marker': marker}, limit)

    def change(self, ident: str, reservable: bool | None = None,
               capabilities: Mapping[str, str | None] | None = None) -> Host:
        """Change properties of a host, or close it to leases.

        :param ident: the id of the host, or the name or the UUID of its node.
        :param reservable: whether leases may get the host.
        :param capabilities: properties that leases can require; ``None``
            removes one.
        :raises NotFound: there is no such host.
        """
        body: dict[str, Any] = {
            **(capabilities or {}),
            **resources.HOST.body(reservable=reservable)}
        return self._ask('PUT', self._path_of(ident), body=body)
