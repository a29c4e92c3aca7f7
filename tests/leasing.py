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

"""Leases on a timeline with its surroundings, and what their rows say.

Hours count from noon of the day on which the tests begin.
"""

from __future__ import annotations

import collections
from collections.abc import Iterable
from concurrent import futures
import dataclasses
import datetime
import itertools
import threading
from typing import Any

from ironic_reservations import engine as engine_module
from ironic_reservations import errors
from ironic_reservations.api import versions
from ironic_reservations.api.types import lease_body
from ironic_reservations.db import bookings as db_bookings
from ironic_reservations.db import hosts as db_hosts
from ironic_reservations.db import leases as db_leases
from ironic_reservations.db import nodes as db_nodes
from ironic_reservations.db import reservations as db_reservations
from ironic_reservations.db import tables
from ironic_reservations.engine import earlier
from ironic_reservations.engine import hosts
from ironic_reservations.engine import mirror
from ironic_reservations.engine import seen
from ironic_reservations.engine import snapshots
from ironic_reservations.engine.leases import change as lease_change
from ironic_reservations.engine.leases import create as lease_create
from ironic_reservations.engine.leases import end as lease_end
from ironic_reservations.engine.leases import find as lease_find
from ironic_reservations.engine.snapshots import cache
from ironic_reservations.features.queue import long_queue
from ironic_reservations.features.queue import pull as lease_pull
from ironic_reservations.model import flavors
from ironic_reservations.model import instance_reservations
from ironic_reservations.model import instants
from ironic_reservations.model import inventories
from ironic_reservations.model import leases
from ironic_reservations.model import limits
from ironic_reservations.model import mirrored_node
from ironic_reservations.model import node_reservation
from tests import world

PLANNED = leases.BookingState.PLANNED
BOUND = leases.BookingState.BOUND
ENDING = leases.BookingState.ENDING
ACTIVE = leases.LeaseStatus.ACTIVE
PROJECT = 'ours'


def at(hours: float) -> datetime.datetime:
    """Return an instant."""
    return world.NOON + datetime.timedelta(hours=hours)


def of_class(name: str) -> str:
    """Ask for hosts of a resource class."""
    return f'["==", "$resource_class", "{name}"]'


def wish(least: int = 1, most: int | None = None,
         properties: str = '') -> leases.LeaseReservationRequest:
    """Ask for hosts."""
    return leases.LeaseReservationRequest(least, max(least, most or least),
                       resource_properties=properties)


def wish_of(name: str, least: int = 1, most: int | None = None
            ) -> leases.LeaseReservationRequest:
    """Ask for hosts of a resource class."""
    return wish(least, most, of_class(name))


def instances(amount: int = 1, vcpus: int = 1, memory_mb: int = 0,
              disk_gb: int = 0, affinity: bool | None = None,
              properties: str = '') -> leases.LeaseReservationRequest:
    """Ask for instances."""
    return leases.LeaseReservationRequest(
        amount, amount, resource_properties=properties,
        resource_type=instance_reservations.VIRTUAL_INSTANCE,
        instances=instance_reservations.InstanceRequest(
            vcpus, memory_mb, disk_gb, affinity))


def sizes(cpus: int | str, memory_mb: int = 1024,
          local_gb: int = 10) -> tuple[tuple[str, str], ...]:
    """Return the properties of a node."""
    return (('cpus', str(cpus)), ('local_gb', str(local_gb)),
            ('memory_mb', str(memory_mb)))


def ask(start: float | None, end: float, *wishes:
        leases.LeaseReservationRequest, **more: Any) -> leases.LeaseRequest:
    """Ask for a lease; of one host, unless there are wishes.

    :param start: ``None``: now.
    """
    more.setdefault('name', f'from {start} to {end}')
    more.setdefault('project_id', PROJECT)
    return leases.LeaseRequest(
        start=None if start is None else at(start), end=at(end),
        reservations=wishes or (wish(),), **more)


def posted(offer: dict[str, Any], now: datetime.datetime,
           project_id: str | None = PROJECT) -> leases.LeaseRequest:
    """Read a counter-offer as the API would, were it posted unchanged."""
    return lease_body.new_lease(offer['lease'], now, project_id, None, None,
                                versions.MAXIMUM)


def pull(engine: engine_module.Engine,
         queue: long_queue.LongQueue | None = None) -> int:
    """Move queued leases to an earlier start, and return how many move."""
    return lease_pull.move_earlier(engine, lambda: True,
                                   queue or long_queue.LongQueue())


