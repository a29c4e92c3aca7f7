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

"""The passes over the holds, what they count, and the operator's command."""

from collections.abc import Callable
import contextlib
import io
import json
import time

from ironic_reservations import errors
from ironic_reservations.api.middleware import metrics
from ironic_reservations.clouds import placement_answers as answers
from ironic_reservations.cmd import manage
from ironic_reservations.db import tables
from ironic_reservations.engine import mirror
from ironic_reservations.engine import sweep
from ironic_reservations.features.placement import feature
from ironic_reservations.features.placement.audit import differences
from ironic_reservations.features.placement.audit import drift
from ironic_reservations.features.placement.holds import consumers
from ironic_reservations.reconciler import loop
from ironic_reservations.reconciler import loops
from tests import servers
from tests import world
from tests.inprocess.placement import commanded
from tests.inprocess.placement import held_reservations
from tests.inprocess.placement import in_memory


class TestCase(held_reservations.TestCase):

    def setUp(self) -> None:
        super().setUp()
        self.keeper = self.new_keeper()

    def new_keeper(self) -> loop.Loop:
        """Return the keeper of one process more."""
        (made,) = feature.Placement().loops(self.engine)
        self.addCleanup(made.stop)
        return made

    def work(self, keeper: loop.Loop | None = None) -> None:
        """Have a process do all that it is to do."""
        keeper = keeper or self.keeper
        for task in keeper.tasks:
            task.due_at = 0.0
        keeper.one_pass()

    def orphan(self) -> str:
        """Leave a hold that no row knows of on a new node, and return that."""
        node = self.enrol()
        self.nodes.claim(node, consumers.fresh())
        return node


class TestPasses(TestCase):

    def test_expired_reservation_loses_its_hold_swept_or_not(self) -> None:
        for swept in (True, False):
            node = self.enrol()
            self.reserve(node, ttl=10)
            self.world.clock.advance(10)
            if swept:
                self.assertEqual(1, sweep.sweep(self.engine))
            self.work()
            self.assertEqual(([], []), (self.consumers(node), self.rows()))

    def test_node_that_ironic_forgets_loses_its_hold(self) -> None:
        node, _ = self.enrol(), self.enrol()
        self.reserve(node)
        self.work()
        self.world.ironic.remove(node)
        mirror.refresh_all(self.engine)
        self.work()
        self.assertEqual([], self.rows())
        self.assertIsNone(self.client.provider(node))

    def test_hold_of_a_promise_that_went_to_another_node_is_taken_back(
            self) -> None:
        node, other = self.enrol(), self.enrol()
        made = self.reserve(node)
        with self.engine.database.write() as opened:
            opened.execute(tables.reservations.update().values(
                node_uuid=other))
        self.work()
        self.assertEqual([], self.consumers(node))
        self.assertEqual([(made.uuid, other)], [
            (row.owner, row.node_uuid) for row in self.rows()])
        self.assert_clean()

    def test_audit_mends_nothing_where_that_is_switched_off(self) -> None:
        self.world.conf.set_override('repair', False, 'placement')
        node = self.orphan()
        self.work()
        self.assertEqual(1, len(self.consumers(node)))
        self.world.conf.set_override('repair', True, 'placement')
        self.work()
        self.assertEqual([], self.consumers(node))

    def test_audit_can_be_switched_off(self) -> None:
        self.world.conf.set_override('audit_interval', 0, 'placement')
        node = self.orphan()
        self.network.calls.clear()
        self.work(self.new_keeper())
        self.assertEqual([], self.network.calls)
        self.assertEqual(1, len(self.consumers(node)))

    def test_what_is_not_due_is_not_done(self) -> None:
        self.work()
        self.network.calls.clear()
        self.orphan()
        self.keeper.one_pass()
        self.assertEqual([], self.network.calls)

    def test_of_two_processes_one_works(self) -> None:
        other = self.new_keeper()
        self.work()
        self.orphan()
        self.network.calls.clear()
        self.work(other)
        self.assertEqual([], self.network.calls)
        self.world.clock.advance(self.world.conf.placement.claim_ttl)
        self.work(other)
        self.assert_clean()

    def test_two_that_both_work_do_no_harm(self) -> None:
        """One is slow, and its claim has ended; each meets the other."""
        node = self.enrol()
        self.reserve(node)
        consumer = self.rows()[0].consumer_uuid
        for orphaned in (True, False):
            if orphaned:
                self.orphan()
            else:
                self.client.delete_allocations(consumer)
            other = self.new_keeper()
            self.world.clock.advance(self.world.conf.placement.claim_ttl)
            self.interrupt(lambda other=other: self.work(other))
            self.work()
            self.work()
            self.assertEqual(1, len(self.consumers(node)))
            self.assert_clean()
            self.world.clock.advance(self.world.conf.placement.claim_ttl)

    def interrupt(self, action: Callable[[], object]) -> None:
        """Have something happen before who has a node is asked next."""
        def happens() -> None:
            self.world.clock.advance(self.world.conf.placement.claim_ttl)
            action()
        self.network.once_before('GET', '/allocations', happens)

    def test_process_of_the_reconciler_keeps_holds(self) -> None:
        node = self.orphan()
        running = loops.Reconciler(self.engine)
        running.start()
        self.addCleanup(running.stop)
        # NOTE: this Placement is for one thread at a time.
        until = time.monotonic() + 120
        while not self.drift() and time.monotonic() < until:
            time.sleep(0.05)
        running.stop()
        self.assertEqual({}, self.world.claims())
        self.assertEqual([], self.consumers(node))

    def drift(self) -> dict[differences.Kind, drift.Drift]:
        """Read what the last audit has found."""
        with self.engine.database.read() as opened:
            return drift.read(opened)

    def test_without_placement_nobody_keeps_holds(self) -> None:
        self.assertNotIn('placement', [
            each.name for each in loops.Reconciler(self.world.engine)._all
            if isinstance(each, loop.Loop)])


