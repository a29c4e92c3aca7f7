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

"""The findings of an audit: the same for a whole node and for a share."""

from __future__ import annotations

import dataclasses
import datetime
from typing import Any

import testtools

from ironic_reservations.features.placement.audit import compare_hosts
from ironic_reservations.features.placement.audit import differences
from ironic_reservations.features.placement.holds import values
from ironic_reservations.model import inventories
from ironic_reservations.model import mirrored_node
from ironic_reservations.model import node_condition

NOON = datetime.datetime(2026, 1, 1, 12, tzinfo=datetime.UTC)
Kind = differences.Kind
HoldState = values.HoldState


class _Compared:
    """The tests for one kind of host."""

    exclusive: bool
    amounts: inventories.Amounts
    node: mirrored_node.Node

    def hold(self, owner: str, **more: Any) -> values.Hold:
        """Return an existing hold."""
        return values.Hold(**{
            'id': 1, 'consumer_uuid': f'for-{owner}', 'node_uuid': 'host',
            'owner': owner, 'amounts': self.amounts, 'project_id': 'project',
            'user_id': 'user', 'state': HoldState.ACTIVE, 'created_at': NOON,
            'deadline': NOON, 'confirmed': True,
            'exclusive': self.exclusive, **more})

    def promise(self, owner: str, **more: Any) -> values.Promise:
        """Return a promise of the database."""
        return values.Promise(**{
            'owner': owner, 'node_uuid': 'host', 'instance_uuid': None,
            'project_id': 'project', 'user_id': 'user',
            'amounts': None if self.exclusive else self.amounts,
            'exclusive': self.exclusive, **more})

    def host(self, **more: Any) -> compare_hosts.Host:
        """Return a host that is held for one promise."""
        return compare_hosts.Host(**{
            'uuid': 'host', 'exclusive': self.exclusive, 'node': self.node,
            'held': (self.hold('me'),), 'promises': (self.promise('me'),),
            **more})

    def found(self, host: compare_hosts.Host | None = None,
              **view: Any) -> list[tuple[Kind, str | None]]:
        """Compare; by default, everything is correct."""
        differences = compare_hosts.compare(compare_hosts.View(
            self.host() if host is None else host, **{
                'consumers': {'for-me': dict(self.amounts)},
                'usages': dict(self.amounts), **view}))
        for each in differences:
            self.assertEqual(('host', not self.exclusive),
                             (each.node_uuid, each.shared))
            self.assertRegex(each.detail, r'\.$')
        return [(each.kind, each.consumer_uuid) for each in differences]

    def test_what_is_as_promised_is_no_difference(self) -> None:
        self.assertEqual([], self.found())

    def test_hold_that_is_gone(self) -> None:
        self.assertEqual([(Kind.HOLD_MISSING, 'for-me')],
                         self.found(consumers={}, usages={}))

    def test_hold_of_a_host_that_placement_does_not_know(self) -> None:
        self.assertEqual([(Kind.HOLD_MISSING, 'for-me')],
                         self.found(consumers=None, usages={}))

    def test_host_that_placement_does_not_know(self) -> None:
        host = self.host(held=(), promises=())
        self.assertEqual([(Kind.PROVIDER_MISSING, None)],
                         self.found(host, consumers=None, usages={}))
        self.assertEqual([], self.found(
            dataclasses.replace(host, node=None), consumers=None, usages={}))

    def test_hold_of_other_amounts(self) -> None:
        self.assertEqual(
            [(Kind.HOLD_DIFFERS, 'for-me')],
            self.found(consumers={'for-me': {'ANOTHER': 1}}, usages={}))

    def test_promise_that_nothing_is_held_for(self) -> None:
        host = self.host(held=())
        self.assertEqual([(Kind.UNHELD, None)],
                         self.found(host, consumers={}, usages={}))
        self.assertEqual([(Kind.UNHELD, None)],
                         self.found(host, consumers={'them': dict(
                             self.amounts)}))

    def test_consumer_of_ours_without_a_row(self) -> None:
        self.assertEqual([(Kind.ORPHAN, 'stray')], self.found(
            self.host(held=(), promises=()), strays=frozenset({'stray'}),
            consumers={'stray': dict(self.amounts)}))

    def test_usage_without_a_consumer(self) -> None:
        """A repair of one class does not repair the others."""
        self.assertEqual(
            [(Kind.GHOST, None)] * len(self.amounts), self.found(
                usages={name: amount + 1 for name, amount in self.amounts}))

    def test_each_class_that_is_wrong_is_a_difference_of_its_own(
            self) -> None:
        """This holds even if only the class distinguishes them."""
        consumers = {'for-me': dict(self.amounts)}
        usages = {**{name: amount + 1 for name, amount in self.amounts},
                  'CUSTOM_OLD': 2}
        found = compare_hosts.compare(compare_hosts.View(
            self.host(), consumers=consumers, usages=usages,
            totals=dict(self.amounts) | {'CUSTOM_OLD': 1}))
        self.assertEqual(
            {(kind, name) for kind in (Kind.GHOST, Kind.OVERALLOCATED)
             for name in usages},
            {(each.kind, each.resource_class) for each in found})
        self.assertEqual(2 * len(usages), len(set(found)))
        for each in found:
            self.assertIn(f' {each.resource_class} ', each.detail)

    def test_more_that_is_used_than_there_is(self) -> None:
        (name, amount), *_ = self.amounts
        consumers = {'for-me': dict(self.amounts), 'them': {name: amount}}
        usages = {**dict(self.amounts), name: 2 * amount}
        self.assertEqual([(Kind.OVERALLOCATED, None)], self.found(
            consumers=consumers, usages=usages,
            totals={name: 2 * amount - 1}))
        self.assertEqual([], self.found(
            consumers=consumers, usages=usages, totals={name: 2 * amount}))

    def test_what_somebody_is_at_work_on_is_not_told(self) -> None:
        host = self.host(held=(self.hold('me', state=HoldState.RESERVING),))
        self.assertEqual({'me'}, host.in_work)
        self.assertEqual([], self.found(host, in_work=host.in_work,
                                        consumers={}, usages={}))

    def test_hold_without_a_promise_is_left_to_who_ended_that(self) -> None:
        self.assertEqual([], self.found(self.host(promises=())))


