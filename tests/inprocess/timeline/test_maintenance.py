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

"""Maintenance windows on the timeline: nothing is promised across them."""

import contextlib
import dataclasses
import datetime

import hypothesis
from hypothesis import strategies as st
import sqlalchemy as sa

from ironic_reservations import errors
from ironic_reservations.db import nodes as db_nodes
from ironic_reservations.db import tables
from ironic_reservations.engine.leases import create as lease_create
from ironic_reservations.engine.reservations import renew
from ironic_reservations.features.maintenance import create
from ironic_reservations.features.maintenance import find
from ironic_reservations.features.maintenance import holdings
from ironic_reservations.model import in_flight
from ironic_reservations.model import leases
from ironic_reservations.model import node_window
from ironic_reservations.model import time_text
from tests import examples
from tests import leasing
from tests import servers
from tests import strategies
from tests import world
from tests.inprocess.timeline import windows

EXAMPLES = examples.drawn(30)


@servers.also
class TestBooking(windows.MaintenanceTestCase):
    """What is planned moves away, and what has started is in the way."""

    def begin(self) -> None:
        super().begin()
        (self.node,) = self.leasing.hosts()

    def test_lease_that_has_not_started_moves(self) -> None:
        """It gets the other node, and the answer says so."""
        there = {self.node, *self.leasing.hosts()}
        lease = self.leasing.create(2, 4)
        (before,) = self.leasing.nodes(lease)
        made = self.book(1, 3, before)
        (after,) = there - {before}
        self.assertEqual({after}, self.leasing.nodes(lease))
        self.assertEqual([(before, after)], [
            (each.row.node_uuid, each.to) for each in made.moves])
        self.assertEqual({lease.id}, set(made.lease_ids.values()))
        self.assertEqual([], self.leasing.overlaps())

    def test_nothing_is_planned_across(self) -> None:
        """Before and after it there is room, and an offer says when."""
        self.book(2, 4, self.node)
        exc = self.leasing.refused(1, 3)
        self.assertNotEqual([], exc.details['offers'])
        for offer in exc.details['offers']:
            self.assertFalse(
                leasing.at(2) < datetime.datetime.fromisoformat(
                    f'{offer["lease"]["end_date"]}+00:00')
                and datetime.datetime.fromisoformat(
                    f'{offer["lease"]["start_date"]}+00:00') < leasing.at(4),
                offer)
        self.leasing.refused(3, 5)
        exc = self.leasing.refused(2, 4)
        self.assertIn(
            '1 of them is booked for maintenance between '
            f'{time_text.moment(leasing.at(2))} and '
            f'{time_text.moment(leasing.at(4))}.', str(exc))
        self.leasing.create(4, 5)

    def test_ticket_of_a_window_was_a_user_of_a_node_that_is_no_host(
            self) -> None:
        """Another window later was refused while it was under way."""
        for node in (*self.leasing.hosts(), *self.world.enrol()):
            self.book(0, 2, node)
            self.execute(
                sa.update(tables.reservations).where(
                    tables.reservations.c.node_uuid == node).values(
                        state='window_starting'),
                sa.insert(tables.in_flight_requests).values(
                    node_uuid=node, token=world.new_uuid(),
                    expires_at=leasing.at(1),
                    state=in_flight.State.ISSUED.value,
                    act=in_flight.Act.SET_MAINTENANCE.value))
            self.book(3, 4, node)

    def test_dry_run_books_nothing(self) -> None:
        """And tells what would be refused."""
        self.leasing.create(2, 4)
        before = leasing.tables_as_text(self.world)
        made = self.book(1, 3, self.node, dry_run=True)
        self.assertEqual(1, len(made.cannot_move))
        self.assertEqual(['promised'], [each['code'] for each in made.reasons])
        self.assertEqual(before, leasing.tables_as_text(self.world))

    def test_lease_that_cannot_move_is_in_the_way(self) -> None:
        """Unless it is forced: then the lease is flagged."""
        lease = self.leasing.create(2, 4)
        self.assertEqual({(self.node, 'promised')},
                         self.refused(1, 3, self.node))
        self.assertEqual({(self.node, 'promised')},
                         self.refused(1, 3, self.node, drain=True))
        self.book(1, 3, self.node, force=True)
        self.watch()
        self.assertTrue(self.lease(lease).degraded)
        self.leasing.hosts()
        self.watch()
        self.assertFalse(self.lease(lease).degraded)
        self.assertNotEqual({self.node}, self.leasing.nodes(lease))

    def test_end_beyond_the_calendar(self) -> None:
        """It is refused, whoever is waited for."""
        self.leasing.started(None, 3)
        last = datetime.datetime(9999, 12, 31, 23, tzinfo=datetime.UTC)
        for drain in (False, True):
            exc = self.assertRaises(
                errors.InvalidValue, create.create, self.engine,
                create.WindowRequest('firmware', 'New firmware', last,
                                     leasing.at(1), (self.node,),
                                     drain=drain))
            self.assertEqual(400, exc.status)

    def test_drain_until_beyond_the_calendar(self) -> None:
        """The dates are in it, and the window after the lease is not."""
        self.leasing.hosts()
        last = datetime.datetime(9000, 12, 31, 23, tzinfo=datetime.UTC)
        hour = datetime.timedelta(hours=1)

        def ask(node: str, ends_at: datetime.datetime) -> create.WindowRequest:
            return create.WindowRequest('firmware', 'New firmware', ends_at,
                              leasing.at(1), (node,), drain=True)
        for end in (3, (last - leasing.at(0)) / hour):
            lease = self.leasing.started(None, end)
            (node,) = self.leasing.nodes(lease)
            before = leasing.tables_as_text(self.world)
            for dry_run in (True, False):
                exc = self.assertRaises(
                    errors.InvalidValue, create.create, self.engine,
                    ask(node, last), dry_run)
                self.assertEqual(400, exc.status)
                self.assertIn(node, str(exc))
            self.assertEqual(before, leasing.tables_as_text(self.world))
            if end == 3:
                waits = 2 * hour + datetime.timedelta(
                    seconds=self.world.conf.leases.cleaning_time)
                made = create.create(self.engine, ask(node, last - waits))
                self.assertEqual(last, made.window.ends_at)

    def test_lease_is_not_extended_into_it(self) -> None:
        """Also on a node that can serve nothing new."""
        for how in ('fine', 'retired', 'closed', 'maintenance'):
            with self.subTest(how=how):
                self.begin()
                self.world.conf.set_override(
                    'allow_extension_on_closed_hosts', True, 'leases')
                # On a server, the hosts of the worlds before are there, too.
                (self.node,) = self.leasing.hosts(resource_class=how)
                lease = self.leasing.started(None, 3, leasing.wish_of(how))
                self.book(4, 6, self.node)
                if how == 'closed':
                    self.leasing.change_host(self.node, reservable=False)
                elif how != 'fine':
                    self.ironic.change(self.node, **{how: True})
                self.leasing.refresh()
                exc = self.assertRaises(errors.LeaseRefused,
                                        self.leasing.change, lease, end=10)
                (reason,) = exc.details['reasons']
                self.assertEqual('shortage', reason['code'])
                if how == 'fine':
                    self.assertIn(' 1 of them is booked for maintenance ',
                                  str(exc))
                self.assertEqual(leasing.at(3), self.leasing.reload(lease).end)
                self.leasing.change(lease, end=3.5)
                self.assertEqual(leasing.at(3.5),
                                 self.leasing.reload(lease).end)

    def test_lease_that_has_started_is_bound(self) -> None:
        """Its owner is told where the window is made all the same."""
        lease = self.leasing.started(None, 3)
        self.assertEqual({(self.node, 'leased')},
                         self.refused(1, 2, self.node))
        self.heard.told.clear()
        made = self.book(1, 2, self.node, force=True)
        self.assertEqual([(holdings.Kind.LEASE, leasing.at(3))], [
            (each.kind, each.until) for each in made.bound])
        self.assertEqual([('lease.update', lease.id, 'maintenance')], [
            (event, each.id, why) for event, each, why in self.heard.told])
        # It is over by then.
        self.book(4, 5, self.node)

    def test_drained_node_is_had_as_long_after_the_lease(self) -> None:
        """And the lease cannot be extended into it."""
        one, other = self.node, *self.leasing.hosts()
        lease = self.leasing.started(None, 3)
        (node,) = self.leasing.nodes(lease)
        made = self.book(1, 2, one, other, drain=True)
        windows = {each.node_uuid: each for each in made.window.nodes}
        margin = datetime.timedelta(
            seconds=self.world.conf.leases.cleaning_time)
        self.assertEqual(
            (leasing.at(3) + margin, leasing.at(4) + margin),
            (windows[node].starts_at, windows[node].ends_at))
        self.assertEqual(leasing.at(4) + margin, made.window.ends_at)
        (free,) = {one, other} - {node}
        self.assertEqual((leasing.at(1), leasing.at(2)), (
            windows[free].starts_at, windows[free].ends_at))
        self.assertRaises(errors.LeaseRefused, self.leasing.change, lease,
                          end=3.5)

    def test_reservation_and_its_renewal_end_before(self) -> None:
        """Of a node that is a host, and of one that is none."""
        host = self.node
        (node,) = self.world.enrol()
        for uuid in (host, node):
            self.book(1, 2, uuid)
            held = self.world.reserve(uuid, ttl=600)
            self.assertRaises(errors.ExtensionRefused, renew.renew,
                              self.engine, held.uuid, ttl=7200)
            self.world.clock.advance(601)
            exc = self.assertRaises(errors.NoNodeAvailable,
                                    self.world.reserve, uuid, ttl=7200)
            self.assertEqual(['promised'], [
                each['code'] for each in exc.details['reasons']])
        self.at(1.5)
        exc = self.assertRaises(errors.NoNodeAvailable, self.world.reserve,
                                host, node, ttl=60)
        self.assertEqual(['maintenance'] * 2, [
            each['code'] for each in exc.details['reasons']])

    def test_reservation_is_bound(self) -> None:
        """Until it expires, or for as long as it is used."""
        (node,) = self.world.enrol()
        self.world.reserve(node, ttl=7200)
        self.assertEqual({(node, 'reserved')}, self.refused(1, 2, node))
        self.book(3, 4, node)

    def test_instance_without_a_lease_is_bound(self) -> None:
        """Nobody knows until when."""
        self.ironic.deploy(self.node, world.new_uuid())
        self.leasing.refresh()
        self.assertEqual({(self.node, 'instance_bound')},
                         self.refused(1, 2, self.node))
        self.book(1, 2, self.node, drain=True)

    def test_two_windows_of_a_node_do_not_overlap(self) -> None:
        """Whatever is forced."""
        made = self.book(1, 2, self.node)
        self.assertEqual({(self.node, 'maintenance')},
                         self.refused(1.5, 3, self.node, force=True))
        self.book(2, 3, self.node)
        find.end(self.engine, made.window.id)
        self.book(1, 2, self.node)

    def test_class_and_properties_choose_nodes(self) -> None:
        """Hosts and other nodes alike."""
        gold = set(self.leasing.hosts(2, resource_class='gold'))
        gold.update(self.world.enrol(resource_class='gold'))
        self.leasing.hosts(1, resource_class='silver')
        made = self.book(1, 2, resource_class='gold')
        self.assertEqual(gold, {each.node_uuid for each in made.window.nodes})
        made = self.book(2, 3, properties=leasing.of_class('gold'))
        self.assertEqual(gold, {each.node_uuid for each in made.window.nodes})
        self.assertRaises(errors.InvalidValue, self.book, 1, 2,
                          resource_class='lead')
        self.assertRaises(errors.InvalidValue, self.book, 1, 2, 'nothing')

    def test_window_that_is_taken_back_leaves_nothing(self) -> None:
        """The node is free at once."""
        made = self.book(1, 3, self.node)
        find.end(self.engine, made.window.id)
        find.end(self.engine, made.window.id)
        self.assertIs(node_window.State.OVER,
                      find.get(self.engine, made.window.id).state)
        self.leasing.create(1, 3)
        self.assertRaises(errors.MaintenanceNotFound, find.end, self.engine,
                          'nothing')

    def test_window_that_is_ended_early_shows_its_real_end(self) -> None:
        """One that has not started ends at its start: it never lasted."""
        made = self.book(1, 3, self.node)
        later = self.book(4, 6, self.node)
        self.at(2)
        find.end(self.engine, made.window.id)
        find.end(self.engine, later.window.id)
        for each, end in ((made, self.world.clock()),
                          (later, later.window.starts_at)):
            shown = find.get(self.engine, each.window.id)
            self.assertEqual(
                (node_window.State.OVER, each.window.starts_at, end, [end]),
                (shown.state, shown.starts_at, shown.ends_at,
                 [there.ends_at for there in shown.nodes]))

    def test_old_windows_are_forgotten(self) -> None:
        """With the leases of their time."""
        made = self.book(1, 3, self.node)
        find.end(self.engine, made.window.id)
        self.at(4)
        find.purge(self.engine)
        self.assertEqual([made.window.id], [
            each.id for each in find.page(self.engine)])
        self.at(24 * (self.world.conf.leases.retention + 1))
        find.purge(self.engine)
        self.assertEqual([], find.page(self.engine))

    def test_window_deleted_long_before_its_dates_is_forgotten(self) -> None:
        """It was over when it was deleted, and not in the year 2999."""
        years = 24 * 365 * 900
        made = self.book(years, years + 1, self.node)
        kept = self.book(years + 2, years + 3, self.node)
        self.at(2)
        find.end(self.engine, made.window.id)
        find.purge(self.engine)
        self.assertEqual([made.window.id, kept.window.id], [
            each.id for each in find.page(self.engine)])
        self.at(2 + 24 * self.world.conf.leases.retention)
        find.purge(self.engine)
        self.assertEqual([made.window.id, kept.window.id], [
            each.id for each in find.page(self.engine)])
        self.world.clock.advance(1)
        find.purge(self.engine)
        self.assertEqual([kept.window.id], [
            each.id for each in find.page(self.engine)])


