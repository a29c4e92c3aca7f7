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

"""Book nodes for maintenance (``POST /v1/maintenances``)."""

from __future__ import annotations

from collections.abc import Mapping
from collections.abc import Sequence
import dataclasses
import datetime
import functools
from typing import Any
import uuid as uuid_module

import sqlalchemy as sa

from ironic_reservations import errors
from ironic_reservations.db import hosts as db_hosts
from ironic_reservations.db import lease_names as db_lease_names
from ironic_reservations.db import leases as db_leases
from ironic_reservations.db import nodes as db_nodes
from ironic_reservations.engine import change
from ironic_reservations.engine import earlier
from ironic_reservations.engine import Engine
from ironic_reservations.engine.leases import demands as lease_demands
from ironic_reservations.engine.leases import ladder
from ironic_reservations.engine.leases import rehearsal as lease_rehearsal
from ironic_reservations.engine.leases import request_checks
from ironic_reservations.features.maintenance import (
    holdings as holdings_module,
)
from ironic_reservations.features.maintenance import homes as homes_module
from ironic_reservations.features.maintenance import rows as db_maintenance
from ironic_reservations.features.maintenance import values
from ironic_reservations.model import instants
from ironic_reservations.model import leases
from ironic_reservations.model import limits
from ironic_reservations.model import mirrored_node
from ironic_reservations.model import node_condition
from ironic_reservations.model import node_window
from ironic_reservations.model import notices
from ironic_reservations.model import reasons
from ironic_reservations.model import requirements
from ironic_reservations.model import time_text

#: The maximum number of nodes in a sentence.
_NAMED = 20
_TOO_LATE = datetime.datetime(instants.LAST_YEAR + 1, 1, 1,
                              tzinfo=datetime.UTC)
#: All nodes, and the hosts by their nodes.
_There = tuple[Mapping[str, mirrored_node.Node], Mapping[str, db_hosts.Row]]


@dataclasses.dataclass(frozen=True)
class WindowRequest:
    """A request for a maintenance window.

    :ivar ends_at: the end; ``None`` with a duration.
    :ivar starts_at: the start; ``None``: immediately.
    :ivar nodes: names or uuids; ``None``: all nodes that match the rest.
    :ivar resource_class: the class of the nodes.
    :ivar properties: their properties, in the language of leases.
    :ivar drain: whether the window waits for leases that have started.
    :ivar force: whether to book it although bookings cannot move.
    :ivar lasts: the duration from the start on, instead of the end.
    """

    name: str
    reason: str
    ends_at: datetime.datetime | None = None
    starts_at: datetime.datetime | None = None
    nodes: tuple[str, ...] | None = None
    resource_class: str | None = None
    properties: str = ''
    drain: bool = False
    force: bool = False
    project_id: str | None = None
    user_id: str | None = None
    lasts: datetime.timedelta | None = None


@dataclasses.dataclass(frozen=True)
class Booked:
    """A booking that has not started, on a node of a window.

    :ivar to: the uuid of its new node; ``None`` if there is none.
    """

    row: leases.NodeBooking
    to: str | None = None


@dataclasses.dataclass(frozen=True)
class Planned:
    """A maintenance window, and its effect on others.

    :ivar bound: the holders of its nodes at its start.
    :ivar moves: the bookings that get other nodes.
    :ivar cannot_move: the bookings for which there is no other node.
    :ivar reasons: the reasons of the refusal, if it is refused.
    :ivar lease_ids: the ids of leases by the ids of their reservations.
    :ivar rescheduled: the leases whose dates change.
    """

    window: values.Window
    bound: Sequence[holdings_module.Bound]
    moves: Sequence[Booked]
    cannot_move: Sequence[Booked]
    reasons: Sequence[dict[str, Any]]
    lease_ids: Mapping[str, str] = dataclasses.field(default_factory=dict)
    rescheduled: Sequence[lease_rehearsal.Moved] = ()