@servers.also
class TestMetrics(TestCase):

    def shown(self, engine: object = None) -> str:
        """Return the text of the metrics."""
        answered: list[object] = []
        served = metrics.Metrics(engine or self.engine)
        return b''.join(served(
            {'REQUEST_METHOD': 'GET'},
            lambda *args: answered.append(args))).decode()

    def test_drift_is_counted_by_kind(self) -> None:
        self.world.conf.set_override('repair', False, 'placement')
        self.orphan()
        self.reserve(self.enrol())
        self.assertNotIn('differences{', self.shown())
        self.work()
        for repair, left in ((False, '1.0'), (True, '0.0')):
            self.world.conf.set_override('repair', repair, 'placement')
            self.work()
            shown = self.shown()
            for line in ('ironic_reservations_holds{state="active"} 1.0',
                         'ironic_reservations_holds{state="releasing"} 0.0',
                         'ironic_reservations_placement_differences'
                         '{kind="orphan"} 1.0',
                         'ironic_reservations_placement_differences_remaining'
                         f'{{kind="orphan"}} {left}',
                         'ironic_reservations_placement_differences'
                         '{kind="unheld"} 0.0'):
                self.assertIn(line + '\n', shown)
            audited = float(shown.rsplit(
                'placement_audited_timestamp_seconds ')[-1])
            self.assertEqual(self.world.clock().timestamp(), audited)

    def test_without_placement_there_are_none(self) -> None:
        shown = self.shown(self.world.engine)
        self.assertIn('ironic_reservations_live', shown)
        self.assertNotIn('holds', shown)
        # The code of a refusal is no metric of Placement.
        self.assertNotIn('placement', shown.replace(
            'code="service.placement_unavailable"', ''))


