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

"""The nodes that a caller may see."""

from __future__ import annotations

import dataclasses

from ironic_reservations.model import mirrored_node


@dataclasses.dataclass(frozen=True)
class Visibility:
    """The nodes that a caller may see.

    :ivar everything: whether the caller sees all nodes (an administrator).
    :ivar project_id: for any other caller, the project whose owned and leased
        nodes it sees.
    """

    everything: bool = False
    project_id: str | None = None

    def sees(self, node: mirrored_node.Node) -> bool:
        """Return whether the caller may see a node."""
        if self.everything:
            return True
        return (self.project_id is not None
                and self.project_id in (node.owner, node.lessee))
