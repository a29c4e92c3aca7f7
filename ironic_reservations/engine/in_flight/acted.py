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

"""Acts of holders: written down before they reach Ironic.

Before the first act, the node is read whole, so that it can be put back as it
was when its holder got it; a node without a row has never been acted on.
"""

from __future__ import annotations

from collections.abc import Collection
import dataclasses
import datetime

from oslo_log import log

from ironic_reservations import errors
from ironic_reservations.db import bookings as db_bookings
from ironic_reservations.db import connection as db_connection
from ironic_reservations.db import handovers as db_handovers
from ironic_reservations.db import holders
from ironic_reservations.db import reservations as db_reservations
from ironic_reservations.engine import commit
from ironic_reservations.engine import Engine
from ironic_reservations.engine import retry
from ironic_reservations.engine import seen
from ironic_reservations.model import handovers
from ironic_reservations.model import leases

LOG = log.getLogger(__name__)


def write(engine: Engine, node_uuid: str, acts: Collection[str],
          within: float = 0, held: bool = True
          ) -> handovers.Handover | None:
    """Write acts of the holder of a node, before they reach Ironic.

    :param acts: as in :attr:`.handovers.Handover.acts`.
    :param within: the seconds within which Ironic carries the request out, or
        never does; 0: a request in flight says so.
    :param held: whether somebody had the node a moment ago.
    :returns: the handover; ``None``: nobody has the node, nor had it, or it
        is only deployed or undeployed for a reservation.
    :raises IronicUnavailable: the node could not be read.
    :raises DatabaseUnavailable: the act could not be written.
    :raises Contention: others changed the node each time, or its holder has
        just lost it.
    """
    documents: list[handovers.Document | None] = []

    def attempt() -> handovers.Handover | None:
        now = engine.clock()
        settles_at = now + datetime.timedelta(seconds=within)
        with engine.database.snapshot() as connection:
            nodes = seen.read(connection, (node_uuid,))
            reserved, bookings = holders.read(connection, node_uuid, now)
            before = db_handovers.read(connection, (node_uuid,)).get(
                node_uuid)
        booking = _holding(bookings, now)
        holder = reserved or booking
        if holder is None or reserved is not None and reserved.over(now):
            if holder is not None or bookings or held:
                # NOTE: the end has read the acts by now.
                raise errors.Contention(
                    f'The reservation or lease that had node {node_uuid} has '
                    'just ended, so nothing was done to it.')
            return None
        known = before is not None and before.holder == holder.uuid
        if (reserved is not None and not known
                and handovers.DEPLOYING.issuperset(acts)):
            return None
        if not known and not documents:
            documents.append(_read(engine, node_uuid))
        after = (before.after(acts, settles_at)
                 if before is not None and known else handovers.first(
                     node_uuid, holder.uuid, documents[0], acts, settles_at))
        with engine.database.write() as connection:
            # NOTE: of an act and an end at the same moment, one comes first.
            commit.commit(connection, nodes, now)
            # NOTE: neither ends any more as if nothing had happened.
            if reserved is not None:
                if not reserved.acted:
                    db_reservations.update_acted(connection, reserved, now)
            elif booking is not None and not booking.begun:
                db_bookings.update_state(connection, [booking],
                                         leases.BookingState.BOUND, now)
            if before is not None and known:
                db_handovers.update(connection, before, after)
            else:
                # NOTE: the row of a reservation that is over may be left.
                db_handovers.delete_of_node(connection, before)
                db_handovers.insert(connection, after)
        return after
    return retry.until_committed(attempt, repeatable=True)


def _holding(bookings: list[leases.NodeBooking],
             now: datetime.datetime) -> leases.NodeBooking | None:
    """Return the booking that has a whole node, and may act on it."""
    return next((each for each in bookings if not each.over(now)), None)


def _read(engine: Engine, node_uuid: str) -> handovers.Document | None:
    if engine.ironic is None:
        raise errors.IronicUnavailable(
            f'Node {node_uuid} cannot be read, so nothing was done to it: its '
            'state has to be written down before its holder changes it.')
    return engine.ironic.document(node_uuid)


def settled(engine: Engine, written: handovers.Handover) -> None:
    """Write that Ironic has answered the request of an act.

    :param written: the handover as it was written for the act.
    """
    now = engine.clock()
    settles_at = max(now, written.earlier or now)
    if settles_at >= written.settles_at:
        return
    try:
        with engine.database.write() as connection:
            db_handovers.update(connection, written, dataclasses.replace(
                written, settles_at=settles_at))
    except (db_connection.Conflict, errors.ReservationError) as exc:
        # NOTE: then the end of the lease waits for some time.
        LOG.debug('An act on node %s is taken to be under way: %s',
                  written.node_uuid, exc)


def cleaned(engine: Engine, before: handovers.Handover) -> None:
    """Write that Ironic undeploys a node, and so cleans it.

    :param before: the handover as it was written for the undeploy.
    """
    if before.settles_at > engine.clock():
        # NOTE: an earlier act may reach Ironic after the undeploy.
        return
    try:
        with engine.database.write() as connection:
            db_handovers.update(connection, before, dataclasses.replace(
                before, dirty=False))
    except (db_connection.Conflict, errors.ReservationError) as exc:
        # NOTE: then it is cleaned once more.
        LOG.info('Node %s will be cleaned at the end of its lease: %s',
                 before.node_uuid, exc)
