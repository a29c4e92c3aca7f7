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

"""What the real Placement says, told apart."""

from __future__ import annotations

import testtools

from ironic_reservations import errors
from ironic_reservations.clouds import placement
from ironic_reservations.clouds import placement_answers as answers
from tests import world
from tests.inprocess.placement import in_memory

DONE = answers.Outcome.DONE
GOLD = in_memory.GOLD


class _TestCase(testtools.TestCase):

    newest: str | None = None

    def setUp(self) -> None:
        super().setUp()
        self.placement = self.useFixture(in_memory.InMemory(self.newest))
        # NOTE: over HTTP, which the other tests leave out.
        self.sender = in_memory.sender_to(self.placement.endpoint)
        self.client = placement.Placement(self.sender, placement.ADMIN)
        self.nodes = in_memory.Nodes(self.client)

    def put(self, node: str, consumer: str | None = None, amount: int = 1,
            generation: int | None = None,
            resource_class: str = GOLD) -> answers.Outcome:
        return self.client.put_allocations(
            consumer or world.new_uuid(), in_memory.wanted(
                {node: {resource_class: amount}}, generation)).outcome


class TestAllocations(_TestCase):

    def test_claim_is_there_as_it_was_written(self) -> None:
        node, consumer = self.nodes.add(), world.new_uuid()
        self.assertIs(DONE, self.put(node, consumer))
        there = self.client.consumer(consumer)
        self.assertEqual({node: {GOLD: 1}}, there.allocations)
        self.assertEqual((1, in_memory.NOBODY, 'SOMEBODY'),
                         (there.generation, there.project_id,
                          there.consumer_type))
        self.assertEqual({consumer: {GOLD: 1}}, self.client.consumers_on(node))
        self.assertEqual({GOLD: 1}, self.client.usages(node))

    def test_second_claim_finds_it_full(self) -> None:
        node = self.nodes.add()
        self.put(node)
        self.assertIs(answers.Outcome.FULL, self.put(node))

    def test_what_a_node_does_not_offer_is_unfit(self) -> None:
        node = self.nodes.add()
        self.client.ensure_class('CUSTOM_IRON')
        self.assertIs(answers.Outcome.UNFIT,
                      self.put(node, resource_class='CUSTOM_IRON'))
        self.assertIs(answers.Outcome.UNFIT, self.put(node, amount=2))

    def test_names_that_are_not_there_are_unknown(self) -> None:
        node = self.nodes.add()
        self.assertIs(answers.Outcome.UNKNOWN, self.put(world.new_uuid()))
        self.assertIs(answers.Outcome.UNKNOWN,
                      self.put(node, resource_class='CUSTOM_NEVER_MADE'))

    def test_body_that_it_cannot_read_is_refused(self) -> None:
        self.assertIs(answers.Outcome.REFUSED, self.client.put_allocations(
            'no-uuid', in_memory.wanted({})).outcome)

    def test_consumer_that_is_older_or_newer(self) -> None:
        node, consumer = self.nodes.add(), world.new_uuid()
        changed = answers.Outcome.CONSUMER_CHANGED
        self.assertIs(changed, self.put(node, consumer, generation=3))
        self.put(node, consumer)
        self.assertIs(changed, self.put(node, consumer))
        self.assertIs(DONE, self.put(node, consumer, generation=1))

    def test_delete_tells_whether_there_was_something(self) -> None:
        consumer = self.nodes.claim(self.nodes.add())
        self.assertIs(DONE, self.client.delete_allocations(consumer).outcome)
        self.assertIs(answers.Outcome.GONE,
                      self.client.delete_allocations(consumer).outcome)
        self.assertEqual(placement.Consumer({}),
                         self.client.consumer(consumer))

    def test_move_is_atomic_and_works_on_a_reserved_node(self) -> None:
        node = self.nodes.add()
        before, after = self.nodes.claim(node), world.new_uuid()
        self.nodes.offer(node, {GOLD: {**in_memory.ONE, 'reserved': 1}})
        move = {before: in_memory.wanted({}, 1),
                after: in_memory.wanted({node: {GOLD: 1}})}
        self.assertIs(DONE, self.client.post_allocations(move).outcome)
        self.assertEqual([after], list(self.client.consumers_on(node)))
        self.assertIs(answers.Outcome.CONSUMER_CHANGED,
                      self.client.post_allocations(move).outcome)

    def test_several_consumers_get_all_or_nothing(self) -> None:
        free, taken = self.nodes.add(), self.nodes.add()
        self.nodes.claim(taken)
        self.assertIs(answers.Outcome.FULL, self.client.post_allocations({
            world.new_uuid(): in_memory.wanted({node: {GOLD: 1}})
            for node in (free, taken)}).outcome)
        self.assertEqual({}, self.client.consumers_on(free))

    def test_providers_with_room_are_the_free_ones(self) -> None:
        free, taken = self.nodes.add(), self.nodes.add()
        self.nodes.claim(taken)
        self.assertEqual({free, taken}, {
            found.uuid for found in self.client.providers()})
        self.assertEqual([free], [
            found.uuid
            for found in self.client.providers(resources=f'{GOLD}:1')])
        self.assertEqual([{free: {GOLD: 1}}], self.client.candidates(
            [('resources', f'{GOLD}:1')]))

    def test_nothing_is_found_where_nothing_is(self) -> None:
        nowhere = world.new_uuid()
        self.assertEqual([], self.client.providers(resources='CUSTOM_NO:1'))
        self.assertEqual([], self.client.candidates(
            [('resources', 'CUSTOM_NO:1')]))
        for read in (self.client.provider, self.client.consumers_on,
                     self.client.usages, self.client.inventories):
            self.assertIsNone(read(nowhere))


