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

"""Maintenance windows, as operators request them."""

from __future__ import annotations

import dataclasses
import datetime

from ironic_reservations.model import node_window

State = node_window.State


@dataclasses.dataclass(frozen=True)
class Window:
    """A maintenance window.

    :ivar drain: whether the maintenance of each node waits for the end of its
        present use.
    """

    id: str
    name: str
    reason: str
    starts_at: datetime.datetime
    ends_at: datetime.datetime
    created_at: datetime.datetime
    drain: bool = False
    updated_at: datetime.datetime | None = None
    project_id: str | None = None
    user_id: str | None = None
    nodes: tuple[node_window.NodeWindow, ...] = ()

    @property
    def state(self) -> State:
        """The state of the whole window."""
        states = {each.state for each in self.nodes}
        if states <= {State.OVER}:
            return State.OVER
        return State.PLANNED if states <= {State.PLANNED} else State.ACTIVE
