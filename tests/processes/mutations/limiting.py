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

"""How much one may have, and who is told of it."""

from __future__ import annotations

import dataclasses
import types
from typing import Any

from ironic_reservations.db import claims as db_claims
from ironic_reservations.engine import ceiling
from ironic_reservations.engine import change
from ironic_reservations.features.enforcement import feature as enforcement
from ironic_reservations.features.limits import configured
from ironic_reservations.features.limits import feature
from ironic_reservations.features.limits import limit_checks
from ironic_reservations.features.limits import reservation_limits
from ironic_reservations.features.notices import webhooks
from ironic_reservations.features.queue import pull
from ironic_reservations.model import limits
from ironic_reservations.planner import loans
from tests.processes import mix
from tests.processes import mutations

#: Those who ask for the last one meet.
_AT_ONCE = mix.Best(mix.Mix(
    faults={'hold_write': 1}, aims=('INTO leases', 'UPDATE nodes'),
    pause=(0.2, 0.8), lives={'lease': 1}, instances=0.0, all_hosts=1.0,
    lengths=(10,), leisure=(0.05, 0.3), of_class={'gold': 1, 'silver': 1}))


@mutations.planted(
    'charged wrong', mix.Best(mix.Mix(
        faults={}, lives={'lease': 1}, instances=0.0), 'sqlite', seconds=40),
    'tests.inprocess.notices.test_enforcement_commits.TestLife.'
    'test_granted_changed_and_ended')
def change_uncharged() -> None:
    """The enforcement service is not told of what requests change."""
    whole = enforcement.Enforcement.join

    def join(self: Any, engine: Any, change: Any) -> Any:
        asked = change.writes and change.writes[0]
        return (None if asked and asked.before and asked.after
                else whole(self, engine, change))
    enforcement.Enforcement.join = join  # type: ignore[method-assign]


@mutations.planted(
    'too much for a project', mix.Best(mix.Mix(
        faults={}, lives={'lease': 2, 'reserve': 1}, instances=0.0,
        all_hosts=1.0,
        of_class={'gold': 1}, reserved_of_class={'gold': 1}), 'sqlite',
        seconds=60),
    'tests.inprocess.engine.test_class_limits.TestHosts.'
    'test_no_more_at_once_of_a_class_and_of_others_as_before')
def class_limits_unseen() -> None:
    """How many hosts of a class a project may have, nobody looks at."""
    whole = configured.of

    def broken(*arguments: Any, **more: Any) -> limits.Limits:
        return dataclasses.replace(whole(*arguments, **more),
                                   max_hosts_per_class={}, max_per_class={})
    configured.of = broken


@mutations.planted(
    'too much for a project', _AT_ONCE,
    'tests.inprocess.db.test_limits_behind_lock.TestPostgreSQL.'
    'test_second_lease_is_refused',
    'tests.inprocess.db.test_limits_behind_lock.TestPostgreSQL.'
    'test_second_reservation_is_refused')
def limits_before_lock() -> None:
    """A limit is looked at before the lock that others wait for."""
    check = feature._Part.write
    lock_projects = db_claims.lock_projects

    def early(part: Any, connection: Any) -> None:
        check(part, connection)
        for kind, projects in ((limit_checks.KIND, {
                write.after.project_id for write, _ in part.writes}),
                (reservation_limits.RESERVATIONS, {
                    each.project_id for each in part.made})):
            lock_projects(connection, kind, projects, part.change.planned_at)
    change.db_claims = types.SimpleNamespace(  # type: ignore[assignment]
        lock_projects=lambda *arguments: None)
    feature._Part.write = early  # type: ignore[method-assign]


@mutations.planted(
    'too much for a project', _AT_ONCE,
    'tests.inprocess.engine.test_lease_limits.TestCount.'
    'test_two_at_once_do_not_exceed_the_number_of_leases')
def limits_raced() -> None:
    """Two requests of one project do not wait for each other."""
    assert feature.Limits.join and limit_checks.check_again
    feature.Limits.join = (  # type: ignore[method-assign]
        lambda *arguments: None)
    limit_checks.check_again = lambda *arguments: None


@mutations.planted(
    'lent for too long', mix.Best(mix.Mix(
        faults={}, lives={'lease': 1}, instances=0.0, all_hosts=1.0,
        lengths=(40, 90, 150), owned=0.6, owner_notice=90), 'sqlite',
        seconds=60),
    'tests.unit.planner.test_loans.TestLoans.test_what_was_promised_is_kept')
def loans_unlimited() -> None:
    """Others are promised nodes with an owner for any time."""
    assert loans.Loans.limit

    def broken(there: Any, demand: Any, *arguments: Any,
               **more: Any) -> Any:
        return demand
    loans.Loans.limit = broken  # type: ignore[method-assign]


@mutations.planted(
    'not told', mix.Best(mix.Mix(
        faults={}, lives={'lease': 1}, instances=0.0), 'sqlite', seconds=40),
    'tests.inprocess.notices.test_webhooks.TestLife.'
    'test_lease_deleted_before_its_start_has_ended')
def notices_dropped() -> None:
    """A notice is marked as sent, and never posted."""
    assert webhooks._post
    webhooks._post = lambda *arguments: None


@mutations.planted(
    'too much for a project', mix.Best(mix.Mix(
        faults={}, lives={'lease': 1}, acts={}, instances=0.0, all_hosts=1.0,
        queued=1.0, starts=(0, 3), of_class={'gold': 1, 'silver': 1}),
        'sqlite', seconds=90),
    'tests.inprocess.engine.test_waitlist.TestWaitlist.'
    'test_not_beyond_what_its_project_may_have')
def queue_unlimited() -> None:
    """One that waits is moved to where its project has too much already."""
    def unlimited(*arguments: Any) -> ceiling.Ceiling:
        return ceiling.Ceiling()
    assert pull.ceiling is ceiling
    pull.ceiling = types.SimpleNamespace(  # type: ignore[assignment]
        of_project=unlimited)
    # The limits are checked again in the transaction of the move.
    assert change.Cause.MOVED_EARLIER in feature.Limits.concerns
    feature.Limits.concerns -= {change.Cause.MOVED_EARLIER}