@servers.also
class TestCommand(commanded.Commanded, TestCase):
    """ironic-reservations-manage placement audit."""

    action = 'audit'

    def test_what_agrees_is_status_0(self) -> None:
        self.reserve(self.enrol())
        status, said, complained = self.command()
        self.assertEqual((0, ''), (status, complained))
        self.assertIn('1 node: Placement and the database agree.', said)

    def test_what_was_in_order_is_looked_at_again_on_request(self) -> None:
        self.reserve(self.enrol())
        looked_at = []
        for words in ((), (), ('--everything',)):
            status, said, _ = self.command('-f', 'json', *words)
            self.assertEqual(0, status)
            looked_at.append(json.loads(said)['looked_at'])
        self.assertEqual([1, 0, 1], looked_at)

    def test_differences_are_told_then_mended(self) -> None:
        node = self.orphan()
        consumer, = self.consumers(node)
        status, said, _ = self.command()
        self.assertEqual(manage.DIFFERS, status)
        self.assertIn('orphan', said)
        self.assertIn('--repair', said)
        self.assertEqual([consumer], self.consumers(node))
        status, said, _ = self.command('--repair')
        self.assertEqual(0, status)
        self.assertIn('1 difference, 1 repaired', said)
        self.assertEqual([], self.consumers(node))

    def test_json_has_all_of_it(self) -> None:
        node = self.orphan()
        consumer, = self.consumers(node)
        status, said, _ = self.command('-f', 'json')
        document = json.loads(said)
        self.assertEqual((1, 1, 0, False), (
            status, document['nodes'], document['in_work'],
            document['clean']))
        told, = document['differences']
        self.assertEqual(('orphan', node, consumer, None), (
            told['kind'], told['node'], told['consumer'],
            told['repaired']))
        status, said, _ = self.command('--repair', '-f', 'json')
        document = json.loads(said)
        self.assertEqual((0, True, [True]), (
            status, document['clean'],
            [one['repaired'] for one in document['differences']]))

    def test_what_cannot_be_mended_is_status_1_and_says_why(self) -> None:
        node = self.enrol()
        made = self.reserve(node, engine=self.world.engine)
        self.nodes.claim(node)
        status, said, _ = self.command('--repair', '-f', 'json')
        told, = json.loads(said)['differences']
        self.assertEqual((1, 'unheld', False), (status, told['kind'],
                                                told['repaired']))
        self.assertIn('capacity', told['why_not'])
        self.assertIn(made.uuid, self.world.reservations())

    def test_repair_settles_first(self) -> None:
        node = self.enrol()
        self.reserve(node, ttl=10)
        with self.engine.database.write() as opened:
            opened.execute(tables.reservations.delete())
        status, said, _ = self.command('--repair')
        self.assertEqual((0, [], []), (status, self.consumers(node),
                                       self.rows()), said)

    def test_each_failure_is_one_sentence(self) -> None:
        there = self.there.endpoint
        for endpoint, enabled, word in (
                (there, 'false', 'enabled'), (there, 'perhaps', 'enabled'),
                ('http://127.0.0.1:1', 'true', 'cannot be reached')):
            self.configure(endpoint, enabled=enabled)
            self.assert_fails(word)
        self.configure(there, '[database]',
                       'connection = sqlite:////nowhere/at/all.sqlite')
        self.assert_fails('database')

    def test_without_an_action_it_says_which_there_are(self) -> None:
        with contextlib.redirect_stderr(io.StringIO()) as complained:
            raised = self.assertRaises(SystemExit, manage.main, ['placement'])
        self.assertNotEqual(0, raised.code)
        self.assertIn('action', complained.getvalue())


class TestBesideOthers(TestCase):

    def test_holds_and_claims_of_others_survive_every_pass(self) -> None:
        theirs = self.client.consumer(*self.consumers(*self.taken(1)))
        self.reserve(self.enrol())
        ours = self.rows()
        for _ in range(3):
            self.wait()
            self.work()
        self.assertEqual(theirs, self.client.consumer(
            *self.consumers(*theirs.allocations)))
        self.assertEqual(ours, self.rows())

    def test_placement_that_is_down_fails_the_pass_and_no_more(self) -> None:
        self.network.down = True
        self.assertRaises(errors.PlacementUnavailable, self.work)
        self.network.down = False
        self.work()
        self.assertEqual(answers.Outcome.DONE, self.nodes.try_claim(
            self.enrol(), world.new_uuid(), in_memory.GOLD).outcome)