def create(engine: Engine, request: WindowRequest, dry_run: bool = False,
           key: earlier.Key | None = None) -> Planned:
    """Book nodes for maintenance.

    Bookings of leases that have not started move to other nodes.  If there are
    not enough, leases with open dates get other dates.  A repeated request
    returns the same window, without its effects on others.

    :param dry_run: plan and answer without booking; a refusal is then returned
        in ``reasons``, and not raised.
    :param key: the idempotency key of the request, if it has one.
    :raises InvalidValue: the request is not valid.
    :raises MaintenanceEnded: the window that the same request booked is over.
    :raises MaintenanceKeyReused: the key was sent with another request before.
    :raises MaintenanceRefused: bookings or holders prevent it; with
        ``reasons``.
    :raises Contention: other requests changed the nodes at each attempt.
    :raises OutcomeUnknown: the window may or may not have been booked.
    """
    idents = [str(uuid_module.uuid4())]
    keys: list[earlier.Earlier] = []
    rungs = ladder.Ladder(engine)

    def plan() -> change.Planned[Planned]:
        keys.clear()
        with engine.database.snapshot() as connection:
            now = engine.clock()
            known = (earlier.Earlier() if dry_run or key is None
                     else earlier.read(engine, connection, key, now))
            keys.append(known)
            if known.ident is not None:
                return change.Planned(Planned(
                    _booked(connection, known, now), (), (), (), ()))
            there = _read(connection)
        planned = rungs.climb(
            lambda terms, _: _Plan(engine, request, idents[-1], there,
                                   terms.others),
            lambda found: not found.made.cannot_move,
            lambda found: ladder.Asked(
                engine.clock(), limits.NONE, found.made.window.starts_at,
                found.made.window.starts_at, found.made.window.ends_at))
        if dry_run:
            return change.Planned(planned.made)
        planned.check()
        return change.Planned(planned.made, planned.change(known))

    def refused(exc: errors.ReservationError) -> None:
        for known in keys:
            known.check_unserved(engine, exc)

    def rename() -> None:
        idents.append(str(uuid_module.uuid4()))
    return change.carry_out(engine, plan, refused=refused, rename=rename)


def _booked(connection: sa.Connection, known: earlier.Earlier,
            now: datetime.datetime) -> values.Window:
    """Read the window that the same request has booked before."""
    assert known.ident is not None
    for window in db_maintenance.read(connection, (known.ident,)):
        if any(each.stands(now) and not each.late(now)
               for each in window.nodes):
            return window
    raise known.ended()


def _read(connection: sa.Connection) -> _There:
    """Read all nodes, and the hosts by their nodes."""
    return db_nodes.read_nodes(connection), {
        row.node_uuid: row for row in db_hosts.read(connection)}


def _end(request: WindowRequest,
         start: datetime.datetime) -> datetime.datetime:
    """Return the end of the window.

    :raises InvalidValue: it is too late, or not after the start.
    """
    if request.lasts is not None:
        # The year is compared first, since datetime ends with the year 9999.
        end = (start if start.year > instants.LAST_YEAR
               else start + request.lasts)
    else:
        assert request.ends_at is not None
        end = request.ends_at
    if end.year > instants.LAST_YEAR:
        raise errors.InvalidValue(
            f'The maintenance would end at {time_text.moment(end)}, which is '
            f'too late; the last possible year is {instants.LAST_YEAR}.')
    if end <= start:
        raise errors.InvalidValue(
            f'ends_at: the maintenance ends at {time_text.moment(end)}, '
            f'which is not after its start at {time_text.moment(start)}. '
            'Send a later end.')
    return end


