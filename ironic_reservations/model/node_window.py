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

"""Bookings of the operator: maintenance windows of nodes.

A node is booked for a window of maintenance as it is booked for a lease.  Its
maintenance reason in Ironic ends with a mark that identifies the window.
"""

from __future__ import annotations

from collections.abc import Iterable
import dataclasses
import datetime
import enum
import re

from ironic_reservations.model import time_text

_MARK = re.compile(r'\[maintenance window ([0-9a-f-]{36})\]\Z')


class State(enum.StrEnum):
    """The state of a node in a maintenance window."""

    #: The window has changed nothing in Ironic.
    PLANNED = 'planned'
    #: The node is about to be put in maintenance, or has just been.
    STARTING = 'starting'
    #: Ironic shows the node in maintenance with the reason of the window.
    ACTIVE = 'active'
    #: Somebody else has put the node in maintenance, which is not cleared.
    FOREIGN = 'foreign'
    #: The window has no effect in Ironic any more.
    OVER = 'over'


#: The states in which the window may have set maintenance in Ironic.
WRITTEN = (State.STARTING, State.ACTIVE)


@dataclasses.dataclass(frozen=True)
class NodeWindow:
    """One node of a window, with its period [starts_at, ends_at).

    :ivar place: orders the nodes of a window.
    :ivar uuid: the uuid of the row, never reused; empty if it has none.
    """

    window_id: str
    node_uuid: str
    starts_at: datetime.datetime
    ends_at: datetime.datetime
    state: State = State.PLANNED
    place: int = 0
    uuid: str = ''

    @property
    def over(self) -> bool:
        """Whether the window has no effect any more."""
        return self.state is State.OVER

    @property
    def written(self) -> bool:
        """Whether the window may have set maintenance in Ironic."""
        return self.state in WRITTEN

    def stands(self, now: datetime.datetime) -> bool:
        """Return whether the node is kept for the window, now or later.

        This includes a window that is over but not cleared in Ironic yet.
        """
        return self.written or (self.state is not State.OVER
                                and self.ends_at > now)

    def has_node(self, now: datetime.datetime) -> bool:
        """Return whether the window has the node at an instant."""
        return self.stands(now) and (self.written or self.starts_at <= now)

    def ended(self, now: datetime.datetime) -> NodeWindow:
        """Return the window after a request has ended it."""
        return dataclasses.replace(self, ends_at=max(self.starts_at, now),
                                   state=self.state if self.written
                                   else State.OVER)

    def late(self, now: datetime.datetime) -> bool:
        """Return whether the window is over, but not cleared in Ironic."""
        return self.written and self.ends_at <= now


@dataclasses.dataclass(frozen=True)
class Purpose:
    """The name and the reason of a maintenance window."""

    id: str
    name: str
    reason: str


def marked(window_id: str, reason: str) -> str:
    """Return the reason for Ironic that identifies a window."""
    return f'{reason} {_mark(window_id)}'


def is_marked(window_id: str, shown: str | None) -> bool:
    """Return whether a reason in Ironic identifies a window."""
    return shown is not None and shown.endswith(_mark(window_id))


def window_of(shown: str | None) -> str | None:
    """Return the id of the window that a reason in Ironic identifies."""
    found = None if shown is None else _MARK.search(shown)
    return None if found is None else found[1]


def _mark(window_id: str) -> str:
    return f'[maintenance window {window_id}]'


def interruption(windows: Iterable[NodeWindow], starts_at: datetime.datetime,
                 ends_at: datetime.datetime,
                 now: datetime.datetime) -> str | None:
    """Return the maintenance window that interrupts a booking, in words.

    No window is booked over a lease, except with ``force``.

    :param windows: the windows of the node.
    :param starts_at: the start of the booking.
    :param ends_at: the end of the booking.
    """
    for each in windows:
        if (each.stands(now) and not each.late(now)
                and each.starts_at < ends_at and starts_at < each.ends_at):
            return ('is booked for maintenance from '
                    f'{time_text.moment(each.starts_at)} until '
                    f'{time_text.moment(each.ends_at)}')
    return None
