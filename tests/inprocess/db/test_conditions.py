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

"""What SQL and Python say of the same rows is the same."""

import collections
from collections.abc import Iterable
import dataclasses
import datetime
import functools
from typing import Any

import hypothesis
from hypothesis import strategies as st
import sqlalchemy as sa

from ironic_reservations.db import candidates as db_candidates
from ironic_reservations.db import conditions
from ironic_reservations.db import host_views as db_host_views
from ironic_reservations.db import in_flight_requests as db_in_flight
from ironic_reservations.db import leasable as db_leasable
from ironic_reservations.db import nodes as db_nodes
from ironic_reservations.db import reservations as db_reservations
from ironic_reservations.db import tables
from ironic_reservations.engine import leasable
from ironic_reservations.model import host_view
from ironic_reservations.model import leases
from ironic_reservations.model import mirrored_node
from ironic_reservations.model import node_condition
from ironic_reservations.model import node_reservation
from ironic_reservations.model import reasons
from ironic_reservations.model import visibility
from ironic_reservations.planner import pick
from tests import examples
from tests import strategies
from tests.inprocess.db import base

NOW = strategies.NOW
LEASE = '00000000-0000-4000-8000-00000000000a'
WANT = '00000000-0000-4000-8000-00000000000b'
UUIDS = tuple(f'00000000-0000-4000-8000-{number:012d}'
              for number in range(1, 7))
EXAMPLES = examples.drawn(60)
#: What is no obstacle of a node that a pick is about.
OTHERS = (reasons.NODE_NOT_FOUND, reasons.RESOURCE_CLASS_MISMATCH,
          reasons.TRAIT_MISSING, reasons.TRAIT_FORBIDDEN)


@dataclasses.dataclass(frozen=True)
class Row:
    """A node, and all that stands on its timeline.

    :ivar host: whether an operator has opened it to leases.
    :ivar busy_until: when a request under way should have had an answer.
    :ivar unheld: the code for which it could not be held in Placement.
    """

    node: mirrored_node.Node
    reservation: node_reservation.Reservation | None
    bookings: tuple[leases.NodeBooking, ...]
    host: bool
    busy_until: datetime.datetime | None
    unheld: str | None


#: A promise to a lease that has not started.
BOOKED = functools.partial(
    leases.NodeBooking, 0, WANT, 0,
    starts_at=NOW + datetime.timedelta(hours=1),
    ends_at=NOW + datetime.timedelta(hours=2))


#: What may stand in the way, by the name of an attribute.
OBSTACLES: dict[str, st.SearchStrategy[Any]] = {
    'reservable': st.just(False), 'retired': st.just(True),
    'parent_node': st.just('whole'),
    'maintenance': st.just(True), 'instance_uuid': st.just('instance'),
    'provision_state': st.sampled_from(strategies.PROVISION_STATES),
    'unheld': st.sampled_from(reasons.OF_PLACEMENT),
    'to_come': st.just(True)}


@st.composite
def rows(draw: st.DrawFn, uuid: str) -> Row:
    """Nodes, most of them with two or three obstacles, whose order shows."""
    there = {name: draw(OBSTACLES[name]) for name in sorted(draw(
        st.sets(st.sampled_from(sorted(OBSTACLES)), max_size=2)))}

    def now_and_then(strategy: st.SearchStrategy[Any]) -> Any:
        return draw(strategy) if draw(st.integers(0, 3)) == 3 else None

    unheld, to_come = there.pop('unheld', None), there.pop('to_come', False)
    node = mirrored_node.Node(
        uuid, resource_class=draw(st.sampled_from(strategies.CLASSES)),
        traits=draw(strategies.trait_sets),
        owner=draw(st.sampled_from(strategies.PROJECTS)),
        lessee=draw(st.sampled_from(strategies.PROJECTS)), **there)
    return Row(
        node, now_and_then(strategies.reservations(uuid)),
        (BOOKED(node_uuid=uuid),) if to_come else tuple(draw(
            st.lists(strategies.bookings(uuid, WANT), max_size=1)
            | st.lists(strategies.bookings(uuid, WANT), max_size=2))),
        draw(st.booleans()), now_and_then(strategies.moments), unheld)


