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

"""What the end of a lease leaves on its nodes."""

from __future__ import annotations

from typing import Any

from ironic_reservations.clouds import ironic
from ironic_reservations.lifecycle import handover
from ironic_reservations.lifecycle import put_back
from tests.processes import mix
from tests.processes import mutations

_OF_HOLDERS = mix.Best(mix.Mix(
    faults={}, lives={'act': 3, 'reserve': 1}, acts={}, all_hosts=1.0,
    classes={'gold': 6}), 'sqlite', seconds=60)


@mutations.planted(
    'not as lent', _OF_HOLDERS,
    'tests.unit.lifecycle.test_handover.HandoverTest.'
    'test_node_that_was_acted_on_is_cleaned_before_its_release')
def acted_not_cleaned() -> None:
    """The end of a lease puts an acted-on node back, and cleans it not."""
    assert handover._to_clean
    handover._to_clean = lambda *arguments: False


@mutations.planted(
    'not as lent', _OF_HOLDERS,
    'tests.unit.lifecycle.test_handover.HandoverTest.'
    'test_keys_with_slashes_are_put_back')
def acts_left() -> None:
    """The end of a lease cleans an acted-on node, and puts nothing back."""
    assert put_back.corrections
    put_back.corrections = lambda *arguments: iter(())


@mutations.planted(
    'not as lent', _OF_HOLDERS,
    'tests.unit.lifecycle.test_handover.HandoverTest.'
    'test_boot_mode_is_set_back',
    'tests.unit.lifecycle.test_handover.HandoverTest.'
    'test_boot_device_stayed_as_its_holder_set_it')
def boot_left() -> None:
    """The end of a lease leaves a machine to boot as its holder has set it."""
    assert put_back._settings and put_back._of_machine
    put_back._settings = lambda *arguments: iter(())
    put_back._of_machine = lambda *arguments: iter(())


@mutations.planted(
    'left over', mix.Best(mix.Mix(
        faults={}, lives={'lease': 1}, instances=0.0), 'sqlite', seconds=40),
    'tests.inprocess.clouds.test_ironic.TestChanges.'
    'test_each_change_is_one_request')
def lessee_kept() -> None:
    """The end of a lease leaves its project on the node as lessee."""
    right = ironic.Ironic.write_lessee

    def wrong(self: Any, uuid: str, lessee: str | None, *more: Any,
              **named: Any) -> None:
        if lessee is not None:
            right(self, uuid, lessee, *more, **named)
    ironic.Ironic.write_lessee = wrong  # type: ignore[method-assign]