class TestNotices(windows.MaintenanceTestCase):
    """Owners are told of what comes, in the transaction that books it."""

    options = {'notices__webhook_urls': ['https://hooks.example.com/in']}

    def test_owner_of_a_lease_that_has_started(self) -> None:
        """From when until when, and why; not the one whose lease moves."""
        self.leasing.hosts(2)
        self.leasing.started(None, 3)
        lease = self.leasing.all()[0]
        (bound,) = self.leasing.nodes(lease)
        self.leasing.create(4, 5)
        self.book(1, 2, bound, dry_run=True)
        self.assertEqual([], self._told())
        self.book(1, 2, bound, force=True)
        ((lease_id, payload),) = self._told()
        self.assertEqual(lease.id, lease_id)
        with self.engine.database.read() as connection:
            name = db_nodes.read_nodes(connection)[bound].name or bound
        self.assertIn(f'Node {name} of it will be in maintenance from '
                      f'{time_text.moment(leasing.at(1))} until '
                      f'{time_text.moment(leasing.at(2))}: New firmware',
                      payload)

    def test_owner_of_a_lease_that_is_waited_for(self) -> None:
        """Its nodes are in maintenance after it, and it cannot last longer.

        That is booked, and told, before the lease is over.
        """
        self.leasing.hosts(1)
        self.leasing.started(None, 3)
        lease = self.leasing.all()[0]
        (bound,) = self.leasing.nodes(lease)
        self.book(1, 2, bound, drain=True)
        ((lease_id, payload),) = self._told()
        self.assertEqual(lease.id, lease_id)
        self.assertIn(
            f'from {time_text.moment(leasing.at(3))} until '
            f'{time_text.moment(leasing.at(4))}, after the lease, which '
            'cannot be extended into it: New firmware', payload)
        self.assertRaises(errors.LeaseRefused, self.leasing.change, lease,
                          end=3.5)

    def _told(self) -> list[tuple[str, str]]:
        with self.engine.database.read() as connection:
            return [(row.lease_id, row.payload) for row in connection.execute(
                tables.outbox.select()) if row.kind == 'maintenance']