class TestProviders(_TestCase):
    """The life of a reservation provider, with each 409 on the way."""

    def outcome(self, answer: answers.Answer) -> answers.Outcome:
        return answer.outcome

    def test_classes_and_providers_are_made_once(self) -> None:
        for _ in range(2):
            self.assertTrue(self.client.ensure_class(GOLD).done)
        self.assertIs(answers.Outcome.REFUSED,
                      self.client.ensure_class('GOLD').outcome)
        uuid = world.new_uuid()
        self.assertTrue(self.client.create_provider(uuid, 'one').done)
        for again in ((uuid, 'two'), (world.new_uuid(), 'one')):
            self.assertIs(answers.Outcome.EXISTS,
                          self.client.create_provider(*again).outcome)

    def test_child_is_made_and_taken_back_in_the_order_that_works(
            self) -> None:
        root, child = self.nodes.add(), world.new_uuid()
        slots = 'CUSTOM_RESERVATION_X'
        self.client.create_provider(child, f'reserved_{root}', root)
        self.assertEqual(root, self.client.provider(child).parent)
        self.client.ensure_class(slots)
        self.nodes.offer(child, {slots: {**in_memory.ONE, 'total': 3}})
        consumer = self.nodes.claim(child, resource_class=slots)
        in_use = answers.Outcome.IN_USE
        generation = self.client.provider(child).generation
        for refused in (self.client.put_inventories(child, generation, {}),
                        self.client.delete_class(slots),
                        self.client.delete_provider(child),
                        self.client.delete_provider(root)):
            self.assertIs(in_use, refused.outcome, refused)
        self.assertIs(
            answers.Outcome.PROVIDER_CHANGED,
            self.client.put_inventories(child, generation - 1, {}).outcome)
        self.nodes.offer(child, {
            slots: {**in_memory.ONE, 'total': 3, 'reserved': 3}})
        for step in (self.client.delete_allocations(consumer),
                     self.client.put_inventories(child, generation + 1, {}),
                     self.client.delete_class(slots),
                     self.client.delete_provider(child)):
            self.assertTrue(step.done, step)
        for again in (self.client.delete_class(slots),
                      self.client.delete_provider(child)):
            self.assertIs(answers.Outcome.GONE, again.outcome)