worlds = st.tuples(*map(rows, UUIDS)).map(list)
#: What is asked for: most often any node.
wants = st.just((None, frozenset(), frozenset())) | st.tuples(
    st.sampled_from(strategies.CLASSES), strategies.trait_sets,
    strategies.trait_sets)


class _Conditions:

    def setUp(self) -> None:
        super().setUp()
        self.database = self.enterContext(self.opened())
        with self.database.write() as writing:
            writing.execute(sa.insert(tables.leases).values(
                id=LEASE, generation=1, name='lease', starts_at=NOW,
                ends_at=NOW, status=leases.LeaseStatus.ACTIVE.value,
                degraded=False, created_at=NOW, attempts=0))
            writing.execute(sa.insert(tables.lease_reservations).values(
                id=WANT, lease_id=LEASE, place=0,
                resource_type=leases.PHYSICAL_HOST, resource_id='1',
                status=leases.ReservationStatus.ACTIVE.value, least=1,
                most=1, hypervisor_properties='', resource_properties='',
                before_end='default', missing_resources=False,
                resources_changed=False, created_at=NOW))

    def write(self, world: list[Row]) -> None:
        """Replace all that stands on the timeline."""
        places = iter(range(100))
        with self.database.write() as writing:
            for table in (tables.reservations, tables.in_flight_requests,
                          tables.hosts, tables.nodes):
                writing.execute(sa.delete(table))
            for row in world:
                uuid = row.node.uuid
                db_nodes.insert_node(writing, row.node, NOW)
                if row.host:
                    writing.execute(sa.insert(tables.hosts).values(
                        node_uuid=uuid, reservable=True, created_at=NOW))
                if row.busy_until is not None:
                    db_in_flight.insert(writing, uuid, uuid, None, None,
                                        row.busy_until)
                if row.reservation is not None:
                    db_reservations.insert(writing, row.reservation)
                for booking in row.bookings:
                    number = next(places)
                    writing.execute(sa.insert(tables.reservations).values(
                        uuid=f'{number:036d}', node_uuid=uuid,
                        created_at=NOW, starts_at=booking.starts_at,
                        expires_at=booking.ends_at,
                        state=booking.state.value, place=number,
                        project_id=booking.project_id,
                        lessee=booking.lessee, lease_reservation_id=WANT))

    def check(self, of: Any) -> None:
        """Try a property of the rows on many of them."""
        hypothesis.settings(
            max_examples=EXAMPLES,
            # NOTE: to make an example smaller takes minutes here.
            phases=(hypothesis.Phase.generate,), deadline=None,
            suppress_health_check=list(hypothesis.HealthCheck))(of)()

    def test_promise_to_a_lease_comes_last(self) -> None:
        """It might go elsewhere; what Placement refuses does not."""
        uuid = UUIDS[0]
        row = Row(mirrored_node.Node(uuid), None, (BOOKED(node_uuid=uuid),),
                  True, None, reasons.HELD_ELSEWHERE)
        self.write([row])
        everything = visibility.Visibility(everything=True)
        self.assertEqual(reasons.HELD_ELSEWHERE, _code(
            row, pick.NodeRequest('instance'), everything, True))
        with self.database.read() as connection:
            self.assertEqual(
                {reasons.HELD_ELSEWHERE: 1}, db_candidates.count_obstacles(
                    connection, db_candidates.NodeRequirements(), everything,
                    NOW,
                    unheld={uuid: reasons.HELD_ELSEWHERE}))

    def test_caller_without_a_project_sees_no_node(self) -> None:
        """A node without an owner is not that of whoever has no project."""
        row = Row(mirrored_node.Node(UUIDS[0]), None, (), False, None, None)
        self.write([row])
        nobody = visibility.Visibility(project_id=None)
        self.assertFalse(nobody.sees(row.node))
        with self.database.read() as connection:
            self.assertEqual({}, db_candidates.count_obstacles(
                connection, db_candidates.NodeRequirements(), nobody, NOW))
            self.assertEqual({}, db_candidates.read_candidates(
                connection, db_candidates.NodeRequirements(), nobody, NOW, '',
                len(UUIDS), 'instance').nodes)
            self.assertEqual({}, db_candidates.read_promised(
                connection, db_candidates.NodeRequirements(), nobody, NOW, ''))

    def test_closed_by_configuration(self) -> None:
        """By name, by UUID or by trait, and never for what it is not."""
        # NOTE: those that Ironic allows, which has none with blanks.
        names = (None, 'n1', 'N1', 'n2.rack', UUIDS[1])

        @hypothesis.given(
            worlds, st.lists(st.sampled_from(names), min_size=len(UUIDS),
                             max_size=len(UUIDS)),
            st.sets(st.sampled_from(['n1', 'n2.rack', UUIDS[0],
                                     UUIDS[1]])),
            strategies.trait_sets, st.booleans())
        def run(world: list[Row], named: list[str | None], closed: set[str],
                traits: frozenset[str], excluded: bool) -> None:
            world = [dataclasses.replace(row, node=dataclasses.replace(
                row.node, name=name)) for row, name in zip(world, named,
                                                           strict=True)]
            self.write(world)
            rules = leasable.Rules(True, frozenset(closed), traits)
            with self.database.write() as writing:
                if excluded:
                    writing.execute(sa.update(tables.hosts).values(
                        excluded=True))
                unopened = db_leasable.read_unopened(
                    writing, names=closed, traits=traits)
                other = db_leasable.read_other(
                    writing, names=closed, traits=traits,
                    excluded=not excluded)
            self.assertEqual(sorted(
                row.node.uuid for row in world if not row.host
                and rules.is_always_open(row.node)), sorted(unopened))
            self.assertEqual(sorted(
                row.node.uuid for row in world if row.host
                and rules.is_closed(row.node) is not excluded), sorted(other))
        self.check(run)

    def test_obstacles_and_their_order(self) -> None:
        """Each node is counted for what a pick would say of it."""
        @hypothesis.given(worlds, strategies.sights, st.booleans(), wants)
        def run(world: list[Row], sees: visibility.Visibility, hosts: bool,
                want: tuple[str | None, frozenset[str], frozenset[str]]
                ) -> None:
            self.write(world)
            resource_class, traits, forbidden = want
            ask = pick.NodeRequest('instance', UUIDS, resource_class, traits,
                           forbidden=forbidden)
            wanted = db_candidates.NodeRequirements(
                None if resource_class is None else (resource_class,),
                traits, forbidden)
            unheld = {row.node.uuid: row.unheld for row in world
                      if row.unheld is not None}
            with self.database.read() as connection:
                counted = db_candidates.count_obstacles(
                    connection, wanted, sees, NOW, hosts, unheld)
                free = {*db_candidates.read_candidates(
                    connection, wanted, sees, NOW, UUIDS[1], len(UUIDS),
                    'instance', hosts=hosts).nodes}
                promised = {*db_candidates.read_promised(
                    connection, wanted, sees, NOW, '', hosts)}
            # NOTE: one without an obstacle was lost to somebody else.
            said = [code or reasons.BUSY
                    for code in (_code(row, ask, sees, hosts)
                                 for row in world) if code not in OTHERS]
            self.assertEqual(collections.Counter(said), counted)
            bare = {row.node.uuid: _code(
                dataclasses.replace(row, unheld=None), ask, sees, hosts)
                for row in world}
            self.assertEqual({uuid for uuid, code in bare.items()
                              if code is None}, free)
            self.assertEqual({uuid for uuid, code in bare.items()
                              if code == reasons.PROMISED}, promised)
        self.check(run)

    def test_occupied(self) -> None:
        """In whatever state a node is, with an instance and without."""
        @hypothesis.given(worlds)
        def run(world: list[Row]) -> None:
            self.write(world)
            with self.database.read() as connection:
                found = set(connection.scalars(sa.select(
                    tables.nodes.c.uuid).where(conditions.occupied())))
            self.assertEqual({row.node.uuid for row in world
                              if node_condition.occupied(row.node)}, found)
        self.check(run)

    def test_who_has_a_node(self) -> None:
        """Whatever asks for it: of one node, of some, and of all."""
        @hypothesis.given(worlds)
        def run(world: list[Row]) -> None:
            self.write(world)
            with self.database.read() as connection:
                taken = db_reservations.read_live_node_uuids(connection, NOW)
                views = db_host_views.read(connection, UUIDS, NOW)
                first = db_host_views.read(connection, UUIDS, NOW, first=True,
                                           windows=True, busy=True)
                present = db_host_views.read(connection, UUIDS, NOW, NOW)
                counted = db_reservations.count_live(connection, NOW)
            live = [row.reservation for row in world if _live(row)]
            self.assertEqual(collections.Counter(
                each.state for each in live), counted)
            for row in world:
                uuid = row.node.uuid
                has = [booking for booking in row.bookings
                       if booking.has_node(NOW)]
                view, found = views[uuid], first[uuid]
                self.assertEqual(view.row, found.row)
                self.assertEqual(
                    row.reservation and row.reservation.uuid,
                    view.row and view.row.uuid)
                self.assertEqual(_live(row), view.reservation is not None)
                self.assertEqual(_live(row) or bool(has), uuid in taken)
                to_come = [booking for booking in row.bookings
                           if booking.to_come(NOW)]
                # One with a lessee has the node, though it is to come.
                self.assertEqual(_windows(
                    booking for booking in row.bookings
                    if booking in has or booking in to_come),
                    _windows(view.bookings))
                self.assertEqual(_windows(has), _windows(
                    present[uuid].bookings))
                self.assertEqual(
                    min((each.starts_at for each in to_come), default=None),
                    found.next_lease)
                self.assertEqual(view.next_lease, found.next_lease)
                self.assertEqual(_windows(has), _windows(found.present))
                self.assertEqual((row.busy_until, ()),
                                 (found.busy_until, found.windows))
        self.check(run)


