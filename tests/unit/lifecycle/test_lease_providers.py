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

"""The providers of a lease of instances, step by step."""

from __future__ import annotations

import dataclasses
import uuid

import hypothesis
from hypothesis import strategies as st
import testtools

from ironic_reservations.features.placement.lease_providers import machine
from ironic_reservations.features.placement.lease_providers import names
from ironic_reservations.model import flavors

SLOT = 'CUSTOM_IRONIC_SLOT'
SLOTS = machine.Slots(SLOT, 'CUSTOM_LEASE_SLOT')
IDENT = '4d17d41a-830d-47b2-91c7-4f9fc0ae611e'
CLASS = 'CUSTOM_RESERVATION_4D17D41A_830D_47B2_91C7_4F9FC0AE611E'
Act = machine.Act


def asked(flavor: machine.DesiredFlavor) -> dict[str, int]:
    """Return Nova's interpretation of one of our flavors."""
    return flavors.read(flavors.Flavor(
        *machine.sizes_of(flavor),
        extra_specs=machine.extra_specs(IDENT, flavor, SLOTS))).totals()


def wanted(counts: dict[str, int], active: bool = True,
           servers: machine.Servers = machine.Servers.DELETE
           ) -> machine.Desired:
    return machine.Desired(IDENT, 'project', counts, active,
                          machine.DesiredFlavor(1, 1, 1), servers)


class TestNames(testtools.TestCase):

    def test_class_is_that_of_the_specification(self) -> None:
        self.assertEqual(CLASS, names.class_of(IDENT))

    @hypothesis.given(st.uuids())
    def test_class_tells_the_reservation(self, ident: uuid.UUID) -> None:
        self.assertEqual(str(ident), names.reservation_of(
            names.class_of(str(ident))))

    def test_other_classes_tell_none(self) -> None:
        for name in ('VCPU', 'CUSTOM_GOLD', CLASS[:-1], CLASS + 'A',
                     CLASS.lower(), 'CUSTOM_RESERVATION_',
                     CLASS.removeprefix('CUSTOM_RESERVATION_')):
            self.assertIsNone(names.reservation_of(name), name)


class TestFlavor(testtools.TestCase):

    def test_what_the_hold_covers_is_not_asked_for_once_more(self) -> None:
        self.assertEqual({CLASS: 1, SLOT: 1},
                         asked(machine.DesiredFlavor(2, 4096, 10)))

    def test_what_it_does_not_cover_is_asked_of_the_host(self) -> None:
        self.assertEqual(
            {CLASS: 1, 'VCPU': 2, 'MEMORY_MB': 4096, 'DISK_GB': 10},
            asked(machine.DesiredFlavor(2, 4096, 10, frozenset())))
        self.assertEqual(
            {CLASS: 1, 'DISK_GB': 10},
            asked(machine.DesiredFlavor(2, 4096, 10, frozenset(
                {'VCPU', 'MEMORY_MB'}))))

    def test_flavor_that_was_reserved_for_keeps_its_traits(self) -> None:
        flavor = machine.DesiredFlavor(
            2, 4096, 10, machine.SIZES | {'CUSTOM_GOLD'},
            {'resources:CUSTOM_GOLD': '1', 'resources:VCPU': '0',
             'trait:CUSTOM_FAST': 'required', 'hw:boot_menu': 'true'})
        self.assertEqual({CLASS: 1, SLOT: 1}, asked(flavor))
        specs = machine.extra_specs(IDENT, flavor, SLOTS)
        self.assertEqual(('required', 'true'), (
            specs['trait:CUSTOM_FAST'], specs['hw:boot_menu']))

    def test_other_resources_of_the_host_need_no_slot(self) -> None:
        self.assertEqual({CLASS: 1, 'VGPU': 1}, asked(machine.DesiredFlavor(
            2, 4096, 10, extra_specs={'resources:VGPU': '1'})))

    @hypothesis.given(
        st.integers(1, 64), st.integers(1, 4096), st.integers(0, 100),
        st.sets(st.sampled_from(sorted(machine.SIZES))))
    def test_class_and_something_of_the_host_are_always_asked(
            self, vcpus: int, memory: int, disk: int,
            covered: set[str]) -> None:
        """Otherwise Nova's scheduler finds no host."""
        found = asked(machine.DesiredFlavor(vcpus, memory, disk,
                                           frozenset(covered)))
        self.assertEqual(1, found.pop(CLASS))
        self.assertNotEqual({}, found)
        self.assertEqual(set(), covered & found.keys())


_OFFERS = st.one_of(st.none(), st.integers(1, 3).flatmap(
    lambda total: st.booleans().map(
        lambda closed: machine.offer_of(total, closed))))
_CHILDREN = st.builds(
    lambda there, offer, users: machine.Child(
        there, offer if there else None,
        dict.fromkeys(users, 1) if there and offer else {}),
    st.booleans(), _OFFERS, st.sets(st.sampled_from('uvw')))
_FLAVORS = st.one_of(st.none(), st.builds(
    machine.FlavorSeen, st.integers(1, 2), st.just(1), st.just(1),
    st.sampled_from([{}, machine.extra_specs(
        IDENT, machine.DesiredFlavor(1, 1, 1), SLOTS)]),
    st.sets(st.sampled_from(['project', 'other'])).map(frozenset)))
