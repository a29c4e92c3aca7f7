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

"""Nodes that are named by either of their names."""

from __future__ import annotations

from typing import Any

from oslo_utils import uuidutils


def node_uuid(client: Any, ident: str) -> str:
    """Return the UUID of a node.

    :param client: an Ironic client.
    :param ident: its name or UUID.
    :raises NotFound: Ironic shows no such node.
    """
    if uuidutils.is_uuid_like(ident):
        return ident
    return str(client.node.get(ident, fields=['uuid']).uuid)
