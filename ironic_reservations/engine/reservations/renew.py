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

"""Change the end of a reservation (``PATCH /v1/reservations/<uuid>``)."""

from __future__ import annotations

import dataclasses
import datetime

from ironic_reservations import errors
from ironic_reservations.db import host_views as db_host_views
from ironic_reservations.db import nodes as db_nodes
from ironic_reservations.engine import change
from ironic_reservations.engine import Engine
from ironic_reservations.engine import hard_requests
from ironic_reservations.engine.reservations import displacement
from ironic_reservations.engine.reservations import find
from ironic_reservations.engine.reservations import lifetime
from ironic_reservations.model import host_view
from ironic_reservations.model import limits
from ironic_reservations.model import mirrored_node
from ironic_reservations.model import node_reservation
from ironic_reservations.model import reasons
from ironic_reservations.model import time_text
from ironic_reservations.planner import pick


def renew(engine: Engine, uuid: str,
          expires_at: datetime.datetime | None = None,
          ttl: int | None = None,
          permitted: node_reservation.Reservation | None = None,
          allowed: limits.Limits = limits.NONE
          ) -> node_reservation.Reservation:
    """Change the end of a live reservation, to an earlier or later one.

    Leases on the node before the new end move to other nodes if possible.

    :param permitted: the reservation when the policy was applied; ``None``:
        any reservation with the uuid.
    :param expires_at: the new end, zone-aware; or
    :param ttl: the time to live from now, in seconds.
    :param allowed: the limits of the caller.
    :raises ReservationNotFound: the reservation does not exist, or has
        expired.
    :raises ReservationLimit: the limit for renewals is reached.
    :raises InvalidValue: the time is out of bounds.
    :raises ExtensionRefused: a lease needs the node before that time, or the
        node is in maintenance then.
    :raises Contention: other requests changed the node at each attempt.
    :raises OutcomeUnknown: the reservation may or may not have been renewed.
    """
    def plan() -> change.Planned[node_reservation.Reservation]:
        now = engine.clock()
        end = lifetime.expiry(engine.conf, now, expires_at, ttl)
        with engine.database.snapshot() as connection:
            held, here = find.live(connection, uuid, now, permitted)
            lifetime.check_latest(allowed, held, end)
            node = db_nodes.read_node(connection, held.node_uuid)
            assert node is not None
            view = db_host_views.read_one(connection, node.uuid, now,
                                          windows=True)
        room = _make_room(engine, held, node, view, end)
        extended = dataclasses.replace(held, expires_at=end, updated_at=now)
        # The node is among them, so that a lease that was planned after the
        # old end cannot commit any more.
        renewal = displacement.change_with(
            now, here, room, writes=[change.Write(held, extended)],
            subject=uuid)
        if held.unused:
            renewal.wrong_from(held.expires_at)
        return change.Planned(extended, renewal)
    return change.carry_out(engine, plan)


def _make_room(engine: Engine, held: node_reservation.Reservation,
               node: mirrored_node.Node, view: host_view.HostView,
               end: datetime.datetime) -> displacement.Displacement | None:
    if (held.state is not node_reservation.State.RESERVED
            or end <= held.expires_at):
        return None
    obstacle = pick.maintenance(view, end)
    if obstacle is not None:
        raise _refused(held, obstacle, 'maintenance')
    obstacle = pick.promise(view, end)
    if obstacle is None:
        return None
    room = displacement.on(engine, node, view.now, end, hard_requests.limits())
    if room.lost:
        raise _refused(held, obstacle, 'lease')
    return room


def _refused(held: node_reservation.Reservation, obstacle: reasons.Reason,
             what: str) -> errors.ExtensionRefused:
    return errors.ExtensionRefused(
        f'Node {held.node_uuid} {obstacle.text}. The reservation still ends '
        f'at {time_text.moment(held.expires_at)}; it can be renewed up to the '
        f'start of the {what} at most.', reasons=[obstacle.as_dict()])
