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

"""Delete a reservation (``DELETE /v1/reservations/<uuid>``)."""

from __future__ import annotations

import datetime
import functools
import uuid as uuid_module

from oslo_log import log

from ironic_reservations import errors
from ironic_reservations.db import handovers as db_handovers
from ironic_reservations.db import in_flight_requests as db_in_flight
from ironic_reservations.db import reservations as db_reservations
from ironic_reservations.engine import announce
from ironic_reservations.engine import change
from ironic_reservations.engine import Engine
from ironic_reservations.engine import seen
from ironic_reservations.engine.reservations import find
from ironic_reservations.model import handovers
from ironic_reservations.model import leases
from ironic_reservations.model import node_condition
from ironic_reservations.model import node_reservation

LOG = log.getLogger(__name__)


def release(engine: Engine, uuid: str,
            permitted: node_reservation.Reservation | None = None) -> None:
    """End a live reservation now.

    The node stays as it is, deployed or not, unless its holder has acted on
    it: then it is put back first, as at the end of a lease; if it is deployed,
    an undeploy has to be enough for that.  After that its hold in Placement is
    deleted, as soon as Placement answers.

    :param permitted: the reservation when the policy was applied; ``None``:
        any reservation with the uuid.
    :raises ReservationNotFound: the reservation does not exist, or has
        expired.
    :raises ReservationInUse: the node is in use, and has to be put back after
        its use, or it is about to be used.
    :raises IronicUnavailable: it is not known whether a node that was acted
        on is in use.
    :raises OutcomeUnknown: the reservation may or may not have been ended.
    """
    def plan() -> change.Planned[None]:
        now = engine.clock()
        with engine.database.read() as connection:
            held, here = find.live(connection, uuid, now, permitted)
            acts, busy = None, False
            if held.acted and not held.unused:
                acts = db_handovers.read_one(connection, held.node_uuid)
                busy = bool(db_in_flight.read_busy(connection,
                                                   (held.node_uuid,)))
        puts_back = _puts_back(engine, held, acts, busy)
        ending = _ending(held, here, now, puts_back)
        if not puts_back:
            ending.statements.append(functools.partial(
                db_handovers.delete_of_node, before=acts))
        return change.Planned(None, ending)
    change.carry_out(engine, plan)


def _ending(held: node_reservation.Reservation, here: seen.Seen,
            now: datetime.datetime, puts_back: bool,
            cause: change.Cause = change.Cause.ENDED,
            reason: str | None = None) -> change.Change:
    """Return the change that ends a reservation.

    :param puts_back: whether the node is put back first.
    """
    return change.Change(
        now, here,
        [change.Write(held, None, cause, reason=reason),
         *([change.Write(None, _put_back(held, now),
                         change.Cause.PUT_BACK, now)] if puts_back else [])],
        subject=held.uuid)


def _put_back(reservation: node_reservation.Reservation,
              now: datetime.datetime) -> leases.Lease:
    """Return the lease that takes the place of a reservation.

    It is being deleted, and has no events, since it promises nothing. A worker
    for leases puts the node back, cleans it, and deletes the lease.
    """
    lease_id, asked = str(uuid_module.uuid4()), str(uuid_module.uuid4())
    # The uuid of the reservation: the handover and the hold in Placement
    # are the same.
    booking = leases.NodeBooking(
        0, asked, 0, reservation.node_uuid, now, now,
        leases.BookingState.ENDING, project_id=reservation.project_id,
        uuid=reservation.uuid)
    return leases.Lease(
        # A name that nobody can have taken before.
        lease_id, f'reservation-{reservation.uuid}-{lease_id[:8]}', now, now,
        leases.LeaseStatus.DELETING, now,
        project_id=reservation.project_id, user_id=reservation.user_id,
        reservations=(leases.LeaseReservation(
            asked, leases.ReservationStatus.DELETED, 1, 1, now,
            str(uuid_module.uuid4()), bookings=(booking,)),))


def _puts_back(engine: Engine, held: node_reservation.Reservation,
               acts: handovers.Handover | None, busy: bool) -> bool:
    """Return whether a node is put back if its reservation ends now.

    :param acts: the acts on the node, if it is used.
    :param busy: whether a request to Ironic uses or changes the node.
    :raises ReservationInUse: the node cannot be put back now, and has to be.
    """
    if not held.acted or held.unused:
        return held.acted
    if busy or held.state is node_reservation.State.STARTING:
        raise errors.ReservationInUse(
            f'Node {held.node_uuid} was changed for the reservation '
            f'{held.uuid}, and it is not known yet what becomes of a request '
            'that uses it. Nothing was changed; try again in a minute.')
    if engine.ironic is None:
        raise errors.IronicUnavailable(
            f'Node {held.node_uuid} cannot be read.')
    # NOTE: the mirror may still show a deployment that ended before the last
    # act.  An act after this read raises the generation.
    node = engine.ironic.node(held.node_uuid)
    if node is None or not node_condition.occupied(node):
        return True
    if (acts is not None and acts.holder == held.uuid
            and not acts.undeployed):
        raise errors.ReservationInUse(
            f'Node {held.node_uuid} is in use, and was changed for the '
            f'reservation {held.uuid}, so that it has to be put back as it '
            'was. The reservation ends by itself when the node is '
            'undeployed; there is nothing else to do.')
    return False


def release_on(engine: Engine, reservation: node_reservation.Reservation,
               generation: int, reason: str) -> bool:
    """End a reservation, unless the bookings of its node have changed.

    :param generation: the generation of the node when the reason was found.
    :param reason: the reason of the end.
    :returns: whether it was ended.
    """
    ended = change.carry_out_once(engine, _ending(
        reservation, seen.Seen({reservation.node_uuid: generation}),
        engine.clock(), reservation.acted, change.Cause.OVER, reason))
    if not ended:
        LOG.debug('The reservation for instance %s has changed, and is '
                  'checked again later', reservation.instance_uuid)
    return ended


def end_over(engine: Engine,
             reservation: node_reservation.Reservation) -> bool:
    """End a reservation that is over; its node is put back later.

    :returns: whether it was ended.
    """
    with engine.database.read() as connection:
        known = db_reservations.read_with_generation(connection,
                                                     reservation.uuid)
    return (known is not None and known[0] == reservation and release_on(
        engine, reservation, known[1], announce.EXPIRED))
