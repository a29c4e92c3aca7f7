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

"""What is kept of a promise until its end."""

from __future__ import annotations

import datetime
import types
from typing import Any

from ironic_reservations.engine import change
from ironic_reservations.engine import seen
from ironic_reservations.engine import sweep
from ironic_reservations.engine.lease_cycle import context
from ironic_reservations.features.keys import request_keys
from ironic_reservations.lifecycle import lease_cycle
from ironic_reservations.model import host_inventories
from ironic_reservations.model import inventories
from ironic_reservations.planner import instance_host_states
from tests.processes import mix
from tests.processes import mutations
from tests.processes import statements

_UNTIL = r'(leases\.claimed_until <= (?:%\(\w+\)s|%s|\?))'
_EARLY = datetime.timedelta(seconds=6)
_LATER = datetime.timedelta(seconds=20)


@mutations.planted(
    'left over', mix.Best(mix.Mix(
        faults={'kill_at_commit': 2, 'kill': 1}, aims=('UPDATE leases',),
        lives={'lease': 1}, off=(0.0,)), seconds=60),
    'tests.inprocess.reconciler.test_lease_workers.TestLeaseClaims.'
    'test_dead_process_is_replaced_when_its_claims_end')
def claim_for_ever() -> None:
    """What a process works on is left to it for ever, also once it is dead."""
    statements.change(_UNTIL, r'(\1 AND 1 = 0)')


class _Early:
    """An engine with a clock that is ahead."""

    def __init__(self, engine: Any) -> None:
        self._engine = engine

    def __getattr__(self, name: str) -> Any:
        return getattr(self._engine, name)

    def clock(self) -> datetime.datetime:
        """Return a time to come."""
        return self._engine.clock() + _EARLY  # type: ignore[no-any-return]


@mutations.planted(
    'lost', mix.Best(mix.Mix(
        faults={}, lives={'reserve': 1, 'linger': 1}), 'sqlite'),
    'tests.inprocess.reconciler.test_sweep.TestSweep.'
    'test_expired_rows_go_and_the_rest_stays')
def expiry_ignored() -> None:
    """Reservations are swept away a few seconds before they expire."""
    right = sweep.sweep

    def wrong(engine: Any) -> None:
        early = _Early(engine)
        right(early)  # type: ignore[arg-type]
    sweep.sweep = wrong


@mutations.planted(
    'made twice', mix.Best(mix.Mix(
        faults={}, lives={'repeat': 1}, instances=0.0, all_hosts=1.0),
        'sqlite', seconds=40),
    'tests.inprocess.engine.test_lease_keys.TestLateCopy.'
    'test_copy_that_comes_after_its_lease_was_deleted_makes_none')
def keys_not_kept() -> None:
    """What a request has made is forgotten as soon as that is gone."""
    assert request_keys.keep
    request_keys.keep = lambda *arguments: None


# Each instance takes a whole host, and what is promised from minutes ahead
# meets what starts at once and is there until then.
@mutations.planted(
    'promised twice', mix.Best(mix.Mix(
        faults={'stop': 1}, lives={'lease': 1}, acts={}, instances=1.0,
        sizes=(16,), starts=(0, 0, 3, 6, 100, 130), lengths=(8, 8, 60, 240),
        ended=1.0, classes={'gold': 1}, rounds=(1.0, 2.0)), placement=True),
    'tests.inprocess.engine.test_late_share.TestShrunken.'
    'test_what_has_no_room_is_planned_where_there_is_some')
def late_share_dropped() -> None:
    """What has no room beside a late share is left out, and given away."""
    right = instance_host_states.draw

    def wrong(here: Any, *more: Any) -> Any:
        there = right(here, *more)
        if not here.host.node.compute or here.unfit is not None:
            return there
        out = instance_host_states.displaced(inventories.capacities(
            host_inventories.of(here.host.node)),
            there)  # type: ignore[arg-type]
        return [each for each in there if each.id not in out]
    instance_host_states.draw = wrong


@mutations.planted(
    'lost', mix.Best(mix.Mix(
        faults={'hold_write': 1}, aims=('UPDATE reservations', 'UPDATE nodes'),
        pause=(0.2, 0.8), lives={'lease': 1}, instances=0.0, all_hosts=1.0,
        lengths=(25, 40), ended=0.3, no_show={'gold': 5, 'silver': 8})),
    'tests.inprocess.reconciler.test_deploy_before_release.'
    'TestDeployBeforeRelease.'
    'test_deployed_node_stays')
def no_show_outruns_deploy() -> None:
    """A node that nobody has deployed is released, though somebody just has.
    """
    commit, right = context.Context.commit, seen.advance
    releasing: list[bool] = []

    def step(this: Any, *arguments: Any, **more: Any) -> Any:
        releasing[:] = [isinstance(event, change.Unused)
                        for event in more.get('events', ())]
        try:
            return commit(this, *arguments, **more)
        finally:
            releasing.clear()

    def wrong(connection: Any, looked: Any, *arguments: Any) -> None:
        if any(releasing):
            looked = seen.read(connection, looked.generations)
        right(connection, looked, *arguments)
    context.Context.commit = step  # type: ignore[method-assign]
    change.seen_module = types.SimpleNamespace(  # type: ignore[assignment]
        advance=wrong)


@mutations.planted(
    'started late', mix.Best(mix.Mix(
        faults={}, lives={'lease': 1}, instances=0.0, all_hosts=1.0,
        queued=1.0, starts=(3,), lengths=(40,), ended=0.0,
        times=mix.Times(late=12.0)), 'sqlite', seconds=90),
    'tests.inprocess.reconciler.test_start_in_time.TestStartInTime.'
    'test_at_the_start_that_was_promised')
def start_held_up() -> None:
    """A lease that waits is started long after it was promised."""
    whole = lease_cycle.steps

    def broken(lease: Any, now: datetime.datetime) -> Any:
        return tuple(
            each for each in whole(lease, now)
            if each is not lease_cycle.Step.START or lease.queued is None
            or now >= lease.start + _LATER)
    lease_cycle.steps = broken