class Leasing:
    """What tenants and operators do with leases.

    :param around: the timeline that it happens on.
    :param engine: which process does it.
    """

    def __init__(self, around: world.World,
                 engine: engine_module.Engine | None = None) -> None:
        self.world = around
        self.engine = engine or around.engine

    def hosts(self, count: int = 1, **known: Any) -> list[str]:
        """Open new nodes to leases, and return their uuids."""
        uuids = self.world.enrol(count, **known)
        for uuid in uuids:
            hosts.add(self.engine, uuid, {})
        return uuids

    def compute_hosts(self, count: int = 1, vcpus: int = 8,
                      memory_mb: int = 65536, disk_gb: int = 1000,
                      **known: Any) -> list[str]:
        """Open new compute hosts to leases, and return their uuids."""
        there = tuple(
            (name, inventories.Inventory(total, max_unit=total))
            for name, total in ((flavors.DISK_GB, disk_gb),
                                (flavors.MEMORY_MB, memory_mb),
                                (flavors.VCPU, vcpus)))
        made = [mirrored_node.Node(world.new_uuid(), provision_state=None,
                                   inventories=there, **known)
                for _ in range(count)]
        self.world.write_mirror(made)
        with self.engine.database.write() as connection:
            for node in made:
                db_hosts.insert(connection, node.uuid, self.world.clock())
        return [node.uuid for node in made]

    def change_host(self, node_uuid: str, **known: Any) -> None:
        """Have the mirror say something else of a host."""
        with self.engine.database.write() as connection:
            node = db_nodes.read_nodes(connection, (node_uuid,))[node_uuid]
            node = dataclasses.replace(node, **known)
            now = self.world.clock()
            db_nodes.update_facts(connection, (node,), now)
            db_nodes.replace_traits(connection, (node,), now)

    def resize_host(self, node_uuid: str, vcpus: int) -> None:
        """Have a compute host get larger or smaller."""
        with self.engine.database.read() as connection:
            node = db_nodes.read_nodes(connection, (node_uuid,))[node_uuid]
        assert node.inventories is not None
        self.change_host(node_uuid, inventories=tuple(
            (name, dataclasses.replace(there, total=vcpus, max_unit=vcpus)
             if name == flavors.VCPU else there)
            for name, there in node.inventories))

    def overlap(self, node_uuid: str, until: float) -> None:
        """Have a reservation of a node be there that leases do not know of.
        """
        now = self.world.clock()
        with self.engine.database.write() as connection:
            seen.advance(connection, seen.read(connection, [node_uuid]), now)
            db_reservations.insert(connection, node_reservation.Reservation(
                world.new_uuid(), node_uuid, world.new_uuid(), now, None,
                at(until)))

    def set_reservable(self, node_uuid: str, reservable: bool) -> None:
        """Close a host, as its operator does, or open it again."""
        hosts.change(self.engine, self.host_id(node_uuid), {}, reservable)

    def host_id(self, node_uuid: str) -> int:
        """Return the id of the host that a node is."""
        return hosts.find(self.engine, node_uuid).id

    def create(self, start: float | None, end: float, *wishes:
               leases.LeaseReservationRequest, dry_run: bool = False,
               allowed: limits.Limits | None = None,
               **more: Any) -> leases.Lease:
        """Make a lease."""
        asked = ask(start, end, *wishes, **more)
        if dry_run:
            return lease_create.rehearse(self.engine, asked, allowed).lease
        return lease_create.create(self.engine, asked, allowed)

    def post(self, offer: dict[str, Any],
             dry_run: bool = False) -> leases.Lease:
        """Make the lease of a counter-offer, which is posted as it is."""
        asked = posted(offer, self.world.clock())
        if dry_run:
            return lease_create.rehearse(self.engine, asked).lease
        return lease_create.create(self.engine, asked)

    def started(self, start: float | None, end: float, *wishes:
                leases.LeaseReservationRequest, **more: Any) -> leases.Lease:
        """Make a lease, and bind what has started."""
        made = self.create(start, end, *wishes, **more)
        self.bind()
        return made

    def create_at_once(self, *asked: leases.LeaseRequest
                       ) -> list[leases.Lease | None]:
        """Make leases, each in a thread of its own, with four engines.

        :returns: ``None`` for each that was refused.
        """
        engines = [self.world.another_engine() for _ in range(4)]
        together = threading.Barrier(len(asked))

        def run(number: int) -> leases.Lease | None:
            together.wait()
            try:
                return lease_create.create(engines[number % 4], asked[number])
            except errors.LeaseRefused:
                return None
        with futures.ThreadPoolExecutor(len(asked)) as threads:
            return list(threads.map(run, range(len(asked))))

    def refused(self, start: float | None, end: float, *wishes:
                leases.LeaseReservationRequest,
                **more: Any) -> errors.LeaseRefused:
        """Ask for a lease that has to be refused, and return the refusal."""
        try:
            made = self.create(start, end, *wishes, **more)
        except errors.LeaseRefused as exc:
            return exc
        raise AssertionError(f'was not refused: {made}')

    def change(self, lease: leases.Lease, **changes: Any) -> leases.Lease:
        """Change a lease; ``start`` and ``end`` in hours.

        :param changes: with the ``key`` of the request, if it has one.
        """
        sent = changes.pop('key', None)
        for key in ('start', 'end'):
            if key in changes:
                changes[key] = at(changes[key])
        return lease_change.change(
            self.engine, lease.id, leases.LeaseChange(**changes),
            key=None if sent is None else earlier.of_request(
                'change', lease.project_id, sent,
                {'lease': lease.id, 'change': changes}))

    def resize_instances(self, lease: leases.Lease, amount: int | None = None,
                         **changes: Any) -> leases.Lease:
        """Change the first reservation of a lease, which is of instances."""
        return self.change(lease, reservations=(leases.LeaseReservationChange(
            lease.reservations[0].id, amount=amount,
            instances=instance_reservations.InstanceChange(**changes)
            if changes else None),))

    def resize(self, lease: leases.Lease, least: int | None = None,
               most: int | None = None, give_back: Iterable[str] = (),
               properties: str | None = None,
               **changes: Any) -> leases.Lease:
        """Change how many hosts the first reservation of a lease has.

        :param changes: of the lease besides.
        """
        return self.change(lease, reservations=(leases.LeaseReservationChange(
            lease.reservations[0].id, least, most,
            resource_properties=properties,
            give_back=tuple(give_back)),), **changes)

    def end(self, lease: leases.Lease) -> None:
        """End a lease."""
        lease_end.end(self.engine, lease.id)

    def reload(self, lease: leases.Lease) -> leases.Lease:
        """Read a lease as its rows are."""
        return lease_find.get(self.engine, lease.id)

    def all(self) -> list[leases.Lease]:
        """Read all leases as their rows are."""
        return lease_find.page(self.engine)

    def nodes(self, lease: leases.Lease) -> set[str]:
        """Read which nodes a lease has that are not being taken back."""
        return {booking.node_uuid for booking in self.reload(lease).bookings
                if booking.state is not ENDING}

    def snapshot(self) -> snapshots.Snapshot:
        """Read what the process knows, once it has looked at the rows."""
        return self.engine.snapshots.snapshot(self.engine.database,
                                              self.world.clock())

    def refresh(self) -> None:
        """Have the mirror read Ironic."""
        mirror.refresh_all(self.engine)

    def break_node(self, node_uuid: str) -> None:
        """Have a node fail."""
        self.world.ironic.change(node_uuid, maintenance=True)
        self.refresh()

    def mend_node(self, node_uuid: str) -> None:
        """Have a node back."""
        self.world.ironic.change(node_uuid, maintenance=False)
        self.refresh()

    # What happens by the clock, written without asking anybody, so that
    # tests of the use cases depend on nothing else.

    def clock_passes(self, hours: float) -> None:
        """Move the clock, to hours after noon: what is over ends, and what
        has started is bound.
        """
        self.world.clock.now = now = at(hours)
        for lease in self.all():
            if lease.end <= now and lease.status is ACTIVE:
                self.take_back(lease)
        self.clean_up()
        self.bind()

    def bind(self) -> None:
        """Bind what has started."""
        now = self.world.clock()
        for lease in self.all():
            if lease.status is leases.LeaseStatus.PENDING and (
                    lease.start <= now < lease.end):
                self._step(lease, leases.LeaseStatus.ACTIVE, PLANNED, BOUND)

    def take_back(self, lease: leases.Lease) -> None:
        """Begin to take the nodes of a lease back that is over."""
        self._step(self.reload(lease), leases.LeaseStatus.TERMINATING, BOUND,
                   ENDING)

    def _step(self, lease: leases.Lease, status: leases.LeaseStatus,
              before: leases.BookingState,
              after: leases.BookingState) -> None:
        now = self.world.clock()
        there = [booking for booking in lease.bookings
                 if booking.state is before]
        with self.engine.database.write() as connection:
            seen.advance(connection, seen.read_again(connection, there), now)
            db_bookings.update_state(connection, there, after, now)
            assert db_leases.update(connection, lease, dataclasses.replace(
                lease, status=status, updated_at=now), now)

    def clean_up(self) -> None:
        """Have all nodes that are being taken back be free again."""
        for lease in self.all():
            ending = [booking for booking in lease.bookings
                      if booking.state is ENDING]
            if not ending:
                continue
            with self.engine.database.write() as connection:
                seen.advance(connection,
                             seen.read_again(connection, ending),
                             self.world.clock())
                db_bookings.delete(connection, ending)
                if lease.status is leases.LeaseStatus.DELETING:
                    assert db_leases.delete_many(connection, [lease])
                elif lease.status is leases.LeaseStatus.TERMINATING:
                    assert db_leases.update(
                        connection, lease, dataclasses.replace(
                            lease, status=leases.LeaseStatus.TERMINATED),
                        None)

    # What has to be true.

    def rows(self) -> list[dict[str, Any]]:
        """Read the rows of the timeline, of leases and of reservations."""
        return [row for row in self.world.reservations().values()
                if row['window_id'] is None]

    def overlaps(self) -> list[tuple[dict[str, Any], dict[str, Any]]]:
        """Return the rows that promise one node twice.

        NOTE: compute hosts are shared; what they have is counted elsewhere.
        """
        with self.engine.database.read() as connection:
            shared = {uuid for uuid, node in db_nodes.read_nodes(
                connection, with_traits=False).items() if node.compute}
        return overlaps((row for row in self.rows()
                         if row['node_uuid'] not in shared),
                        self.world.clock())

    def overfull(self) -> list[str]:
        """Tell which compute hosts have promised more than they have."""
        with self.engine.database.read() as connection:
            there = {uuid: node for uuid, node in db_nodes.read_nodes(
                connection, with_traits=False).items() if node.compute}
            rows = [(row, each.need) for row, (_, _, each)
                    in db_bookings.read_with_wants(connection, there)
                    if each is not None]
        wrong = []
        for uuid, at in {(row.node_uuid, row.starts_at) for row, _ in rows}:
            used: collections.Counter[str] = collections.Counter()
            for row, need in rows:
                if row.node_uuid == uuid and (
                        row.starts_at <= at < row.ends_at):
                    used.update(dict(need.amounts))
            wrong.extend(
                f'{amount} {name} of {uuid} at {at}'
                for name, amount in used.items()
                if amount > dict(there[uuid].inventories)[name].capacity)
        return wrong

    def stale(self) -> dict[str, tuple[Any, Any]]:
        """Return the nodes and leases of which it knows what is not so."""
        now = self.world.clock()
        held = shown(self.snapshot())
        read = shown(cache.SnapshotCache(
            self.engine.conf, self.engine.all_features).snapshot(
                self.engine.database, now))
        held.update((each.id, each) for each in lease_find.page(self.engine))
        with self.engine.database.snapshot() as connection:
            read.update((each.id, each) for each in db_leases.read_page(
                connection, None, None, None))
        return {key: (held.get(key), read.get(key))
                for key in held.keys() | read.keys()
                if held.get(key) != read.get(key)}