_SEEN = st.builds(
    machine.Seen, st.booleans(),
    st.fixed_dictionaries({'a': _CHILDREN, 'b': _CHILDREN}),
    st.just(True), _FLAVORS,
    st.lists(st.builds(machine.ServerSeen, st.sampled_from('uv'),
                       st.booleans(), st.booleans()),
             unique_by=lambda each: each.uuid).map(tuple),
    st.sets(st.just('w')).map(frozenset),
    st.one_of(st.just({}), st.booleans().map(
        lambda resized: {'v': machine.ResizeSeen('s', resized)})))


class TestSlots(testtools.TestCase):

    def test_lease_with_compute_hosts_asks_for_a_slot_that_they_have(
            self) -> None:
        flavor = machine.DesiredFlavor(2, 1024, 10)
        for shared, slot in ((False, SLOT), (True, 'CUSTOM_LEASE_SLOT')):
            asked = machine.extra_specs(IDENT, dataclasses.replace(
                flavor, shared=shared), SLOTS)
            self.assertEqual({'resources:' + slot: '1'}, {
                key: value for key, value in asked.items()
                if key.endswith('_SLOT')})

    def test_lease_that_gets_other_hosts_asks_for_their_slot_only(
            self) -> None:
        """A later pass writes nothing."""
        flavor = machine.DesiredFlavor(2, 1024, 10)
        for before, after in ((False, True), (True, False)):
            specs = machine.extra_specs(IDENT, dataclasses.replace(
                flavor, shared=before), SLOTS)
            for written in (True, False):
                plan = machine.steps(
                    machine.Desired(IDENT, None, {}, True, dataclasses.replace(
                        flavor, shared=after)),
                    machine.Seen(True, {}, True, machine.FlavorSeen(
                        2, 1024, 10, specs, frozenset())), SLOTS)
                specs = {**specs, **{
                    key: value for step in plan
                    for key, value in step.specs.items()}}
                self.assertEqual([Act.WRITE_SPECS] * written,
                                 [step.act for step in plan])
            self.assertEqual(
                {('1', SLOTS.of_leases if after else SLOTS.of_nodes),
                 ('0', SLOTS.of_nodes if after else SLOTS.of_leases)},
                {(value, key.removeprefix('resources:'))
                 for key, value in specs.items() if key.endswith('_SLOT')})


class TestSteps(testtools.TestCase):

    @hypothesis.given(_SEEN, st.booleans(),
                      st.sampled_from(list(machine.Servers)))
    def test_order_that_works(self, seen: machine.Seen, active: bool,
                              servers: machine.Servers) -> None:
        """No step needs a later one, in any starting state."""
        plan = [step.act for step in machine.steps(
            wanted({'a': 2, 'b': 0}, active, servers), seen, SLOTS)]
        order = list(Act) if active else [
            Act.REMOVE_ACCESS, Act.CLOSE, Act.WITHDRAW,
            Act.FORCE_DELETE_SERVER, Act.DELETE_SERVER, Act.CONFIRM_RESIZE,
            Act.TAKE_FROM, Act.DELETE_FLAVOR, Act.DELETE_CLASS]
        before = [
            (Act.ENSURE_CLASS, Act.OFFER), (Act.MAKE_PROVIDER, Act.OFFER),
            (Act.DELETE_FLAVOR, Act.MAKE_FLAVOR),
            (Act.MAKE_FLAVOR, Act.WRITE_SPECS),
            (Act.WRITE_SPECS, Act.ADD_ACCESS)] if active else [
            (Act.REMOVE_ACCESS, Act.DELETE_SERVER),
            (Act.CLOSE, Act.DELETE_SERVER), (Act.WITHDRAW, Act.DELETE_CLASS),
            (Act.REMOVE_ACCESS, Act.DELETE_FLAVOR)]
        self.assertEqual(set(), set(plan) - set(order))
        for first, then in before:
            if first in plan and then in plan:
                self.assertLess(plan.index(first), plan.index(then))

    @hypothesis.given(_SEEN, st.sampled_from(list(machine.Servers)))
    def test_class_goes_when_nobody_has_it(
            self, seen: machine.Seen, servers: machine.Servers) -> None:
        plan = machine.steps(wanted({'a': 1, 'b': 1}, False, servers), seen,
                             SLOTS)
        users = any(child.consumers for child in seen.children.values())
        waiting = users or (bool(seen.servers)
                            and servers is not machine.Servers.LEAVE)
        acts = {step.act for step in plan}
        self.assertEqual(seen.class_there and not waiting,
                         Act.DELETE_CLASS in acts)
        if not plan:
            self.assertEqual(waiting, bool(machine.waits(
                wanted({}, False, servers), seen)))

    @hypothesis.given(_SEEN)
    def test_servers_are_left_alone_while_the_lease_lasts(
            self, seen: machine.Seen) -> None:
        acts = {step.act for step in machine.steps(
            wanted({'a': 1, 'b': 0}), seen, SLOTS)}
        self.assertEqual(set(), acts & {
            Act.DELETE_SERVER, Act.FORCE_DELETE_SERVER, Act.TAKE_FROM,
            Act.REMOVE_ACCESS, Act.CONFIRM_RESIZE, Act.DELETE_CLASS})
