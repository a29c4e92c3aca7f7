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

from collections.abc import Mapping
from collections.abc import Sequence
import dataclasses
import datetime
import uuid as uuid_module

import sqlalchemy as sa

from ironic_reservations import errors
from ironic_reservations.clouds import ironic as ironic_client
from ironic_reservations.db import bookings as db_bookings
from ironic_reservations.db import connection as db_connection
from ironic_reservations.db import reservations as db_reservations
from ironic_reservations.engine import ceiling
from ironic_reservations.engine import change
from ironic_reservations.engine import earlier
from ironic_reservations.engine import Engine
from ironic_reservations.engine import feature
from ironic_reservations.engine import seen
from ironic_reservations.engine.reservations import displacement
from ironic_reservations.engine.reservations import lifetime
from ironic_reservations.engine.reservations import pick_and_confirm
from ironic_reservations.engine.reservations import plan
from ironic_reservations.engine.reservations import release
from ironic_reservations.model import limits
from ironic_reservations.model import node_reservation
from ironic_reservations.model import reasons
from ironic_reservations.model import time_text
from ironic_reservations.model import visibility
from ironic_reservations.planner import pick

#: The number of nodes that are tried one by one if Placement refuses holds.
_TRIES = 3

#: A reservation, and the ids of the rows that are inserted, by uuid.
_Made = tuple[node_reservation.Reservation, Mapping[str, int]]


