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

from collections.abc import Callable
from collections.abc import Collection
import dataclasses
import datetime
import functools
import uuid as uuid_module

from oslo_log import log
import sqlalchemy as sa

from ironic_reservations import errors
from ironic_reservations.clouds import ironic as ironic_client
from ironic_reservations.db import bookings as db_bookings
from ironic_reservations.db import connection as db_connection
from ironic_reservations.db import handovers as db_handovers
from ironic_reservations.db import host_views as db_host_views
from ironic_reservations.db import reservations as db_reservations
from ironic_reservations.engine import change
from ironic_reservations.engine import Engine
from ironic_reservations.engine import retry
from ironic_reservations.engine import seen
from ironic_reservations.engine.in_flight import conductors
from ironic_reservations.model import handovers
from ironic_reservations.model import leases

LOG = log.getLogger(__name__)

#: How often an answer is written, if other requests change the row.
_ATTEMPTS = 5


def write(engine: Engine, node_uuid: str, acts: Collection[str],
          within: float = 0, held: bool = True, judged: str | None = None
          ) -> handovers.Handover | None:
    """Write acts of the holder of a node, before they reach Ironic.

    :param acts: as in :attr:`.handovers.Handover.acts`.
    :param within: the seconds after which Ironic has carried out the request,
        or never will; 0: a request in flight shows the outcome.
    :param held: whether the node had a holder when it was last read.
    :param judged: the holder for whom the acts were allowed, as in
        :attr:`.HostView.holder`; ``None``: they are allowed in any case.
    :returns: the handover; ``None``: the node has and had no holder, or it is
        only deployed or undeployed for a reservation.
    :raises IronicUnavailable: the node could not be read.
    :raises DatabaseUnavailable: the act could not be written.
    :raises Contention: other requests changed the node at each attempt, or its
        holder has just lost it.
    """
    # What was read from Ironic for one holder is of no use for the next one.
    holders = [] if judged is None else [judged]
    parts = handovers.parts_of(acts)
    token = str(uuid_module.uuid4())

    @functools.cache
    def enrolled_at() -> str | None:
        return _ironic(engine, node_uuid).enrolled_at(node_uuid)

    @functools.cache
    def read(missing: frozenset[str]) -> handovers.Document | None:
        return _ironic(engine, node_uuid).document(node_uuid, missing)

    def as_lent(known: handovers.Handover) -> handovers.Handover:
        if (known.document is None or handovers.DEPLOYING.issuperset(acts)
                or enrolled_at() is None
                or known.document.is_of(enrolled_at())):
            return _with_parts(known, parts, read)
        # The node was made anew. The earlier acts stay, since the answer to
        # one may be missing, and it may still reach the new node.
        return dataclasses.replace(known, document=read(
            parts | handovers.parts_of(known.acts)))

    def plan() -> change.Planned[handovers.Handover | None]:
        now = engine.clock()
        settles_at = now + datetime.timedelta(seconds=within)
        with engine.database.snapshot() as connection:
            nodes = seen.read(connection, (node_uuid,))
            view = db_host_views.read_one(connection, node_uuid, now, now)
            before = db_handovers.read_one(connection, node_uuid)
        reserved, booking, holder = view.reservation, view.lease, view.holder
        if holder is None:
            if view.being_put_back or held:
                # NOTE: the end has read the acts by now.
                raise errors.Contention(
                    f'The reservation or lease that had node {node_uuid} has '
                    'just ended, so nothing was done to it.')
            return change.Planned(None)
        holders.append(holder)
        if holder != holders[0]:
            raise errors.Contention(
                f'Node {node_uuid} has just passed to another reservation or '
                'lease, so nothing was done to it; try again.')
        known = (before if before is not None and before.holder == holder
                 else None)
        if (reserved is not None and known is None
                and handovers.DEPLOYING.issuperset(acts)):
            return change.Planned(None)
        request = handovers.Unanswered(token, now)
        if known is None:
            after = handovers.first(node_uuid, holder, read(parts), acts,
                                    settles_at, not within, request)
        elif known.crowded(now):
            raise errors.Contention(
                f'Too many requests of the holder of node {node_uuid} have '
                'no answer yet, so nothing was done to it; try again.')
        else:
            after = dataclasses.replace(as_lent(known).after(
                acts, settles_at, not within, request), before=known)

        def write_rows(connection: sa.Connection) -> None:
            # NOTE: neither ends any more as if nothing had happened.
            if reserved is not None:
                if not reserved.acted:
                    db_reservations.update(
                        connection, reserved, dataclasses.replace(
                            reserved, acted=True), now)
            elif booking is not None and not booking.begun:
                db_bookings.update_state(connection, [booking],
                                         leases.BookingState.BOUND, now)
            if known is not None:
                db_handovers.update(connection, known, after)
            else:
                # NOTE: the row of a reservation that is over may be left.
                db_handovers.delete_of_node(connection, before)
                db_handovers.insert(connection, after)
        # NOTE: of an act and an end at the same moment, one comes first.
        return change.Planned(after, change.Change(
            now, nodes, statements=[write_rows], opaque=True))
    return change.carry_out(engine, plan)


