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

"""Counts the reservations of a project."""

from __future__ import annotations

from collections.abc import Collection
from collections.abc import Mapping
import dataclasses
import datetime

import sqlalchemy as sa

from ironic_reservations import errors
from ironic_reservations.db import connection as db_connection
from ironic_reservations.db import reservations as db_reservations
from ironic_reservations.engine import ceiling
from ironic_reservations.model import count_text
from ironic_reservations.model import limits
from ironic_reservations.model import node_reservation

#: The kind of lock of the projects whose reservations are counted.
RESERVATIONS = 'reservations'


@dataclasses.dataclass(frozen=True, kw_only=True)
class FullClasses(ceiling.FullClasses):
    """The resource classes whose limit a project had reached at the plan.

    :ivar names: the number of its unused reservations by class.
    """

    names: Mapping[str, int]
    allowed: limits.Limits

    def refusal(self) -> errors.ReservationLimit:
        """See the base class."""
        name, used = min(self.names.items())
        most = self.allowed.max_per_class[name]
        return errors.ReservationLimit(
            'The project may reserve no more nodes of some classes '
            '([reservations] max_per_class), and no other node can be '
            'reserved. '
            'Unused reservations: '
            + ', '.join(f'{count} of {each}' for each, count in sorted(
                self.names.items()))
            + '. Use or delete one of them first, or ask for nodes of other '
            'classes.', limit='max_per_class', resource_class=name,
            allowed=most, used=used, asked=1)


def check_made(allowed: limits.Limits, connection: sa.Connection,
               made: node_reservation.Reservation,
               resource_class: str | None, full: Collection[str]) -> None:
    """Check the limits for a reservation that was just written.

    The transaction holds the lock of the project.

    :param resource_class: the class of the node, if it has one.
    :param full: the classes whose limit was reached when the node was chosen.
    :raises ReservationLimit: the limit of reservations is reached.
    :raises Conflict: the limit of the class has been reached meanwhile.
    """
    most, now = allowed.max_per_project, made.created_at
    there = read_full(allowed, connection, made.project_id, now, made.uuid)
    if resource_class in there:
        # The mirror may have got the node or its class after that read.
        if resource_class in full:
            raise FullClasses(names=there, allowed=allowed).refusal()
        raise db_connection.Conflict(
            f'the project has got other nodes of {resource_class}')
    used = db_reservations.count_waiting(connection, made.project_id, now,
                                         made.uuid)
    if most and used >= most:
        raise errors.ReservationLimit(
            f'The project has {count_text.counted(used, "reservation")} that '
            f'{"has" if used == 1 else "have"} not been used yet, and '
            f'[reservations] max_per_project allows {most}. Use or delete '
            'one of them first.', limit='max_per_project', allowed=most,
            used=used, asked=1)


def read_full(allowed: limits.Limits, connection: sa.Connection,
              project_id: str | None, now: datetime.datetime,
              but: str = '') -> dict[str, int]:
    """Read the resource classes whose limit a project has reached.

    :param but: the uuid of a reservation that is not counted.
    :returns: the number of its unused reservations by class.
    """
    if not allowed.max_per_class:
        return {}
    used = db_reservations.count_waiting_by_class(connection, project_id, now,
                                                  but)
    return {name: used[name] for name, most in allowed.max_per_class.items()
            if used.get(name, 0) >= most}
