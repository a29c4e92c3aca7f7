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

"""Move the end of a promise (API 1.1, ``PATCH /v1/reservations/<uuid>``)."""

from __future__ import annotations

import datetime

from ironic_reservations import errors
from ironic_reservations.db import bookings as db_bookings
from ironic_reservations.db import nodes as db_nodes
from ironic_reservations.db import reservations as db_reservations
from ironic_reservations.engine import announce
from ironic_reservations.engine import aside
from ironic_reservations.engine import Engine
from ironic_reservations.engine import find
from ironic_reservations.engine import plan
from ironic_reservations.engine import retry
from ironic_reservations.engine import terms
from ironic_reservations.planner import facts
from ironic_reservations.planner import leases
from ironic_reservations.planner import pick


def renew(engine: Engine, uuid: str,
          expires_at: datetime.datetime | None = None,
          ttl: int | None = None) -> facts.Reservation:
    """Let a live reservation end at another time, earlier or later.

    Leases that it would reach into go to other nodes, where that can be.

    :param expires_at: the new end, zone-aware; or
    :param ttl: in so many seconds from now.
    :raises ReservationNotFound: there is none, or it has expired.
    :raises InvalidValue: the time is out of bounds.
    :raises ExtensionRefused: a lease needs the node before that time.
    :raises Contention: others changed the node each time.
    """
    def attempt() -> facts.Reservation:
        now = engine.clock()
        end = terms.expiry(engine.conf, now, expires_at, ttl)
        with engine.database.read() as connection:
            held = db_reservations.read_by_uuid(connection, uuid)
            if held is None or not held.live(now):
                raise errors.ReservationNotFound(find.unknown(uuid))
            node = db_nodes.read_nodes(
                connection, (held.node_uuid,), with_traits=False
            )[held.node_uuid]
            promised = db_bookings.read_of_node(connection, node.uuid, now)
        room = _make_room(engine, held, node,
                          leases.of_node(promised, now), now, end)
        with engine.database.write() as connection:
            # NOTE: a lease that was planned behind the old end is not to be
            # committed any more.
            plan.claim(connection, node, now, False, room)
            if not db_reservations.update_expiry(connection, uuid, end, now):
                raise errors.ReservationNotFound(find.unknown(uuid))
            renewed = db_reservations.read_by_uuid(connection, uuid)
        assert renewed is not None
        return renewed
    renewed = retry.until_committed(attempt)
    engine.announcer.tell(announce.UPDATE, renewed)
    return renewed


def _make_room(engine: Engine, held: facts.Reservation, node: facts.Node,
               leased: facts.Leased, now: datetime.datetime,
               end: datetime.datetime) -> aside.Room | None:
    if held.state is not facts.State.RESERVED or end <= held.expires_at:
        return None
    obstacle = pick.promise(node.uuid, facts.Occupancy(leased=leased), end)
    if obstacle is None:
        return None
    room = aside.on(engine, node, now, end)
    if room.lost:
        raise errors.ExtensionRefused(
            f'Node {node.uuid} {obstacle.text}. The reservation stays as it '
            f'is, until {held.expires_at.isoformat()}; it can be renewed up '
            'to the start of the lease at most.', reasons=[obstacle.as_dict()])
    return room