def _windows(bookings: Iterable[leases.NodeBooking]
             ) -> list[tuple[datetime.datetime, ...]]:
    return sorted((each.starts_at, each.ends_at) for each in bookings)


def _live(row: Row) -> bool:
    return row.reservation is not None and row.reservation.live(NOW)


def _code(row: Row, ask: pick.NodeRequest, sees: visibility.Visibility,
          hosts: bool) -> str | None:
    """Return what the planner says of a node that is asked for alone."""
    uuid = row.node.uuid
    view = host_view.HostView(uuid, NOW, row.reservation, row.bookings,
                              busy_until=row.busy_until)
    outcome = pick.pick(
        dataclasses.replace(ask, node_uuids=(uuid,)), pick.Snapshot(
            {uuid: row.node}, {uuid: view}, NOW, None,
            (uuid,) if row.host and not hosts else (),
            {} if row.unheld is None else {
                uuid: reasons.Reason(uuid, row.unheld, '')}), sees)
    return (None if isinstance(outcome, pick.Picked)
            else outcome.reasons[0].code)


class TestSQLite(_Conditions, base.DatabaseTestCase):
    """On SQLite."""

    kind = 'sqlite'


class TestMariaDB(_Conditions, base.DatabaseTestCase):
    """On MariaDB."""

    kind = 'mysql'


class TestPostgreSQL(_Conditions, base.DatabaseTestCase):
    """On PostgreSQL."""

    kind = 'postgresql'
