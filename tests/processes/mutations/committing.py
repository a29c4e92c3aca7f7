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

"""What a commit rests on, and what becomes of its answer."""

from __future__ import annotations

from collections.abc import Collection
import contextlib
import datetime
from typing import Any

import sqlalchemy as sa

from ironic_reservations.db import clock
from ironic_reservations.db import connection
from ironic_reservations.db import reservations
from ironic_reservations.db import tables
from ironic_reservations.engine import change
from ironic_reservations.engine.leases import create
from tests.processes import mix
from tests.processes import mutations
from tests.processes import statements

_ONE = r'nodes\.generation = (?:%\(\w+\)s|%s|\?)'
_PAIRS = (r'\(nodes\.uuid, nodes\.generation\) IN '
          r'\((?:VALUES )?(?:\([^()]*(?:\(\w+\)s[^()]*)*\)(?:, )?)+\)')


@mutations.planted(
    'promised twice', mix.Best(mix.Mix(
        faults={'hold_write': 1}, aims=('UPDATE nodes',), pause=(0.2, 0.8),
        lives={'reserve': 1, 'lease': 2}, instances=0.0,
        classes={'gold': 2, 'silver': 1})),
    'tests.inprocess.engine.test_interleavings.TestReserveAndDeploy.'
    'test_node_deployed_in_the_middle_is_skipped',
    'tests.inprocess.engine.test_interleavings.TestReserveAndDeploy.'
    'test_deploy_is_refused_where_the_reservation_committed_first')
def generation_ignored() -> None:
    """Writes do not ask whether the node still is at the generation read."""
    for pattern in (_ONE, _PAIRS):
        statements.change(rf'(?<=WHERE )(.*?)({pattern})',
                          r'\1(\2 OR 1 = 1)', 'UPDATE nodes')


@mutations.planted(
    'made twice', mix.Best(mix.Mix(
        faults={'swallow': 1, 'hold': 1}, aims=('INSERT INTO leases',),
        held='POST /v1/leases ', pause=(0.3, 1.0), lives={'lease': 1})),
    'tests.inprocess.engine.test_lease_keys.TestKeys.'
    'test_same_request_with_the_same_key_is_served_once')
def key_ignored() -> None:
    """A request for a lease that is sent again makes another lease."""
    assert create._key_of
    create._key_of = lambda ask: None


@mutations.planted(
    'untrue answer', mix.Best(mix.Mix(
        faults={'swallow': 1}, aims=('INSERT INTO reservations',),
        pause=(0.3, 1.0), lives={'reserve': 1})),
    'tests.inprocess.db.test_unanswered_commit.TestUnansweredCommit.'
    'test_nobody_says_that_nothing_was_done')
def lost_commit_denied() -> None:
    """A lost answer to COMMIT is taken for a COMMIT that was never done."""
    def commit(_: Any, transaction: Any) -> None:
        transaction.commit()
    assert connection._commit
    connection._commit = commit


@mutations.planted(
    'error', mix.Best(mix.Mix(
        faults={'cut': 1}, pause=(0.3, 1.0),
        lives={'reserve': 1, 'lease': 1})),
    'tests.inprocess.api.test_operations.TestDatabaseDown.'
    'test_every_request_is_a_503')
def lost_database_unnamed() -> None:
    """Who asks while the database is lost gets an error without a name."""
    assert connection.translated
    connection.translated = contextlib.nullcontext


# Less than what a host refuses to judge with.
@mutations.planted(
    'two owners', mix.Best(mix.Mix(
        faults={'kill': 1}, off=(4.0, -4.0), pause=(2.0, 6.0),
        lives={'reserve': 1, 'linger': 2})),
    'tests.inprocess.db.test_clock.TestDatabaseClock.'
    'test_database_clock_that_moves_is_logged_and_followed')
def own_clock() -> None:
    """Each process judges promises by its own wall clock."""
    clock.DatabaseClock.__call__ = (  # type: ignore[method-assign]
        lambda self: datetime.datetime.now(datetime.UTC))


@mutations.planted(
    'dates moved', mix.Best(mix.Mix(
        faults={'hold_write': 1}, aims=('UPDATE leases', 'UPDATE nodes'),
        pause=(0.2, 0.8), lives={'lease': 1}, instances=0.0, all_hosts=1.0,
        open_dates=0.7, fix_before=(0, 2), starts=(3, 10), ended=0.3,
        classes={'gold': 3})),
    'tests.inprocess.engine.test_change_stands_still.TestStandsStill.'
    'test_lease_that_has_begun_meanwhile_is_not_moved',
    'tests.inprocess.engine.test_change_stands_still.TestStandsStill.'
    'test_lease_that_is_fixed_meanwhile_keeps_its_dates')
def passed_dates_unseen() -> None:
    """What was planned is written, whatever date has passed since then."""
    assert change.Change.wrong_from
    change.Change.wrong_from = (  # type: ignore[method-assign]
        lambda *arguments: None)


@mutations.planted(
    'lost', mix.Best(mix.Mix(
        faults={'hold_write': 1}, pause=(0.1, 0.4), lives={'linger': 1},
        aims=('DELETE FROM reservations', 'UPDATE reservations'))),
    'tests.inprocess.reconciler.test_sweep.TestSweep.'
    'test_reservation_renewed_while_it_is_swept_stays')
def row_deleted_by_id() -> None:
    """Reservations that look void are deleted by the numbers of their rows."""
    assert reservations.delete_void

    def wrong(connection: sa.Connection, void: Collection[Any],
              now: object) -> int:
        return connection.execute(sa.delete(tables.reservations).where(
            tables.reservations.c.id.in_([row.id for row in void]))).rowcount
    reservations.delete_void = wrong