def reserve(engine: Engine, request: pick.NodeRequest,
            sees: visibility.Visibility,
            observer: ironic_client.Ironic | None = None,
            allowed: limits.Limits = limits.NONE,
            key: earlier.Key | None = None
            ) -> node_reservation.Reservation:
    """Reserve the first possible node, or raise the reasons.

    A request that was served before (the same ``uuid``, or the same
    ``instance_uuid``) gets the same reservation.  A request with a key gets an
    error once that reservation has ended.

    :param request: the request.
    :param sees: the nodes that the caller may see.
    :param observer: a client of Ironic with the caller's credentials;
        ``None``: the client of this service.
    :param allowed: the limits of the caller.
    :param key: the identity of the request, if it has one.
    :raises ReservationEnded: the reservation of the same request is over.
    :raises ReservationKeyReused: another request has used the key before.
    :raises ReservationLimit: the project has reached a limit.
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
        making = _Request(engine, request, sees, observer, unheld, allowed,
                          key)
        try:
            made, ids = change.carry_out(engine, making.plan,
                                         refused=making.check_unserved,
                                         rename=making.rename)
            return dataclasses.replace(made, id=ids.get(made.uuid, made.id))
        except feature.Obstacle as obstacle:
            unheld[obstacle.reason.node_uuid] = obstacle.reason
        if len(unheld) == _TRIES:
            # Otherwise the request could try all nodes one by one.
            for each in engine.hooks['obstacles']:
                for uuid, why in each.obstacles(engine, request).items():
                    unheld.setdefault(uuid, why)


@dataclasses.dataclass
class _Request:
    """A request for a reservation, and its memory between attempts.

    :ivar _unheld: the nodes that features could not use for it.
    """

    _engine: Engine
    _request: pick.NodeRequest
    _sees: visibility.Visibility
    _observer: ironic_client.Ironic | None
    _unheld: Mapping[str, reasons.Reason]
    _allowed: limits.Limits
    _key: earlier.Key | None
    _tried: bool = False

    def __post_init__(self) -> None:
        self.rename()

    def rename(self) -> None:
        """Choose the uuid of the reservation, unless the client has."""
        self._uuid = self._request.uuid or str(uuid_module.uuid4())

    def plan(self) -> change.Planned[_Made]:
        """Read the nodes and pick one, unless the request has been served."""
        engine, request, key = self._engine, self._request, self._key
        now = engine.clock()
        with engine.database.read() as connection:
            # The key is read first: keeping the key finds a copy that is
            # served later, and the rows below show one that was served before.
            known = (earlier.Earlier() if key is None
                     else earlier.read(engine, connection, key, now))
            full = (ceiling.full_classes(engine, connection, self._allowed,
                                         request.project_id, now)
                    if self._allowed.max_per_class else ceiling.FullClasses())
            need = plan.Need(_lasts(engine, request, now), unheld=self._unheld,
                             full=frozenset(full.names))
            view = plan.read_view(engine, connection, request, self._sees, now,
                                  need)
            kept = _exists(connection, known, view.related, now)
            if self._tried:
                self._check_uuid(connection)
        self._tried = True
        existing = _served_before(request, view.related, now)
        if existing is not None:
            return self._served(
                existing, None if kept or key is None else known, now)
        try:
            choice = pick_and_confirm.choose(engine, request, view, self._sees,
                                             self._observer, need)
        except errors.NoNodeAvailable as exc:
            if any(each['code'] == plan.CLASS_LIMIT
                   for each in exc.details['reasons']):
                raise full.refusal() from exc
            raise
        made = self._made(choice)
        making = self._making(choice, made, now)
        making.given = [self._allowed, full, choice.node,
                        known]
        return change.Planned((made, making.row_ids), making)

    def _check_uuid(self, connection: sa.Connection) -> None:
        """Check that no booking has the uuid, after a lost race."""
        uuid = self._request.uuid
        if uuid is not None and db_bookings.read_with_uuid(connection, uuid):
            raise errors.UuidInUse(
                f'The uuid {uuid} was that of a reservation whose node is '
                'still being put back. Choose a new uuid, or leave it out.')

    def _served(self, existing: node_reservation.Reservation,
                known: earlier.Earlier | None,
                now: datetime.datetime) -> change.Planned[_Made]:
        """Return a reservation that an earlier request has made.

        :param known: the record of a key that is not yet kept for it.
        """
        engine = self._engine
        if existing.over(now):
            release.end_over(engine, existing)
            raise db_connection.Conflict(
                f'the reservation {existing.uuid} has just ended')
        for each in engine.hooks['confirm_again']:
            each.confirm_again(engine, existing)
        if known is None:
            return change.Planned((existing, {}))
        assert existing.id is not None
        ids = {existing.uuid: existing.id}
        return change.Planned((existing, ids), change.Change(
            now, subject=existing.uuid, given=[known], row_ids=ids))

    def _made(self, choice: pick_and_confirm.Choice
              ) -> node_reservation.Reservation:
        # The time to live counts from here, since the confirmation may have
        # taken long.
        made_at = self._engine.clock()
        request = self._request
        return node_reservation.Reservation(
            uuid=self._uuid, node_uuid=choice.node.uuid,
            instance_uuid=request.instance_uuid, created_at=made_at,
            updated_at=None,
            expires_at=_end(self._engine, request, choice, made_at),
            project_id=request.project_id, user_id=request.user_id)

    def _making(self, choice: pick_and_confirm.Choice,
                made: node_reservation.Reservation,
                now: datetime.datetime) -> change.Change:
        """Return the change that reserves a node."""
        void = [row for row in dict.fromkeys(choice.view.related)
                if not row.live(now) and (
                    row.node_uuid == made.node_uuid or row.uuid == made.uuid
                    or row.instance_uuid == made.instance_uuid)]
        making = displacement.change_with(
            now, seen.picked(choice.node, choice.view.confirmed), choice.room,
            writes=[change.Write(None, made), *map(change.expired, void)],
            subject=made.uuid)
        making.wrong_from(made.expires_at)
        return making

    def check_unserved(self, refusal: errors.ReservationError) -> None:
        """Check that no copy of the refused request was served meanwhile.

        The reservation of the copy counts for the limit.

        :raises Conflict: a copy was served.
        """
        if not isinstance(refusal, errors.ReservationLimit):
            return
        with self._engine.database.read() as connection:
            related = db_reservations.read_related(
                connection, self._request.uuid, self._request.instance_uuid,
                ())
        now = self._engine.clock()
        if any(each.live(now) for each in related):
            raise db_connection.Conflict(
                'a copy of the request has been served') from refusal


def _exists(connection: sa.Connection, known: earlier.Earlier,
            related: Sequence[node_reservation.Reservation],
            now: datetime.datetime) -> bool:
    """Return whether the reservation of an earlier request is live."""
    if known.ident is None:
        return False
    if any(row.id == known.row_id and row.live(now) for row in related):
        return True
    # A reservation whose node could not be held was never in an answer.
    if not known.undone(connection):
        raise known.ended()
    return False


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
        # At the time of the plan, the reservation would have ended before this
        # lease.
        raise db_connection.Conflict(
            f'node {choice.node.uuid} is promised to a lease before the end')
    return end
