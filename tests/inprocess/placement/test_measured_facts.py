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


"""The five measured facts about Placement that our holds are built on.

Each is shown on Placements that are served, and what ours makes of it.
"""

from collections.abc import Callable
from collections.abc import Iterable
from concurrent import futures
import functools
import random
import threading
import time
from typing import Any

from testtools import content

from ironic_reservations import engine as engine_module
from ironic_reservations import errors
from ironic_reservations.clouds import placement
from ironic_reservations.clouds import placement_answers as answers
from ironic_reservations.engine.reservations import release
from ironic_reservations.engine.reservations import reserve
from ironic_reservations.features.placement.audit import differences
from ironic_reservations.features.placement.holds import consumers
from ironic_reservations.features.placement.holds import recovery
from ironic_reservations.planner import pick
from tests import world
from tests.inprocess.placement import beside
from tests.inprocess.placement import in_memory

GOLD = in_memory.GOLD
Kind = differences.Kind
Outcome = answers.Outcome

ROUNDS = 5
#: By how much a claim of Nova's may be behind ours, in seconds.
_BEHIND = 0.05
#: What who did not get a node may be told.
_ORDINARY = (errors.NoNodeAvailable, errors.PlacementUnavailable,
             errors.Contention)


def at_once(doing: Iterable[Callable[[], Any]]) -> list[Any]:
    """Do things at once, and return what came of each."""
    all_of_it = list(doing)
    line = threading.Barrier(len(all_of_it))

    def one(act: Callable[[], Any]) -> Any:
        line.wait(60)
        return act()
    with futures.ThreadPoolExecutor(len(all_of_it)) as pool:
        return list(pool.map(one, all_of_it))


def try_to_reserve(engine: engine_module.Engine, node: str,
                   instance: str | None = None) -> str | None:
    """Return the uuid of the reservation; ``None`` where there is none."""
    try:
        return reserve.reserve(engine, pick.NodeRequest(
            instance or world.new_uuid(), (node,), ttl=6000),
            world.ALL_NODES).uuid
    except _ORDINARY:
        return None


class _TestCase(beside.Beside):

    def tell(self, **counts: object) -> None:
        """Say in the results what was counted."""
        self.addDetail('counted', content.text_content(', '.join(
            f'{what}: {count}' for what, count in counts.items())))


class _Races(_TestCase):
    """Several claims at once, of ours and of Nova."""

    over_allocates: bool

    def setUp(self) -> None:
        super().setUp()
        self.ours = [self.another_engine() for _ in range(3)]
        self.rivals = [in_memory.Nodes(placement.Placement.over_http(
            beside.configured('sqlite://', self.endpoint)))
            for _ in range(5)]

    def test_one_owner_of_ours_whatever_placement_gives_away(self) -> None:
        """F1: with its defaults it may over-allocate; the audit says where.

        With allocation_conflict_retry_count = 1 it does not.
        """
        promised: dict[str, str] = {}
        there: dict[str, list[str]] = {}
        over: set[str] = set()
        for node in self.enrol(ROUNDS):
            done = at_once([
                *(functools.partial(try_to_reserve, engine, node)
                  for engine in self.ours),
                *(functools.partial(self.claim_soon, rival, node)
                  for rival in self.rivals)])[:len(self.ours)]
            winners = [uuid for uuid in done if uuid is not None]
            self.assertLessEqual(len(winners), 1)
            promised.update(dict.fromkeys(winners, node))
            there[node] = self.consumers(node)
            if len(there[node]) > 1:
                over.add(node)
        self.tell(rounds=len(there), over_allocated=len(over),
                  ours=len(promised),
                  ours_among_them=len(over & {*promised.values()}))
        if not self.over_allocates:
            self.assertEqual(set(), over)
        self.pass_by()
        there = {node: self.consumers(node) for node in there}
        self.assertEqual(
            {(Kind.OVERALLOCATED, node) for node in over},
            {(one.kind, one.node_uuid) for one in self.audit().differences})
        self.assertEqual({*promised.items()}, {
            (row.owner, row.node_uuid) for row in self.rows()})
        ours = {row.node_uuid: row.consumer_uuid for row in self.rows()}
        for node in there:
            self.assertEqual(
                [ours[node]] if node in ours else [],
                [one for one in there[node] if consumers.is_ours(one)])
            for theirs in {*there[node]} - {*ours.values()}:
                self.client.delete_allocations(theirs)
        self.assert_agrees()

    def claim_soon(self, rival: in_memory.Nodes, node: str) -> None:
        time.sleep(random.uniform(0, _BEHIND))
        rival.try_claim(node, world.new_uuid())

    def test_usage_without_a_consumer_is_never_left_by_ours(self) -> None:
        """F2: two first writes of one consumer may leave a ghost.

        The audit tells which; a consumer of ours is written by one only.
        """
        contested = self.enrol(ROUNDS)
        for node in contested:
            consumer = world.new_uuid()
            at_once(functools.partial(rival.try_claim, node, consumer)
                    for rival in self.rivals)
        ghosts = {
            node for node in contested
            if sum((self.client.usages(node) or {}).values())
            > len(self.consumers(node))}
        self.tell(rounds=ROUNDS, ghosts=len(ghosts))
        self.assertEqual(ghosts, {
            one.node_uuid for one in self.audit().differences
            if one.kind is Kind.GHOST})
        nodes = self.enrol(ROUNDS)
        for node in nodes:
            instance = world.new_uuid()
            done = at_once(
                functools.partial(try_to_reserve, engine, node, instance)
                for engine in self.ours)
            self.assertEqual(1, len({*done} - {None}))
        self.pass_by()
        for node in nodes:
            self.assertEqual(
                [row.consumer_uuid for row in self.rows()
                 if row.node_uuid == node], self.consumers(node))
            self.assertEqual({GOLD: 1}, self.client.usages(node))


