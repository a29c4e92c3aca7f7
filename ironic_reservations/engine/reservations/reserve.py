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

"""Reserve one node (``POST /v1/reservations``)."""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Mapping
from collections.abc import Sequence
import dataclasses
import datetime
import functools
import uuid as uuid_module

import sqlalchemy as sa

from ironic_reservations import errors
from ironic_reservations.clouds import ironic as ironic_client
from ironic_reservations.db import bookings as db_bookings
from ironic_reservations.db import connection as db_connection
from ironic_reservations.db import reservations as db_reservations
from ironic_reservations.engine import announce
from ironic_reservations.engine import commit
from ironic_reservations.engine import Engine
from ironic_reservations.engine import retry
from ironic_reservations.engine import seen
from ironic_reservations.engine.reservations import displacement
from ironic_reservations.engine.reservations import lifetime
from ironic_reservations.engine.reservations import pick_and_confirm
from ironic_reservations.engine.reservations import plan
from ironic_reservations.engine.reservations import release
from ironic_reservations.features.keys import request_keys
from ironic_reservations.features.keys import rows as db_keys
from ironic_reservations.features.limits import limits
from ironic_reservations.features.owners import asked_back as lease_asked_back
from ironic_reservations.features.placement import hold_calls
from ironic_reservations.features.placement import hold_rows as db_holds
from ironic_reservations.features.placement import reservation_holds
from ironic_reservations.features.placement.decisions import holds
from ironic_reservations.model import node_reservation
from ironic_reservations.model import reasons
from ironic_reservations.model import time_text
from ironic_reservations.model import visibility
from ironic_reservations.planner import pick

#: How many nodes are tried one by one that cannot be held in Placement.
_TRIES = 3


@dataclasses.dataclass(frozen=True)
class _Made:
    """A reservation in the database.

    :ivar before: whether an earlier request has made it.
    :ivar hold: its hold in Placement, if it has one.
    """

    reservation: node_reservation.Reservation
    before: bool = False
    hold: holds.Hold | None = None


def reserve(engine: Engine, request: pick.NodeRequest,
            sees: visibility.Visibility,
            observer: ironic_client.Ironic | None = None,
            allowed: limits.Limits = limits.NONE,
            key: request_keys.Key | None = None
            ) -> node_reservation.Reservation:
    """Reserve the first node that can be reserved, or raise the reasons.

    A request that was served before (the same ``uuid``, or the same
    ``instance_uuid``) gets the same reservation.  With a key, it gets none
    once that reservation has ended.

    :param request: the request.
    :param sees: the nodes that the caller may see.
    :param observer: Ironic with the caller's credentials; ``None``: with those
        of this service.
    :param allowed: the limits of the caller.
    :param key: the identity of the request, if it has one.
    :raises ReservationEnded: the reservation that the same request made is
        over.
    :raises ReservationKeyReused: the key came with another request before.
    :raises ReservationLimit: the project may have no more.
    :raises NoNodeAvailable: with ``reasons``: one for each node of the
        list, or a count for each reason if there was no list.
    :raises UuidInUse: the uuid names a reservation for another instance.
    :raises InstanceReserved: another project has reserved a node for that
        instance.
    :raises InvalidValue: the requested end has passed meanwhile.
    :raises Contention: other requests changed the nodes each time.
    :raises IronicUnavailable: Ironic could not confirm the state of a node.
    :raises PlacementUnavailable: the node could not be held there.
    :raises OutcomeUnknown: the node may or may not have been reserved.
    """
    unheld: dict[str, reasons.Reason] = {}
    while True:
        # NOTE: chosen before the first attempt, so that the reservation can be
        # found after a COMMIT without an answer.
        uuid = request.uuid or str(uuid_module.uuid4())
        attempt = functools.partial(_attempt, engine, request, sees, observer,
                                    unheld, uuid, allowed, key)
        made = retry.until_committed(
            functools.partial(_refuse_if_unserved, engine, request, attempt),
            functools.partial(_look, engine, request, uuid))
        obstacle = (_hold(engine, made) if isinstance(made, _Made)
                    else made)
        if obstacle is None:
            break
        unheld[obstacle.node_uuid] = obstacle
        if len(unheld) == _TRIES:
            # NOTE: otherwise this could go on for all nodes.
            for uuid, why in reservation_holds.without_room(
                    engine, request).items():
                unheld.setdefault(uuid, why)
    assert isinstance(made, _Made)
    if not made.before:
        engine.announcer.tell(announce.CREATE, made.reservation)
    return made.reservation


