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

"""Check that the service may change the maintenance of a node.

This is checked right before the change, since an operator may have put the
node into maintenance after the sender of the change read it.
"""

from __future__ import annotations

from ironic_reservations import errors
from ironic_reservations.db import handovers as db_handovers
from ironic_reservations.db import host_views as db_host_views
from ironic_reservations.engine import Engine
from ironic_reservations.model import in_flight
from ironic_reservations.model import node_window

#: The acts that change the maintenance of a node.
ACTS = (in_flight.Act.SET_MAINTENANCE, in_flight.Act.CLEAR_MAINTENANCE)


def check(engine: Engine, node_uuid: str, act: in_flight.Act,
          maintained: bool, reason: str | None) -> None:
    """Check that no maintenance of others would be replaced or cleared.

    :param act: one of :data:`ACTS`.
    :param maintained: whether Ironic shows the node in maintenance.
    :param reason: the maintenance reason that Ironic shows.
    :raises TicketInvalid: an operator has set the maintenance.
    """
    if act is in_flight.Act.SET_MAINTENANCE:
        if not maintained:
            return
    elif maintained:
        now = engine.clock()
        with engine.database.read() as connection:
            there = db_host_views.read_one(connection, node_uuid, now, now,
                                           windows=True).windows
            handover = db_handovers.read_one(connection, node_uuid)
        if handover is not None and handover.maintains(reason):
            return
        if any(each.late(now) and node_window.is_marked(
                each.window_id, reason) for each in there):
            return
    raise errors.TicketInvalid(
        f'The maintenance of node {node_uuid} was changed in Ironic after '
        'the reconciler had looked at it. Nothing was changed; the '
        'reconciler looks again.')
