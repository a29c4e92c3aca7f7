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

"""What a project may hold back: how many nodes, and for how long."""

import datetime

from ironic_reservations import errors
from ironic_reservations.db import reservations as db_reservations
from ironic_reservations.engine.in_flight import admission
from ironic_reservations.engine.reservations import renew
from ironic_reservations.engine.reservations import reserve
from ironic_reservations.features.limits import configured
from ironic_reservations.model import limits
from ironic_reservations.planner import pick
from tests import servers
from tests import world
from tests.inprocess.engine import timelines

_DAY = 86400


class TestLimits(timelines.TestCase):

    options = {'leases__project_limits': True,
               'reservations__max_per_project': 2}

    def setUp(self):
        super().setUp()
        self.nodes = self.world.enrol(6)

    def limits(self):
        return configured.of(self.world.conf, 'reservations')

    def reserve(self, project='ours', limited=True, **more):
        return self.world.reserve(
            *self.nodes, project_id=project,
            allowed=self.limits() if limited else limits.NONE, **more)

    def test_project_has_as_many_as_it_may(self):
        """Each project for itself; who may exceed limits is not counted."""
        for project in ('ours', 'theirs'):
            for _ in range(2):
                self.reserve(project)
        refusal = self.assertRaises(errors.ReservationLimit, self.reserve)
        self.assertEqual(
            {'limit': 'max_per_project', 'allowed': 2, 'used': 2, 'asked': 1},
            refusal.details)
        self.reserve(limited=False)

    def test_what_is_used_or_over_does_not_count(self):
        """Only what waits keeps others off for nothing."""
        first = self.reserve()
        self.world.use(first)
        self.reserve(ttl=10)
        self.reserve()
        self.assertRaises(errors.ReservationLimit, self.reserve)
        self.world.clock.now += datetime.timedelta(seconds=11)
        self.reserve()

    def test_deploy_that_ironic_refuses_makes_no_room_for_a_third(self):
        """It was not counted until Ironic answered, and then waited again."""
        first = self.reserve()
        admitted = admission.admit(self.engine, first.node_uuid, first.uuid)
        self.reserve()
        self.assertRaises(errors.ReservationLimit, self.reserve)
        admission.close(self.engine, admitted, False)
        self.assertRaises(errors.ReservationLimit, self.reserve)

    def test_retry_of_the_last_one_is_no_further_one(self):
        """What was served is served again."""
        self.reserve()
        last = self.reserve()
        again = self.reserve(instance_uuid=last.instance_uuid)
        self.assertEqual(last.uuid, again.uuid)

    def test_two_at_once_do_not_exceed_it(self):
        """They want different nodes, so that nothing else is in the way."""
        self.reserve()
        other = self.world.another_engine()
        self.world.before_next_write(lambda: reserve.reserve(
            other, pick.NodeRequest(instance_uuid=world.new_uuid(),
                            node_uuids=tuple(self.nodes[3:]),
                            project_id='ours'),
            world.ALL_NODES, None, self.limits()))
        self.assertRaises(errors.ReservationLimit, self.reserve)
        with self.engine.database.read() as connection:
            self.assertEqual(2, db_reservations.count_waiting(
                connection, 'ours', self.world.clock()))

    def test_nothing_is_renewed_for_ever(self):
        """A week from its beginning, and shorter at any time."""
        held = self.reserve(ttl=_DAY)
        renewed = 0
        while True:
            self.world.clock.now += datetime.timedelta(seconds=_DAY - 60)
            try:
                renew.renew(self.engine, held.uuid, ttl=_DAY,
                            allowed=self.limits())
            except errors.ReservationLimit as exc:
                refusal = exc
                break
            renewed += 1
        self.assertEqual(6, renewed)
        self.assertEqual(('max_lifetime', 7 * _DAY), (
            refusal.details['limit'], refusal.details['allowed']))
        latest = datetime.datetime.fromisoformat(refusal.details['latest'])
        renew.renew(self.engine, held.uuid, latest, allowed=self.limits())
        renew.renew(self.engine, held.uuid, ttl=60, allowed=self.limits())