class _Plan:
    """One attempt to plan a window, on the present state."""

    def __init__(self, engine: Engine, request: WindowRequest, ident: str,
                 there: _There,
                 others: ladder.Others | None = None) -> None:
        self._engine = engine
        self._request = request
        self._now = engine.clock()
        start = max(request.starts_at or self._now, self._now)
        self._end = _end(request, start)
        nodes = self._nodes(*there)
        self._names = {node.uuid: node.name or node.uuid for node in nodes}
        self._named_by_uuid = {node.uuid: f'{node.name} ({node.uuid})'
                               for node in nodes if node.name}
        self._snapshot = engine.snapshot(
            self._now, () if others is None else others.wanted.values())
        self._ground = holdings_module.read(engine, self._snapshot, nodes)
        each = [self._window(ident, node.uuid, start, place)
                for place, node in enumerate(nodes)]
        self._window_of = {one.node_uuid: one for one in each}
        self._homes = self._find_homes(others)
        self.made = self._made(values.Window(
            ident, request.name, request.reason, start,
            max(one.ends_at for one in each), self._now, request.drain,
            project_id=request.project_id, user_id=request.user_id,
            nodes=tuple(each)))

    def named(self, uuid: str) -> str:
        """Return the name and the uuid of a node, for a sentence."""
        return self._named_by_uuid.get(uuid, uuid)

    def _nodes(self, known: Mapping[str, mirrored_node.Node],
               hosts: Mapping[str, db_hosts.Row]) -> list[mirrored_node.Node]:
        """Return the nodes of the window."""
        request = self._request
        wanted = request_checks.requirement('', request.properties)
        there = [node for node in known.values() if not node.compute
                 and node.provision_state != node_condition.GONE]
        if request.nodes is not None:
            named = {name: node for node in there
                     for name in (node.name, node.uuid) if name is not None}
            missing = [name for name in request.nodes if name not in named]
            if missing:
                raise errors.InvalidValue(
                    'nodes: there is no node '
                    + ', '.join(missing[:_NAMED])
                    + '. Send names or UUIDs of nodes; a node that has just '
                      'been enrolled is known within seconds, and compute '
                      'hosts of Nova have no maintenance in Ironic.')
            there = list({named[name].uuid: named[name]
                          for name in request.nodes}.values())
        there = [node for node in there if (
            request.resource_class in (None, node.resource_class)) and (
                not request.properties or wanted.met_by(requirements.describe(
                    hosts[node.uuid].with_node(node) if node.uuid in hosts
                    else leases.Host(0, node, self._now))))]
        if not there:
            raise errors.InvalidValue(
                'No node has the requested resource class and properties.')
        return there

    def _window(self, ident: str, uuid: str, start: datetime.datetime,
                place: int) -> node_window.NodeWindow:
        """Return the window of one node.

        If it waits for a lease, its length stays the same.
        """
        end, margin = self._end, self._snapshot.margin
        later = [instants.moment(instants.instant(each.until) + margin)
                 for each in self._ground.bound[uuid]
                 if each.until is not None and each.until > start]
        if self._request.drain and later:
            free = max(later)
            # In integers, since datetime ends with the year 9999.
            if instants.instant(end) + (
                    instants.instant(free) - instants.instant(start)
                    ) >= instants.instant(_TOO_LATE):
                raise errors.InvalidValue(
                    f'ends_at: node {self.named(uuid)} is in use, and cleaned '
                    f'after that, until {time_text.moment(free)}, and a '
                    'maintenance of this duration after that would end too '
                    'late; the last possible year is '
                    f'{instants.LAST_YEAR}. Send an earlier end, or leave '
                    'this node out.')
            start, end = free, end + (free - start)
        return node_window.NodeWindow(ident, uuid, start, end, place=place)

    def _find_homes(self, others: ladder.Others | None
                    ) -> homes_module.Homes:
        """Find other nodes or dates for the bookings within the windows."""
        snapshot = self._snapshot
        windows: dict[int, tuple[datetime.datetime, datetime.datetime]] = {}
        asked: dict[leases.NodeBooking, requirements.Requirement] = {}
        for uuid, number in self._ground.numbers.items():
            here = snapshot.host_state(number)
            window = self._window_of[uuid]
            if here.unfit is not None:
                # Its bookings have been planned again already.
                continue
            windows[number] = window.starts_at, window.ends_at
            for row, wanted in self._ground.planned[uuid]:
                if (row.starts_at < window.ends_at
                        and row.ends_at > window.starts_at):
                    asked[row] = wanted
        leaving = {lease_demands.home(
            snapshot, unit, asked[unit[0]], snapshot.usable):
            unit for unit in lease_demands.units(snapshot, asked)}
        return homes_module.find(snapshot, windows, leaving,
                                 others)

    def _made(self, window: values.Window) -> Planned:
        holdings = self._ground
        bound = [each for uuid, there in holdings.bound.items()
                 for each in there if self._concerns(each, uuid)]
        refusals: list[reasons.Reason] = []
        for uuid, windows in holdings.windows.items():
            own = self._window_of[uuid]
            refusals.extend(reasons.Reason(
                uuid, reasons.MAINTENANCE,
                f'is in the maintenance window {each.window_id} until '
                f'{time_text.moment(each.ends_at)}', each.ends_at)
                for each in windows if each.starts_at < own.ends_at
                and (each.late(self._now) or each.ends_at > own.starts_at))
        if not self._request.force:
            if not self._request.drain:
                refusals.extend(map(_why_bound, bound))
            refusals.extend(reasons.Reason(
                row.node_uuid, reasons.PROMISED,
                'is promised to a lease from '
                f'{time_text.moment(row.starts_at)} '
                f'until {time_text.moment(row.ends_at)}, and no other node '
                'was found for it', row.ends_at, row.starts_at)
                for row in self._homes.stays)
        moves = [Booked(row, to) for row, to
                 in self._homes.difference.homes.items()]
        with self._engine.database.read() as connection:
            named = db_lease_names.read(connection, {
                *self._window_of, *(each.row.node_uuid for each in moves)})
        return Planned(window, bound, moves,
                       [Booked(row) for row in self._homes.stays],
                       [each.as_dict() for each in refusals],
                       {key: each.id for key, each in named.items()},
                       lease_rehearsal.slid(self._homes.slid))

    def _concerns(self, bound: holdings_module.Bound, uuid: str) -> bool:
        start = self._window_of[uuid].starts_at
        return (self._request.drain or bound.until is None
                or bound.until > start)

    def _read_concerned(self) -> list[leases.Lease]:
        """Read the leases that have nodes of the window."""
        named = self.made.lease_ids
        ids = {named[each] for each in named.keys() & {
            each.reservation_id for each in self.made.bound}}
        if not ids:
            return []
        with self._engine.database.snapshot() as connection:
            return db_leases.read(connection, ids)

    def _notice(self, lease: leases.Lease) -> str:
        """Return the sentence for the owner of a lease."""
        own = sorted({row.node_uuid for row in lease.bookings}
                     & self._window_of.keys())
        first = min((self._window_of[uuid] for uuid in own),
                    key=lambda each: each.starts_at)
        more = f' and {len(own) - 1} more' if len(own) > 1 else ''
        after = ('' if lease.end > first.starts_at else
                 ', after the lease, which cannot be extended into it')
        return (f'Node {self._names[first.node_uuid]}{more} of it will be in '
                f'maintenance from {time_text.moment(first.starts_at)} until '
                f'{time_text.moment(first.ends_at)}{after}: '
                f'{self._request.reason}')

    def check(self) -> None:
        """Check that the window was not refused.

        :raises MaintenanceRefused: the window was refused; the error has
            ``reasons``.
        """
        refusals = self.made.reasons
        if refusals:
            raise errors.MaintenanceRefused(
                'Nothing was booked: ' + '; '.join(
                    f'node {self.named(each["node_uuid"])} {each["detail"]}'
                    for each in refusals[:_NAMED])
                + ('.' if len(refusals) <= _NAMED else
                   f'; and {len(refusals) - _NAMED} more.')
                + ' Choose another time or other nodes; send "drain" to wait '
                  'for leases that have started, or "force" to book the nodes '
                  'nevertheless.', reasons=list(refusals))

    def change(self, known: earlier.Earlier) -> change.Change:
        """Return the change that books the window and makes room for it."""
        moves, slid = self._homes.difference, self._homes.slid
        window = self.made.window
        booking = change.Change(
            self._now, self._ground.seen.also(moves.seen),
            [*slid, *(change.Write(None, each) for each in window.nodes)],
            self._snapshot, window.id, [known], moves.homes,
            statements=[functools.partial(db_maintenance.insert,
                                          window=window)],
            events=[
                change.Concern(lease, notices.Kind.MAINTENANCE,
                               self._notice(lease), f'maintenance {window.id}')
                for lease in self._read_concerned()])
        booking.wrong_from(window.ends_at)
        return booking


def _why_bound(bound: holdings_module.Bound) -> reasons.Reason:
    until = ('' if bound.until is None
             else f' until {time_text.moment(bound.until)}')
    code, text = {
        holdings_module.Kind.LEASE: (reasons.LEASED, f'is leased{until}'),
        holdings_module.Kind.RESERVATION: (
            reasons.RESERVED, f'is reserved{until or " and in use"}'),
        holdings_module.Kind.INSTANCE: (
            reasons.INSTANCE_BOUND, 'is used without a lease'),
    }[bound.kind]
    return reasons.Reason(bound.node_uuid, code, text, bound.until)
