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
from typing import Any
import uuid as uuid_module

from ironic_reservations import errors
from ironic_reservations.db import hosts as db_hosts
from ironic_reservations.db import lease_names as db_lease_names
from ironic_reservations.db import leases as db_leases
from ironic_reservations.db import maintenance as db_maintenance
from ironic_reservations.db import nodes as db_nodes
from ironic_reservations.engine import announce
from ironic_reservations.engine import commit
from ironic_reservations.engine import difference as difference_module
from ironic_reservations.engine import Engine
from ironic_reservations.engine import notices
from ironic_reservations.engine import retry
from ironic_reservations.engine import snapshots
from ironic_reservations.engine.leases import asked_back as lease_asked_back
from ironic_reservations.engine.leases import dates as lease_dates
from ironic_reservations.engine.leases import demands as lease_demands
from ironic_reservations.engine.leases import terms as lease_terms
from ironic_reservations.engine.maintenance import ground as ground_module
from ironic_reservations.model import facts
from ironic_reservations.model import instants
from ironic_reservations.model import leases
from ironic_reservations.model import maintenance
from ironic_reservations.model import node_condition
from ironic_reservations.model import reasons
from ironic_reservations.model import requirements
from ironic_reservations.model import told_times
from ironic_reservations.planner import bookings
from ironic_reservations.planner import displace
from ironic_reservations.planner import standing

#: So many nodes are named in a sentence.
_TOLD = 20
_TOO_LATE = datetime.datetime(instants.LAST_YEAR + 1, 1, 1,
                              tzinfo=datetime.UTC)


@dataclasses.dataclass(frozen=True)
class Ask:
    """A request for a maintenance window.

    :ivar starts_at: ``None``: now.
    :ivar nodes: names or uuids; ``None``: all that have the rest.
    :ivar resource_class: that nodes have to have.
    :ivar properties: that nodes have to have, as those of leases.
    :ivar drain: whether a node whose lease has started is waited for.
    :ivar force: whether what cannot move stays in the way.
    """

    name: str
    reason: str
    ends_at: datetime.datetime
    starts_at: datetime.datetime | None = None
    nodes: tuple[str, ...] | None = None
    resource_class: str | None = None
    properties: str = ''
    drain: bool = False
    force: bool = False
    project_id: str | None = None
    user_id: str | None = None


@dataclasses.dataclass(frozen=True)
class Booked:
    """A booking of a lease that has not started, in the way of a window.

    :ivar to: the node that it gets; ``None``: none was found.
    """

    row: leases.NodeBooking
    to: str | None = None


@dataclasses.dataclass(frozen=True)
class Planned:
    """A maintenance window, and what it does to others.

    :ivar bound: who has its nodes when it starts, or is waited for.
    :ivar moves: which bookings get other nodes.
    :ivar cannot_move: those for which none was found.
    :ivar reasons: why it is refused, if it is.
    :ivar lease_ids: by the lease reservation.
    """

    window: maintenance.Window
    bound: Sequence[ground_module.Bound]
    moves: Sequence[Booked]
    cannot_move: Sequence[Booked]
    reasons: Sequence[dict[str, Any]]
    lease_ids: Mapping[str, str] = dataclasses.field(default_factory=dict)


def create(engine: Engine, ask: Ask, dry_run: bool = False) -> Planned:
    """Book nodes for maintenance, or say what is in the way.

    Bookings of leases that have not started go to other nodes.

    :param dry_run: plan and answer, and book nothing; then what would be
        refused is told as well, in ``reasons``.
    :raises InvalidValue: the request makes no sense.
    :raises MaintenanceRefused: something is in the way; with ``reasons``.
    :raises Contention: others changed the nodes each time.
    :raises OutcomeUnknown: it may or may not have been booked.
    """
    ident = str(uuid_module.uuid4())

    def look() -> Planned | None:
        with engine.database.snapshot() as connection:
            made = db_maintenance.read(connection, (ident,))
        return Planned(made[0], (), (), (), ()) if made else None

    def attempt() -> Planned:
        plan = _Plan(engine, ask, ident)
        made = plan.made
        if made.reasons and not dry_run:
            raise errors.MaintenanceRefused(
                'Nothing was booked: ' + '; '.join(
                    f'node {each["node_uuid"]} {each["detail"]}'
                    for each in made.reasons[:_TOLD])
                + ('.' if len(made.reasons) <= _TOLD else
                   f'; and {len(made.reasons) - _TOLD} more.')
                + ' Choose another time or other nodes; send "drain" to wait '
                  'for leases that have started, or "force" to book the nodes '
                  'nevertheless.', reasons=list(made.reasons))
        if not dry_run:
            for lease in plan.commit():
                engine.announcer.tell_lease(announce.LEASE_UPDATE, lease,
                                            announce.MAINTENANCE)
        return made
    return retry.until_committed(attempt, look)