def overlaps(rows: Iterable[dict[str, Any]], now: datetime.datetime
             ) -> list[tuple[dict[str, Any], dict[str, Any]]]:
    """Return the rows that promise one node twice.

    What has expired without having been used is void, and no promise.
    """
    by_node: dict[str, list[tuple[datetime.datetime, datetime.datetime,
                                  dict[str, Any]]]] = {}
    for row in rows:
        start, end = row['starts_at'] or row['created_at'], row['expires_at']
        if row['immediate']:
            if row['state'] != node_reservation.State.RESERVED.value:
                end = max(end, now)
            elif end <= now:
                continue
        by_node.setdefault(row['node_uuid'], []).append((start, end, row))
    return [(one[2], other[2]) for there in by_node.values()
            for one, other in itertools.combinations(there, 2)
            if one[0] < other[1] and other[0] < one[1]]


def shown(snapshot: snapshots.Snapshot) -> dict[str, Any]:
    """Show what a process knows, whatever the numbers of its nodes are."""
    known: dict[str, Any] = {}
    names = snapshot.host_set.uuids
    for number, uuid in enumerate(names):
        here = snapshot.states[number]
        if here is None:
            assert not snapshot.timeline.rows[number]
            continue
        known[uuid] = (
            here.host, here.busy, bool(snapshot.ready >> number & 1),
            bool(snapshot.usable >> number & 1),
            sorted((booking.uuid, booking) for booking, _ in here.promised),
            [(each.id.partition('/')[0] if not each.movable else each.id,
              each.start, each.end, each.margin, each.movable,
              {names[other] for other in range(len(names))
               if each.eligible >> other & 1} if each.movable else None)
             for each in snapshot.timeline.rows[number]
             if each.until > instants.instant(snapshot.now)])
    return known


def tables_as_text(around: world.World) -> str:
    """Return every row of every table."""
    with around.engine.database.read() as connection:
        return '\n'.join(
            f'{table.name} {row}' for table in tables.metadata.sorted_tables
            for row in sorted(map(str, connection.execute(table.select()))))
