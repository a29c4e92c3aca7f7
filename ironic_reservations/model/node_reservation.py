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

"""Reservations of one node for one instance.

They are unrelated to Ironic's ``node.reservation``, the lock of a conductor.
"""

from __future__ import annotations

import dataclasses
import datetime
import enum


class State(enum.StrEnum):
    """The state of a reservation."""

    #: Not used yet; it expires at ``expires_at``.
    RESERVED = 'reserved'
    #: A request has used it as a proof; its outcome is not known yet.
    STARTING = 'starting'
    #: Ironic has accepted the request; it ends when the node is freed.
    IN_USE = 'in_use'


@dataclasses.dataclass(frozen=True)
class Reservation:
    """One node reserved for one instance.

    :ivar uuid: the uuid, which is also the proof for a deploy.
    :ivar expires_at: the time at which it expires, unless it has been used by
        then.
    :ivar acted: whether its holder has acted on the node; then it keeps the
        node after its end, until the node has been put back.
    :ivar unusable: the reason why its node cannot be used now, if that was
        read: one of ``node_condition.SUSPENDED``.
    """

    uuid: str
    node_uuid: str
    instance_uuid: str
    created_at: datetime.datetime
    updated_at: datetime.datetime | None
    expires_at: datetime.datetime
    state: State = State.RESERVED
    project_id: str | None = None
    user_id: str | None = None
    id: int | None = None
    acted: bool = False
    unusable: str | None = dataclasses.field(default=None, compare=False)

    @property
    def suspended(self) -> str | None:
        """The reason why an unused reservation is suspended, or ``None``."""
        return self.unusable if self.unused else None

    @property
    def unused(self) -> bool:
        """Whether no deploy has used it, so that it ends at ``expires_at``."""
        return self.state is State.RESERVED

    def live(self, now: datetime.datetime) -> bool:
        """Return whether the reservation keeps its node at an instant.

        A node on which its holder has acted is kept until it is put back.
        """
        return self.acted or not self.unused or self.expires_at > now

    def over(self, now: datetime.datetime) -> bool:
        """Return whether it is over, and keeps its node to be put back."""
        return self.acted and self.unused and self.expires_at <= now

    def same(self, other: Reservation) -> bool:
        """Return whether this is a later version of another one.

        The uuid is not enough, since clients choose it and may reuse it; and a
        database may reuse an id.
        """
        return (self.id, self.uuid, self.node_uuid, self.instance_uuid,
                self.project_id, self.user_id, self.created_at) == (
            other.id, other.uuid, other.node_uuid, other.instance_uuid,
            other.project_id, other.user_id, other.created_at)