class TestReshaper(_TestCase):

    def reshape(self, node: str, generation: int, consumer: str,
                resource_class: str) -> answers.Answer:
        """Have a node offer 1 of a class, and a consumer have that."""
        self.client.ensure_class(resource_class)
        return self.client.reshape(
            node, generation, {resource_class: in_memory.ONE},
            {consumer: in_memory.wanted({node: {resource_class: 1}}, 1)})

    def test_offer_and_allocation_change_at_once_or_not_at_all(self) -> None:
        node = self.nodes.add()
        consumer = world.new_uuid()
        self.assertIs(DONE, self.put(node, consumer))
        there = self.client.inventories(node)
        assert there is not None
        self.assertIs(answers.Outcome.PROVIDER_CHANGED, self.reshape(
            node, there.generation - 1, consumer, 'CUSTOM_SILVER').outcome)
        self.assertEqual({GOLD: 1}, self.client.usages(node))
        self.assertIs(DONE, self.reshape(
            node, there.generation, consumer, 'CUSTOM_SILVER').outcome)
        self.assertEqual({'CUSTOM_SILVER': 1}, self.client.usages(node))

    def test_user_without_the_role_is_told_which_one(self) -> None:
        """NOTE: the Placement of these tests lets administrators do it."""
        refused = answers.judge('POST', answers.RESHAPER, 403, {'errors': [{
            'detail': 'Policy does not allow placement:reshaper:reshape.'}]})
        self.assertIs(answers.Outcome.REFUSED, refused.outcome)
        self.assertIn('users with the role service', refused.said)


class TestOldPlacement(TestAllocations):
    """The same with one from before consumers had types."""

    newest = '1.29'

    def test_claim_is_there_as_it_was_written(self) -> None:
        node, consumer = self.nodes.add(), world.new_uuid()
        self.assertIs(DONE, self.put(node, consumer))
        there = self.client.consumer(consumer)
        self.assertEqual(({node: {GOLD: 1}}, 1, None),
                         (there.allocations, there.generation,
                          there.consumer_type))
        self.assertEqual((1, 29), self.client.version)


class TestTooOldPlacement(_TestCase):

    newest = '1.28'

    def test_it_is_refused_with_the_version_that_is_needed(self) -> None:
        answer = self.client.ensure_class(GOLD)
        self.assertIs(answers.Outcome.REFUSED, answer.outcome)
        self.assertIn('1.29', answer.said)
        unavailable = self.assertRaises(errors.PlacementUnavailable,
                                        self.client.providers)
        self.assertIn('1.29', str(unavailable))


class TestConfigured(_TestCase):

    def test_client_without_authentication_is_an_administrator(self) -> None:
        client = placement.Placement.over_http(world.configured(
            'sqlite://',
            placement__endpoint_override=self.placement.endpoint))
        self.assertTrue(client.ensure_class(GOLD).done)
        self.assertEqual([], client.providers())

    def test_token_that_is_refused_is_named(self) -> None:
        client = placement.Placement(self.sender)
        answer = client.ensure_class(GOLD)
        self.assertIs(answers.Outcome.REFUSED, answer.outcome)
        self.assertIn('[placement]', answer.said)
        self.assertIn('[placement]', str(self.assertRaises(
            errors.PlacementUnavailable, client.providers)))

    def test_endpoint_that_nobody_has_told_is_refused(self) -> None:
        client = placement.Placement.over_http(world.configured('sqlite://'))
        self.assertIs(answers.Outcome.REFUSED,
                      client.ensure_class(GOLD).outcome)
        self.assertRaises(errors.PlacementUnavailable, client.providers)


class _Gateway:
    """Answers in the place of Placement."""

    status_code = 404

    def request(self, *_: object, **__: object) -> _Gateway:
        return self

    def json(self) -> object:
        return {'message': 'no Route matched with those values'}


class TestGateway(testtools.TestCase):
    """Its 404 was taken for a hold or a provider that does not exist."""

    def test_404_of_a_gateway_is_no_deleted_hold(self) -> None:
        client = placement.Placement(_Gateway(), placement.ADMIN)
        for read in (client.consumer, client.provider, client.inventories,
                     client.allocated, client.usages):
            self.assertRaises(errors.PlacementUnavailable, read,
                              world.new_uuid())
        self.assertIs(answers.Outcome.REFUSED, client.delete_allocations(
            world.new_uuid()).outcome)