class _Plan:
    """One attempt to plan a window, on what holds now."""

    def __init__(self, engine: Engine, ask: Ask, ident: str) -> None:
        self._engine = engine
        self._ask = ask
        self._now = engine.clock()
        start = max(ask.starts_at or self._now, self._now)
        if ask.ends_at.year > instants.LAST_YEAR:
            raise errors.InvalidValue(
                f'ends_at: {told_times.moment(ask.ends_at)} is too late; the '
                f'last possible year is {instants.LAST_YEAR}.')
        if ask.ends_at <= start:
            raise errors.InvalidValue(
                'ends_at: the maintenance ends at '
                f'{told_times.moment(ask.ends_at)}, '
                f'which is not after its start at {told_times.moment(start)}. '
                'Send a later end.')
        self._margin = engine.conf.leases.cleaning_time * instants.SECOND
        nodes = self._nodes()
        self._names = {node.uuid: node.name or node.uuid for node in nodes}
        self._snapshot = engine.snapshots.snapshot(engine.database,
                                                   self._now)
        self._ground = ground_module.look(engine, self._snapshot, nodes)
        each = [self._window(ident, node.uuid, start) for node in nodes]
        self._window_of = {one.node_uuid: one for one in each}
        self._plan_moves()
        self.made = self._made(maintenance.Window(
            ident, ask.name, ask.reason, start,
            max(one.ends_at for one in each), self._now, ask.drain,
            project_id=ask.project_id, user_id=ask.user_id,
            nodes=tuple(each)))

    def _nodes(self) -> list[facts.Node]:
        """Return the nodes that are asked for.

        :raises InvalidValue: one of them is unknown, or there is none.
        """
        ask = self._ask
        wanted = lease_terms.requirement('', ask.properties)
        with self._engine.database.snapshot() as connection:
            known = db_nodes.read_nodes(connection)
            hosts = {row.node_uuid: row for row in db_hosts.read(connection)}
        there = [node for node in known.values() if not node.compute
                 and node.provision_state != node_condition.GONE]
        if ask.nodes is not None:
            named = {name: node for node in there
                     for name in (node.name, node.uuid) if name is not None}
            missing = [name for name in ask.nodes if name not in named]
            if missing:
                raise errors.InvalidValue(
                    'nodes: there is no node '
                    + ', '.join(missing[:_TOLD])
                    + '. Send names or UUIDs of nodes; a node that has just '
                      'been enrolled is known within seconds, and compute '
                      'hosts of Nova have no maintenance in Ironic.')
            there = list({named[name].uuid: named[name]
                          for name in ask.nodes}.values())
        there = [node for node in there if (
            ask.resource_class in (None, node.resource_class)) and (
                not ask.properties or wanted.met_by(requirements.describe(
                    hosts[node.uuid].with_node(node) if node.uuid in hosts
                    else leases.Host(0, node, self._now))))]
        if not there:
            raise errors.InvalidValue(
                'No node has the requested resource class and properties.')
        return there

    def _window(self, ident: str, uuid: str,
                start: datetime.datetime) -> maintenance.NodeWindow:
        """Return when a node is in maintenance.

        NOTE: it lasts as long, whoever is waited for.

        :raises InvalidValue: then it would end beyond the calendar.
        """
        end = self._ask.ends_at
        later = [instants.moment(instants.instant(each.until) + self._margin)
                 for each in self._ground.bound[uuid]
                 if each.until is not None and each.until > start]
        if self._ask.drain and later:
            free = max(later)
            # NOTE: in whole numbers, which know no last year.
            if instants.instant(end) + (
                    instants.instant(free) - instants.instant(start)
                    ) >= instants.instant(_TOO_LATE):
                raise errors.InvalidValue(
                    f'ends_at: node {uuid} is in use until '
                    f'{told_times.moment(free)}, and a maintenance of this '
                    'duration after that would end too late; the last '
                    f'possible year is {instants.LAST_YEAR}. Send an earlier '
                    'end, or leave this node out.')
            start, end = free, end + (free - start)
        return maintenance.NodeWindow(ident, uuid, start, end)

    def _plan_moves(self) -> None:
        """Find other nodes for what is planned in the windows."""
        snapshot = self._snapshot
        windows: dict[int, tuple[int, int]] = {}
        units: dict[str, list[snapshots.Displaced]] = {}
        for uuid, number in self._ground.numbers.items():
            here = snapshot.standing(number)
            window = self._window_of[uuid]
            if here.unfit() is not None:
                # NOTE: all that is planned there is planned anew already.
                continue
            windows[number] = (instants.instant(window.starts_at),
                               instants.instant(window.ends_at))
            for row, wanted in self._ground.planned[uuid]:
                if (row.starts_at < window.ends_at
                        and row.ends_at > window.starts_at):
                    units.setdefault(lease_demands.unit_of(here, row),
                                     []).append((row, wanted))
        leaving: dict[bookings.Demand, list[str]] = {}
        homes: dict[str, leases.NodeBooking] = {}
        rows: dict[str, list[leases.NodeBooking]] = {}
        for together in units.values():
            row, wanted = together[0]
            unit = [each for each, _ in together]
            demand = snapshot.loans.limit(lease_demands.of_rows(
                f'{standing.name(row)}:home', unit,
                instants.instant(row.starts_at),
                instants.instant(row.ends_at),
                snapshot.eligible(wanted) & snapshot.usable, self._margin,
                snapshot.standing(snapshot.fleet.number(row.node_uuid))),
                row.project_id)
            leaving[demand] = [standing.name(each) for each in unit]
            rows[demand.id] = unit
            homes.update((f'{demand.id}/{count}', each)
                         for count, each in enumerate(unit))
        cleared = displace.vacate(snapshot.timeline, windows, leaving)
        self._difference = difference_module.compare(
            snapshot, cleared.timeline, renamed=homes)
        self._stays = [row for ident in sorted(cleared.homeless)
                       for row in rows[ident]]

    def _made(self, window: maintenance.Window) -> Planned:
        ground = self._ground
        bound = [each for uuid, there in ground.bound.items()
                 for each in there if self._concerns(each, uuid)]
        told: list[reasons.Reason] = []
        for uuid, windows in ground.windows.items():
            own = self._window_of[uuid]
            told.extend(reasons.Reason(
                uuid, reasons.MAINTENANCE,
                f'is in the maintenance window {each.window_id} until '
                f'{told_times.moment(each.ends_at)}', each.ends_at)
                for each in windows if each.starts_at < own.ends_at
                and (each.late(self._now) or each.ends_at > own.starts_at))
        if not self._ask.force:
            if not self._ask.drain:
                told.extend(map(_why_bound, bound))
            told.extend(reasons.Reason(
                row.node_uuid, reasons.PROMISED,
                'is promised to a lease from '
                f'{told_times.moment(row.starts_at)} '
                f'until {told_times.moment(row.ends_at)}, and no other node '
                'was found for it', row.ends_at, row.starts_at)
                for row in self._stays)
        moves = [Booked(row, to) for row, to
                 in self._difference.homes.items()]
        with self._engine.database.read() as connection:
            named = db_lease_names.read(connection, {
                *self._window_of, *(each.row.node_uuid for each in moves)})
        return Planned(window, bound, moves,
                       [Booked(row) for row in self._stays],
                       [each.as_dict() for each in told],
                       {key: each.id for key, each in named.items()})

    def _concerns(self, bound: ground_module.Bound, uuid: str) -> bool:
        start = self._window_of[uuid].starts_at
        return self._ask.drain or bound.until is None or bound.until > start

    def _read_concerned(self) -> list[leases.Lease]:
        """Read the leases that have nodes of the window."""
        ids = {self.made.lease_ids[each.reservation_id]
               for each in self.made.bound
               if each.reservation_id is not None
               and each.reservation_id in self.made.lease_ids}
        if not ids:
            return []
        with self._engine.database.snapshot() as connection:
            return db_leases.read(connection, ids)

    def _notice(self, lease: leases.Lease) -> str:
        """Return what the owner of a lease is told."""
        own = sorted({row.node_uuid for row in lease.bookings}
                     & self._window_of.keys())
        first = min((self._window_of[uuid] for uuid in own),
                    key=lambda each: each.starts_at)
        more = f' and {len(own) - 1} more' if len(own) > 1 else ''
        after = ('' if lease.end > first.starts_at else
                 ', after the lease, which cannot be extended into it')
        return (f'Node {self._names[first.node_uuid]}{more} of it will be in '
                f'maintenance from {told_times.moment(first.starts_at)} until '
                f'{told_times.moment(first.ends_at)}{after}: '
                f'{self._ask.reason}')

    def commit(self) -> list[leases.Lease]:
        """Write what has been planned, with notices to owners of leases.

        :returns: the leases that have nodes of the window.
        :raises Conflict: somebody has changed a node meanwhile.
        """
        concerned = self._read_concerned()
        lessees = lease_asked_back.find_moved(self._engine, self._snapshot,
                                              self._difference.homes)
        with self._engine.database.write() as connection:
            commit.commit(connection, self._ground.seen, self._now,
                          self._difference)
            db_maintenance.insert(connection, self.made.window)
            lease_asked_back.write(self._engine, connection, lessees,
                                   self._now)
            for lease in concerned:
                notices.write(
                    self._engine.conf, connection, notices.Kind.MAINTENANCE,
                    lease, self._now, self._notice(lease),
                    f'maintenance {self.made.window.id}')
            lease_dates.check_movable(self._difference.homes, self._now,
                                      self._engine.clock())
        lease_asked_back.tell(self._engine, lessees)
        return concerned


def _why_bound(bound: ground_module.Bound) -> reasons.Reason:
    until = ('' if bound.until is None
             else f' until {told_times.moment(bound.until)}')
    code, told = {
        ground_module.Kind.LEASE: (reasons.LEASED, f'is leased{until}'),
        ground_module.Kind.RESERVATION: (
            reasons.RESERVED, f'is reserved{until or " and in use"}'),
        ground_module.Kind.INSTANCE: (
            reasons.INSTANCE_BOUND, 'is used without a lease'),
    }[bound.kind]
    return reasons.Reason(bound.node_uuid, code, told, bound.until)