def _hold(engine: Engine, made: _Made) -> reasons.Reason | None:
    """Hold the node in Placement if it is enabled.

    :returns: why it cannot be held, if so.
    """
    if made.hold is None:
        return None
    with retry.committed():
        return reservation_holds.hold(engine, made.hold, made.reservation)


def _attempt(engine: Engine, request: pick.NodeRequest,
             sees: visibility.Visibility,
             observer: ironic_client.Ironic | None,
             unheld: Mapping[str, reasons.Reason], uuid: str,
             allowed: limits.Limits,
             key: request_keys.Key | None) -> _Made | reasons.Reason:
    now = engine.clock()
    with engine.database.read() as connection:
        # NOTE: the key first: a copy that is served later is found when the
        # key is kept, and one that was served before is among the rest.
        known = None if key is None else request_keys.read(connection, key,
                                                           now)
        full = limits.read_full(allowed, connection, request.project_id, now)
        need = plan.Need(_lasts(engine, request, now), unheld=unheld,
                         full=frozenset(full))
        view = plan.look(engine, connection, request, sees, now, need)
        kept = known is not None and _exists(connection, known, view.related,
                                             now)
    existing = _served_before(request, view.related, now)
    if existing is not None and existing.over(now):
        release.end_over(engine, existing)
        raise db_connection.Conflict(
            f'the reservation {existing.uuid} has just ended')
    if existing is not None:
        lost = (None if engine.placement is None
                else reservation_holds.ensure(engine, existing))
        if lost is None and known is not None and not kept:
            _keep(engine, known, existing)
        return lost or _Made(existing, before=True)
    try:
        choice = pick_and_confirm.choose(engine, request, view, sees,
                                         observer, need)
    except errors.NoNodeAvailable as exc:
        if any(each['code'] == plan.CLASS_LIMIT
               for each in exc.details['reasons']):
            raise limits.class_limit(allowed, full) from exc
        raise
    if engine.placement is None:
        return _commit(engine, request, choice, now, None, uuid, allowed, full,
                       known)
    class_name = reservation_holds.class_of(choice.node)
    if isinstance(class_name, reasons.Reason):
        return class_name
    return _commit(engine, request, choice, now, class_name, uuid, allowed,
                   full, known)


def _refuse_if_unserved(engine: Engine, request: pick.NodeRequest,
                        attempt: Callable[[], _Made | reasons.Reason]
                        ) -> _Made | reasons.Reason:
    """Make an attempt; a limit refuses it only if it was not served.

    NOTE: a copy of the request may have been served after this one has looked
    for it, and what the copy has got counts for the limit.
    """
    try:
        return attempt()
    except db_connection.Conflict as exc:
        if request.uuid is not None:
            with engine.database.read() as connection:
                booked = db_bookings.read_with_uuid(connection, request.uuid)
            if booked:
                raise errors.UuidInUse(
                    f'The uuid {request.uuid} was that of a reservation '
                    'whose node is still being put back. Choose a new uuid, '
                    'or leave it out.') from exc
        raise
    except errors.ReservationLimit as exc:
        with engine.database.read() as connection:
            related = db_reservations.read_related(
                connection, request.uuid, request.instance_uuid, ())
        now = engine.clock()
        if any(each.live(now) for each in related):
            raise db_connection.Conflict(
                'a copy of the request has been served') from exc
        raise


def _exists(connection: sa.Connection, known: request_keys.Known,
            related: Sequence[node_reservation.Reservation],
            now: datetime.datetime) -> bool:
    """Return whether there is the reservation that the request has made."""
    made = known.again
    if made is None:
        return False
    if any(row.id == made.number and row.live(now) for row in related):
        return True
    # NOTE: one whose node could not be held was never answered.
    if not db_keys.read_undone(connection, made.number):
        raise known.ended()
    return False


def _keep(engine: Engine, known: request_keys.Known,
          existing: node_reservation.Reservation) -> None:
    """Keep the key of a request that gets a reservation made before."""
    with engine.database.write() as connection:
        _keep_for(connection, known, existing, engine.clock())


def _keep_for(connection: sa.Connection, known: request_keys.Known,
              reservation: node_reservation.Reservation,
              now: datetime.datetime) -> None:
    assert reservation.id is not None
    request_keys.keep(connection, known, reservation.uuid, reservation.id,
                      now)


def _look(engine: Engine, request: pick.NodeRequest,
          uuid: str) -> _Made | reasons.Reason | None:
    """Return the reservation of an earlier attempt, if there is one."""
    with engine.database.read() as connection:
        made = db_reservations.read_by_uuid(connection, uuid)
    if made is None or not made.live(engine.clock()) or (
            made.instance_uuid, made.project_id) != (
                request.instance_uuid, request.project_id):
        return None
    lost = (None if engine.placement is None
            else reservation_holds.ensure(engine, made))
    return lost or _Made(made)