class TestNodes(_Compared, testtools.TestCase):
    """A node of Ironic is held whole."""

    exclusive = True
    amounts = (('CUSTOM_GOLD', 1),)
    node = mirrored_node.Node('host', resource_class='gold',
                              provision_state=node_condition.AVAILABLE,
                              instance_uuid='server')

    def test_instance_that_has_the_node_is_its_hold(self) -> None:
        for consumer in ('server', 'asked'):
            self.assertEqual([], self.found(
                self.host(held=(), promises=(
                    self.promise('me', instance_uuid='asked'),)),
                consumers={consumer: dict(self.amounts)}))

    def test_class_that_has_changed(self) -> None:
        node = dataclasses.replace(self.node, resource_class='silver')
        self.assertEqual([(Kind.HOLD_DIFFERS, 'for-me')],
                         self.found(self.host(node=node)))
        self.assertEqual([], self.found(
            self.host(node=node), consumers={'for-me': {'CUSTOM_SILVER': 1}},
            usages={'CUSTOM_SILVER': 1}))

    def test_class_that_is_none(self) -> None:
        """No request is sent to Placement, and the hold stays."""
        node = dataclasses.replace(self.node, resource_class=None)
        self.assertEqual([], self.found(self.host(node=node)))
        self.assertEqual([], self.found(
            self.host(node=node, held=(), promises=()), consumers=None,
            usages={}))

    def test_node_that_nobody_can_schedule_to_needs_no_provider(self) -> None:
        node = dataclasses.replace(self.node, provision_state='enroll')
        self.assertEqual([], self.found(
            self.host(node=node, held=(), promises=()), consumers=None,
            usages={}))

    def test_node_that_is_no_more(self) -> None:
        self.assertEqual([(Kind.PROVIDER_LEFTOVER, None)], self.found(
            self.host(node=None, held=(), promises=()), consumers={},
            usages={}))

    def test_consumer_that_nobody_counts(self) -> None:
        self.assertEqual([(Kind.GHOST, None)], self.found(
            usages={'CUSTOM_GOLD': 0}))

    def test_while_somebody_is_at_work_nothing_is_told(self) -> None:
        self.assertEqual([], self.found(
            in_work=frozenset({'another'}), consumers={}, usages={}))


class TestComputeHosts(_Compared, testtools.TestCase):
    """Each instance has a share of a compute host."""

    exclusive = False
    amounts = (('MEMORY_MB', 512), ('VCPU', 2))
    node = mirrored_node.Node('host', inventories=())

    def test_share_of_another_size_than_promised(self) -> None:
        host = self.host(promises=(
            self.promise('me', amounts=(('VCPU', 3),)),))
        self.assertEqual([(Kind.HOLD_DIFFERS, 'for-me')], self.found(host))

    def test_instances_without_a_share_are_told_once(self) -> None:
        host = self.host(promises=tuple(map(self.promise, 'abc')), held=())
        self.assertEqual([(Kind.UNHELD, None)],
                         self.found(host, consumers={}, usages={}))

    def test_others_are_told_while_somebody_is_at_work_on_one(self) -> None:
        host = self.host(
            held=(self.hold('me', state=HoldState.RELEASING),
                  self.hold('you')),
            promises=(self.promise('me'), self.promise('you')))
        self.assertEqual([(Kind.HOLD_MISSING, 'for-you')], self.found(
            host, in_work=host.in_work, consumers={}, usages={}))

    def test_server_that_left_while_it_was_read(self) -> None:
        self.assertEqual([], self.found(usages={'VCPU': 0}))

    def test_host_that_was_taken_back_is_left_to_nova(self) -> None:
        self.assertEqual([], self.found(
            self.host(node=None, held=(), promises=()),
            consumers={'server': {'VCPU': 1}}, usages={'VCPU': 1}))