def _opened(ask: leases.LeaseRequest, hours: int) -> leases.LeaseRequest:
    """Open the dates of a request by some hours."""
    if not hours:
        return ask
    return dataclasses.replace(ask, flexible=leases.Flexible(
        ask.end + datetime.timedelta(hours=hours),
        ask.end - (ask.start or strategies.NOW), 60))


class TestAnyOrder(world.TestCase):
    """Leases and windows at random."""

    @hypothesis.settings(max_examples=EXAMPLES, deadline=None,
                         suppress_health_check=list(hypothesis.HealthCheck))
    @hypothesis.given(
        st.integers(1, 4),
        st.lists(st.builds(_opened, strategies.lease_asks(),
                           st.sampled_from((0, 0, 2, 6))), max_size=6),
        st.lists(st.tuples(st.integers(0, 3), st.integers(0, 6),
                           st.integers(1, 4), st.booleans(), st.booleans()),
                 max_size=4),
        st.randoms(use_true_random=False))
    def test_no_promise_crosses_a_window(self, count, asks, windows, order):
        """None is lost, none of those that moved, and none has a window."""
        around = world.World()
        around.setUp()
        try:
            there = leasing.Leasing(around)
            nodes = [there.hosts(resource_class=order.choice(
                ('gold', 'silver')))[0] for _ in range(count)]
            todo = [*asks, *windows]
            order.shuffle(todo)
            promised = {}
            for each in todo:
                self._do(there, nodes, promised, each)
                there.bind()
                self._check(there, promised)
        finally:
            around.cleanUp()

    def _do(self, there, nodes, promised, each):
        bound = {row['id']: row['node_uuid'] for row in there.rows()
                 if row['state'] == 'bound'}
        if isinstance(each, tuple):
            number, start, hours, several, drain = each
            named = nodes[number % len(nodes):][:2 if several else 1]
            try:
                made = windows.book(there.engine, start, start + hours, named,
                            drain=drain)
            except errors.MaintenanceRefused as exc:
                assert exc.details['reasons']
            else:
                assert not made.cannot_move
        else:
            with contextlib.suppress(errors.LeaseRefused, errors.InvalidValue):
                made = lease_create.create(there.engine, each)
                promised[made.id] = made
        after = {row['id']: row['node_uuid'] for row in there.rows()}
        assert all(after[ident] == node for ident, node in bound.items())

    def _check(self, there, promised):
        assert not there.overlaps()
        assert not there.stale()
        windows = [each for window in find.page(there.engine)
                   for each in window.nodes]
        for row in there.rows():
            assert not any(
                each.node_uuid == row['node_uuid']
                and row['starts_at'] < each.ends_at
                and each.starts_at < row['expires_at'] for each in windows)
        for lease in there.all():
            told = promised[lease.id]
            if lease.between is None:
                assert (lease.start, lease.end) == (told.start, told.end)
            else:
                assert lease.between.earliest <= lease.start
                assert lease.end <= lease.between.latest
                assert lease.end - lease.start == told.end - told.start
            assert [len(each.bookings) for each in lease.reservations] == [
                len(each.bookings) for each in told.reservations]
            assert all(len({row.node_uuid for row in each.bookings}) == len(
                each.bookings) for each in lease.reservations)


class TestBesideOthers(windows.MaintenanceTestCase):
    """Two processes that plan at once."""

    def test_lease_and_window_at_once(self) -> None:
        """Who comes second plans on what the first has made."""
        (node,) = self.leasing.hosts()
        other = dataclasses.replace(self.world.another_engine(),
                                    announcer=self.heard)
        leasing.Leasing(self.world, other).create(5, 6)
        self.book(1, 3, node)
        self.assertRaises(errors.LeaseRefused,
                          leasing.Leasing(self.world, other).create, 2, 4)
