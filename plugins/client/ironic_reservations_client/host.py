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
from urllib import parse

from ironic_reservations_client import resource
from ironic_reservations_client import session

#: What each host has; all else is what the operator says of it.
FIELDS = ('id', 'hypervisor_hostname', 'node_uuid', 'name',
          'resource_class', 'status', 'reservable', 'vcpus', 'memory_mb',
          'local_gb', 'cpu_info', 'hypervisor_type', 'hypervisor_version',
          'service_name', 'availability_zone', 'trust_id', 'created_at',
          'updated_at')


class Host(resource.Resource):
    """A node that an operator has opened to leases.

    Its attributes are those of the API: ``id``, ``node_uuid``, ``name``,
    ``hypervisor_hostname``, ``resource_class``, ``reservable`` and so on,
    and the capabilities that the operator has given it.
    """

    envelope = 'host'

    @property
    def shown_name(self) -> str:
        """The name of the node, or its UUID if it has no name."""
        # NOTE: older services have no name, but the name as the hostname.
        return str(self._info.get('name') or self.hypervisor_hostname)

    @property
    def capabilities(self) -> dict[str, str]:
        """The properties of the host that leases can ask for."""
        return {name: value for name, value in self._info.items()
                if name not in FIELDS}


class HostManager(resource.Collection[Host]):
    """The operations on hosts."""

    resource_class: type[Host] = Host
    _resource_name: str = 'os-hosts'
    speaks = session.LeaseSession

    def create(self, name: str,
               capabilities: Mapping[str, str] | None = None) -> Host:
        """Open a node to leases, or a compute host of Nova.

        :param name: of the node, or its UUID; or of the provider of the
            compute host in Placement.
        :param capabilities: what to say of it, for leases to ask for.
        :raises NotFound: there is none such.
        :raises Conflict: it is a host already.
        """
        return self._ask('POST', self._path(),
                         body={**(capabilities or {}), 'name': name})

    def list(self, limit: int | None = None, marker: str | None = None
             ) -> builtins.list[Host]:
        """List hosts, in the order in which they were opened.

        :param limit: the largest number to give; all by default.
        :param marker: start after the host of this id.
        """
        query = {name: value for name, value in (
            ('limit', str(limit) if limit else None), ('marker', marker))
            if value is not None}
        path = self._path() + ('?' + parse.urlencode(query) if query else '')
        return self._list_pagination(path, 'hosts', limit=limit)

    def change(self, ident: str, reservable: bool | None = None,
               capabilities: Mapping[str, str | None] | None = None) -> Host:
        """Change properties of a host, or close it to leases.

        :param ident: its id, or the name or the UUID of its node.
        :param reservable: whether leases may get it.
        :param capabilities: what to say of it; ``None`` takes one back.
        :raises NotFound: there is none.
        """
        body: dict[str, Any] = dict(capabilities or {})
        if reservable is not None:
            body['reservable'] = reservable
        return self._ask('PUT', self._path(parse.quote(ident, safe='')),
                         body=body)
