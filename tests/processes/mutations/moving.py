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

"""Dates that move, and windows that others have booked."""

from __future__ import annotations

import dataclasses
import datetime
from typing import Any

from ironic_reservations.db import host_views
from ironic_reservations.engine.in_flight import permitted
from ironic_reservations.engine.leases import replan
from ironic_reservations.engine.leases.replan import pending
from ironic_reservations.features.maintenance import sync
from ironic_reservations.features.open_dates import rows as db_open_dates
from ironic_reservations.features.open_dates import slides
from ironic_reservations.model import leases
from ironic_reservations.model import node_window
from tests.processes import mix
from tests.processes import mutations

_NEVER = datetime.datetime(9999, 1, 1, tzinfo=datetime.UTC)
_LATER = datetime.timedelta(seconds=7)


@mutations.planted(
    'dates moved', mix.Best(mix.Mix(
        faults={}, lives={'lease': 1}, instances=0.0, all_hosts=1.0,
        open_dates=0.7, fix_before=(5, 60), starts=(3, 10),
        classes={'gold': 3}), 'sqlite', seconds=120),
    'tests.inprocess.engine.test_flexible.TestSlides.'
    'test_not_once_it_is_fixed')
def fixed_slides() -> None:
    """Leases slide for others although it is too late to tell their owners."""
    whole = db_open_dates.read_loose

    def of_all(now: Any) -> Any:
        there = db_open_dates._s
        return ((there.between_from.is_not(None))
                & (there.status == leases.LeaseStatus.PENDING.value)
                & (there.starts_at > now))

    def as_if_loose(*arguments: Any) -> Any:
        found, is_all = whole(*arguments)
        return [dataclasses.replace(each, between=dataclasses.replace(
            each.between, fix_at=_NEVER)) for each in found], is_all
    assert db_open_dates._loose and slides.fixed_from
    db_open_dates._loose = of_all
    db_open_dates.read_loose = as_if_loose
    slides.fixed_from = lambda *arguments: ()


class _Blind:
    """An Ironic that shows no maintenance but that of one window."""

    def __init__(self, ironic: Any, window: str) -> None:
        self._ironic = ironic
        self._window = window

    def __getattr__(self, name: str) -> Any:
        return getattr(self._ironic, name)

    def maintained(self, uuid: str) -> Any:
        """Return a node, as if nobody else had set anything."""
        found = self._ironic.maintained(uuid)
        if found is None or node_window.is_marked(self._window, found[1]):
            return found
        return dataclasses.replace(found[0], maintenance=False), None


@mutations.planted(
    'maintenance of another', mix.Best(mix.Mix(
        faults={}, lives={'look_round': 1}, acts={'maintain': 1}, booking=True,
        leisure=(5.0, 9.0), classes={'gold': 3}, rounds=(0.5, 2.0)), 'sqlite',
        seconds=90),
    'tests.inprocess.reconciler.test_maintenance.TestOperatorComesFirst.'
    'test_reason_is_not_written_over',
    'tests.inprocess.reconciler.test_maintenance.TestOperatorComesFirst.'
    'test_reason_is_not_cleared')
def maintenance_overwritten() -> None:
    """A window takes over, and clears, maintenance that somebody else has set.
    """
    begin = sync._Sync.__init__

    def wrong(self: Any, engine: Any, ironic: Any, there: Any) -> None:
        begin(self, engine, ironic, there)
        self._ironic = _Blind(ironic, there.window_id)
    sync._Sync.__init__ = wrong  # type: ignore[method-assign]
    assert sync._Sync._check_unchanged and permitted.check
    sync._Sync._check_unchanged = (  # type: ignore[method-assign]
        lambda *arguments: None)
    permitted.check = lambda *arguments: None


@mutations.planted(
    'dates moved', mix.Best(mix.Mix(
        faults={}, lives={'lease': 1}, instances=0.0, all_hosts=1.0,
        queued=1.0,
        starts=(3, 10), classes={'gold': 3}), 'sqlite', seconds=90),
    'tests.inprocess.engine.test_waitlist.TestWaitlist.'
    'test_it_starts_earlier_when_others_end')
def promise_slips() -> None:
    """One that waits is moved to a later start instead of an earlier one."""
    right = pending.earlier

    def wrong(attempt: Any, *arguments: Any) -> Any:
        if right(attempt, *arguments) is None:
            return None
        found = pending.plan(attempt.starting(attempt.before.start + _LATER))
        return None if isinstance(found, replan.Refused) else found
    pending.earlier = wrong


@mutations.planted(
    'promised across maintenance', mix.Best(mix.Mix(
        faults={}, lives={'lease': 2, 'squat': 1}, instances=0.0,
        all_hosts=1.0,
        acts={}, booking=True, classes={'gold': 3}), 'sqlite', seconds=90),
    'tests.inprocess.timeline.test_maintenance.TestBooking.'
    'test_nothing_is_planned_across')
def windows_unseen() -> None:
    """Nobody sees what operators have booked for maintenance."""
    right = host_views.read_unleased

    def wrong(*arguments: Any) -> tuple[Any, Any]:
        return right(*arguments)[0], {}
    host_views.read_unleased = wrong