class _Defaults(_Races):
    over_allocates = True
    placement_options = {'workers': 4}


class _OneRetry(_Races):
    over_allocates = False
    placement_options = {'workers': 4, 'retries': 1}


class TestDefaultsOnMysql(_Defaults, world.TestCase):
    kind = 'mysql'


class TestDefaultsOnPostgresql(_Defaults, world.TestCase):
    kind = 'postgresql'


class TestOneRetryOnMysql(_OneRetry, world.TestCase):
    kind = 'mysql'


class TestOneRetryOnPostgresql(_OneRetry, world.TestCase):
    kind = 'postgresql'


class _Consumers(_TestCase):
    """What Placement remembers of a consumer, and forgets."""

    def setUp(self) -> None:
        super().setUp()
        self.node, = self.enrol(1)

    def write(self, consumer: str, generation: int | None = None,
              **resources: int) -> Outcome:
        return self.client.put_allocations(consumer, in_memory.wanted(
            {self.node: resources} if resources else {},
            generation)).outcome

    def test_consumer_that_a_failed_write_has_poisoned_is_passed_over(
            self) -> None:
        """F3: it shows nothing, and takes no write that says so.

        Ours goes on with another; and one at generation 0 can be had again.
        """
        poisoned = [consumers.fresh() for _ in range(2)]
        self.assertIs(Outcome.UNKNOWN,
                      self.write(poisoned[0], CUSTOM_NOWHERE=1))
        self.client.post_allocations({poisoned[1]: in_memory.wanted({})})
        for consumer in poisoned:
            self.assertEqual({}, self.client.consumer(consumer).allocations)
        stuck = [consumer for consumer in poisoned
                 if self.write(consumer, CUSTOM_GOLD=1)
                 is Outcome.CONSUMER_CHANGED]
        self.assertIn(poisoned[1], stuck)
        self.tell(poisoned=len(stuck))
        for consumer in {*poisoned} - {*stuck}:
            self.client.delete_allocations(consumer)
        fresh = consumers.fresh
        self.patch(consumers, 'fresh', lambda: (
            stuck.pop() if len(stuck) > left else fresh()))
        while stuck:
            left = len(stuck) - 1
            made = try_to_reserve(self.engine, self.node)
            row, = [row for row in self.rows() if row.confirmed]
            self.assertEqual((made, left), (row.owner, len(stuck)))
            self.assertNotIn(row.consumer_uuid, poisoned)
            self.pass_by()
            self.assert_agrees()
            release.release(self.engine, row.owner)
        self.assertIs(Outcome.CONSUMER_CHANGED,
                      self.write(poisoned[1], CUSTOM_GOLD=1))
        self.assertIs(Outcome.DONE,
                      self.write(poisoned[1], 0, CUSTOM_GOLD=1))

    def test_each_claim_has_a_consumer_of_its_own(self) -> None:
        """F4: a generation begins anew when the consumer becomes empty."""
        again = world.new_uuid()
        for _ in range(2):
            self.assertIs(Outcome.DONE, self.write(again, CUSTOM_GOLD=1))
            self.assertEqual(1, self.client.consumer(again).generation)
            self.client.delete_allocations(again)
        seen = set()
        for _ in range(3):
            made = try_to_reserve(self.engine, self.node)
            assert made is not None
            seen.add(self.rows()[0].consumer_uuid)
            release.release(self.engine, made)
        self.assertEqual(3, len(seen))
        self.assert_agrees()


class TestConsumersOnMysql(_Consumers, world.TestCase):
    kind = 'mysql'


class TestConsumersOnPostgresql(_Consumers, world.TestCase):
    kind = 'postgresql'


class TestLockedDatabase(_TestCase, world.TestCase):
    """Placement on SQLite, with threads."""

    kind = 'sqlite'
    placement_options = {'workers': 1, 'threads': 8}

    def test_what_was_answered_500_is_settled(self) -> None:
        """F5: "database is locked" is no answer; nothing is left of it."""
        nodes = self.enrol(8)
        failed: list[int] = []
        kept: dict[str, str] = {}
        senders = [self.another_engine() for _ in nodes]
        for engine in senders:
            count_failures(engine.placement, failed)
        for _ in range(3):
            made = at_once(
                functools.partial(try_to_reserve, engine, node)
                for engine, node in zip(senders, nodes, strict=True))
            kept.update({uuid: node for uuid, node in zip(
                made, nodes, strict=True) if uuid is not None})
        self.tell(answered_500=len(failed), kept=len(kept))
        self.pass_by()
        self.assert_agrees()
        self.assertEqual({*kept.items()}, {
            (row.owner, row.node_uuid) for row in self.rows()})
        for uuid in kept:
            release.release(self.engine, uuid)
        recovery.recover(self.engine)
        self.assertEqual([], self.rows())


def count_failures(client: Any, failed: list[int]) -> None:
    """Have the answers counted that are failures of the server."""
    request = client._sender.request

    def counting(*arguments: Any, **more: Any) -> Any:
        answer = request(*arguments, **more)
        if answer.status_code == 500:
            failed.append(answer.status_code)
        return answer
    client._sender.request = counting