def _with_parts(known: handovers.Handover, parts: frozenset[str],
                read: Callable[[frozenset[str]], handovers.Document | None]
                ) -> handovers.Handover:
    """Return a handover with parts that are read before they are changed.

    Only the holder changes these parts, and has not changed them before.
    """
    document = known.document
    missing = parts - (set() if document is None else document.parts.keys())
    if document is None or not missing:
        return known
    shown = read(frozenset(missing))
    return dataclasses.replace(known, document=dataclasses.replace(
        document, parts={**document.parts, **(
            {} if shown is None else shown.parts)}))


def _ironic(engine: Engine, node_uuid: str) -> ironic_client.Ironic:
    if engine.ironic is None:
        raise errors.IronicUnavailable(
            f'Node {node_uuid} cannot be read, so nothing was done to it: its '
            'state has to be written down before its holder changes it.')
    return engine.ironic


def settled(engine: Engine, written: handovers.Handover) -> None:
    """Write that Ironic has answered the request of an act.

    :param written: the handover as it was written for the act.
    """
    now = engine.clock()
    after = dataclasses.replace(
        written.carried_out(written.token), settled=written.earlier_settled,
        settles_at=min(written.settles_at, max(now, written.earlier or now)))
    if not _answered(engine, written, after,
                     lambda row: row.carried_out(written.token)):
        _check_late(engine, written)


def refused(engine: Engine, written: handovers.Handover) -> None:
    """Write that a recorded act has changed nothing, and never will.

    If this cannot be written, the act counts, which does no harm beyond what
    it does to changes of an operator.

    :param written: the handover as it was written for the act.
    """
    _answered(engine, written, written.before,
              lambda row: row.refused(written.token))


def _answered(engine: Engine, written: handovers.Handover,
              after: handovers.Handover | None,
              without: Callable[[handovers.Handover],
                                handovers.Handover | None]) -> bool:
    """Write a handover after the answer to its last request.

    :param after: the row, if no other request has been recorded since;
        ``None``: it is deleted.
    :param without: returns the row after the answer, if others have been.
    :returns: ``False`` if it could not be written.
    """
    row = written
    try:
        for _ in range(_ATTEMPTS):
            if _write_row(engine, row, after):
                return True
            found = _read_row(engine, written.node_uuid)
            if (found is None or found.holder != written.holder
                    or not found.waits_for(written.token)):
                return False
            row, after = found, without(found)
    except errors.ReservationError as exc:
        LOG.debug('An act on node %s is taken to be under way: %s',
                  written.node_uuid, exc)
    return False


def _write_row(engine: Engine, before: handovers.Handover,
               after: handovers.Handover | None) -> bool:
    """Write or delete a handover, if it is as it was read."""
    def statement(connection: sa.Connection) -> None:
        if after is None:
            db_handovers.delete_as_read(connection, before)
        else:
            db_handovers.update(connection, before, after)
    # NOTE: if not, the end of the lease waits for some time.
    return retry.write_once(engine, statement)


def update(engine: Engine, before: handovers.Handover,
           after: handovers.Handover) -> None:
    """Write a handover that has been read.

    :raises Conflict: it has changed.
    """
    with engine.database.write() as connection:
        db_handovers.update(connection, before, after)


def _read_row(engine: Engine, node_uuid: str) -> handovers.Handover | None:
    with engine.database.read() as connection:
        return db_handovers.read_one(connection, node_uuid)


def _check_late(engine: Engine, written: handovers.Handover) -> None:
    """Report an act that was carried out after the end of its holder.

    This happens if a process is suspended inside Ironic for minutes. The act
    is not undone, since the present holder may have done the same.
    """
    try:
        now = _read_row(engine, written.node_uuid)
    except errors.ReservationError:
        now = None
    if now is None or now.holder != written.holder:
        LOG.error(
            'Ironic answered an act of the former holder of node %s (%s) '
            'after the node had been put back and given away: this process '
            'was stopped for longer than [guard] rpc_timeout in between. '
            'Check the node, and clean it if somebody else may get it.',
            written.node_uuid, ', '.join(sorted(written.acts)))


def ask(engine: Engine, ironic: ironic_client.Ironic,
        handover: handovers.Handover) -> datetime.datetime:
    """Wait until the conductor of a node has answered all earlier requests.

    A conductor that was suspended continues the requests that it received
    before, and may wait some seconds for the lock of the node.

    :returns: the time at which all acts are over.
    :raises IronicUnavailable: the conductor does not answer.
    :raises Conflict: the handover has changed.
    """
    ironic.ask_conductor(handover.node_uuid)
    settles_at = engine.clock() + datetime.timedelta(
        seconds=conductors.BETWEEN_CHECKS)
    update(engine, handover, dataclasses.replace(
        handover, settles_at=settles_at, settled=True))
    return settles_at


def cleaned(engine: Engine, before: handovers.Handover) -> None:
    """Write that Ironic undeploys a node, and so cleans it.

    :param before: the handover as it was written for the undeploy.
    """
    if not before.settled or before.settles_at > engine.clock():
        # NOTE: an earlier act may reach Ironic after the undeploy.
        return
    try:
        update(engine, before, dataclasses.replace(
            before.carried_out(before.token), dirty=False))
    except (db_connection.Conflict, errors.ReservationError) as exc:
        # NOTE: then it is cleaned once more.
        LOG.info('Node %s will be cleaned at the end of its lease: %s',
                 before.node_uuid, exc)