def _served_before(request: pick.NodeRequest,
                   related: Sequence[node_reservation.Reservation],
                   now: datetime.datetime
                   ) -> node_reservation.Reservation | None:
    live = [reservation for reservation in related if reservation.live(now)]
    by_uuid = next((reservation for reservation in live
                    if reservation.uuid == request.uuid), None)
    by_instance = next((reservation for reservation in live
                        if reservation.instance_uuid == request.instance_uuid),
                       None)
    if by_uuid is not None and (by_uuid.instance_uuid, by_uuid.project_id) != (
            request.instance_uuid, request.project_id):
        raise errors.UuidInUse(
            f'The uuid {request.uuid} names a reservation that another '
            'request made. Choose a new uuid, or leave it out.')
    if by_instance is None:
        return None
    if by_instance.project_id != request.project_id:
        raise errors.InstanceReserved(
            'Another project has a reservation for the instance '
            f'{request.instance_uuid}. Use the uuid of an instance of your '
            'own.')
    if request.uuid not in (None, by_instance.uuid):
        raise errors.UuidInUse(
            f'The instance {request.instance_uuid} already has the '
            f'reservation {by_instance.uuid}, not {request.uuid}. Use that '
            'one, or delete it first.')
    return by_instance


def _lasts(engine: Engine, request: pick.NodeRequest,
           made_at: datetime.datetime) -> datetime.datetime:
    if request.expires_at is not None:
        return request.expires_at
    if request.ttl is None:
        return lifetime.expiry(engine.conf, made_at)
    return made_at + datetime.timedelta(seconds=request.ttl)


def _end(engine: Engine, request: pick.NodeRequest,
         choice: pick_and_confirm.Choice, made_at: datetime.datetime
         ) -> datetime.datetime:
    end = _lasts(engine, request, made_at)
    if end <= made_at:
        raise errors.InvalidValue(
            f'expires_at {time_text.moment(end)} has passed while a node was '
            'being confirmed. Nothing was reserved. Send a later time.')
    if choice.free_until is not None and end > choice.free_until:
        # NOTE: the lease that starts then would not have been in the way of a
        # reservation at the time of the plan.
        raise db_connection.Conflict(
            f'node {choice.node.uuid} is promised to a lease before the end')
    return end


def _commit(engine: Engine, request: pick.NodeRequest,
            choice: pick_and_confirm.Choice, now: datetime.datetime,
            class_name: str | None, uuid: str, allowed: limits.Limits,
            full: Mapping[str, int],
            known: request_keys.Known | None) -> _Made:
    """Write the reservation."""
    # NOTE: the time to live counts from here, since the confirmation may have
    # taken long.
    made_at = engine.clock()
    node, view = choice.node, choice.view
    reservation = node_reservation.Reservation(
        uuid=uuid, node_uuid=node.uuid, instance_uuid=request.instance_uuid,
        created_at=made_at, updated_at=None,
        expires_at=_end(engine, request, choice, made_at),
        project_id=request.project_id, user_id=request.user_id)
    void = {row for row in view.related if not row.live(now)
            and (row.node_uuid == node.uuid or row.uuid == reservation.uuid
                 or row.instance_uuid == request.instance_uuid)}
    lessees = displacement.read_lessees(engine, choice.room)
    with engine.database.write() as connection:
        limits.check_one_more(allowed, connection, request.project_id, made_at,
                              node.resource_class, full)
        commit.commit(connection, seen.picked(node, view.confirmed), now,
                      choice.difference)
        db_reservations.delete_void(connection, void, now)
        reservation = db_reservations.insert(connection, reservation)
        if known is not None:
            _keep_for(connection, known, reservation, engine.clock())
        intended = None
        if class_name is not None:
            db_holds.release(connection, [row.uuid for row in void
                                          if row.node_uuid != node.uuid],
                             made_at, hold_calls.deadline(engine))
            intended = reservation_holds.intend(engine, connection,
                                                class_name, reservation)
        told = lease_asked_back.write(engine, connection, lessees, now)
        moment = engine.clock()
        if not reservation.live(moment):
            raise db_connection.Conflict(
                'the reservation would be over by now')
        displacement.check_ahead(choice.room, now, moment)
    lease_asked_back.tell(engine, told, now)
    for row in void:
        engine.announcer.tell(announce.DELETE, row, announce.EXPIRED)
    return _Made(reservation, hold=intended)