@servers.also
class TestByClass(timelines.TestCase):
    """One of two nodes of gold; others as before."""

    options = {'leases__project_limits': True,
               'reservations__max_per_class': {'gold': 1}}

    def setUp(self):
        super().setUp()
        self.gold = self.world.enrol(3, resource_class='gold')
        self.tin = self.world.enrol(1, resource_class='tin')

    def reserve(self, *nodes, allowed=None, **more):
        return self.world.reserve(
            *nodes, project_id='ours', allowed=allowed or configured.of(
                self.world.conf, 'reservations'), **more)

    def by_class(self, engine=None, **more):
        return reserve.reserve(
            engine or self.engine, pick.NodeRequest(
                instance_uuid=world.new_uuid(), project_id='ours', **more),
            world.ALL_NODES, None, configured.of(
                self.world.conf, 'reservations'))

    def refused(self, act, *args, **more):
        refusal = self.assertRaises(errors.ReservationLimit, act, *args,
                                    **more)
        self.assertEqual(
            {'limit': 'max_per_class', 'resource_class': 'gold', 'allowed': 1,
             'used': 1, 'asked': 1}, refusal.details)

    def test_nodes_of_a_class_that_is_used_up_are_passed_over(self):
        """In a list as by class; where nothing else is left, it is said."""
        held = self.reserve(*self.gold)
        self.refused(self.reserve, *self.gold[1:])
        self.refused(self.by_class, resource_class='gold')
        self.assertEqual(self.tin, [
            self.reserve(*self.gold, *self.tin).node_uuid])
        self.refused(self.by_class)
        self.reserve(self.gold[1], allowed=limits.NONE)
        self.assertEqual(held.uuid, self.reserve(
            *self.gold, instance_uuid=held.instance_uuid).uuid)

    def test_any_node_is_one_of_another_class(self):
        self.reserve(*self.gold)
        self.assertEqual(self.tin, [self.by_class().node_uuid])

    def test_node_of_no_class_is_not_of_one_that_is_used_up(self):
        bare, = self.world.enrol(1)
        self.reserve(*self.gold)
        self.reserve(*self.tin)
        self.assertEqual(bare, self.by_class().node_uuid)
        self.refused(self.by_class)

    def test_cost_does_not_depend_on_how_many_nodes_a_class_has(self):
        """They are ruled out by their class, not one by one."""
        self.world.conf.set_override('confirm', 'mirror', 'ironic')
        self.world.enrol(100, resource_class='gold')
        self.reserve(*self.gold)
        with self.statements() as sent:
            self.refused(self.by_class, resource_class='gold')
            self.by_class()
            self.refused(self.by_class)
        self.assertGreater(100, max(len(given) for _, given in sent))

    def test_what_is_used_does_not_count(self):
        self.world.use(self.reserve(*self.gold))
        self.reserve(*self.gold)
        self.refused(self.reserve, *self.gold)

    def test_each_project_for_itself(self):
        self.reserve(*self.gold)
        self.world.reserve(
            *self.gold, project_id='theirs',
            allowed=configured.of(self.world.conf, 'reservations'))

    def test_two_at_once_do_not_exceed_it(self):
        """The later one gets another node, or is refused."""
        other = self.world.another_engine()
        self.world.before_next_write(lambda: self.by_class(
            other, resource_class='gold'))
        self.assertEqual(self.tin, [
            self.reserve(*self.gold, *self.tin).node_uuid])
        self.refused(self.reserve, *self.gold)

    def test_node_that_no_free_one_could_be_is_refused_as_before(self):
        self.reserve(*self.gold)
        self.assertRaises(errors.NoNodeAvailable, self.reserve,
                          world.new_uuid())
