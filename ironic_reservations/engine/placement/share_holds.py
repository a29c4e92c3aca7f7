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


"""Holding shares of compute hosts in Placement: one for each instance.

As :mod:`~ironic_reservations.engine.placement.holds` holds nodes; many are
written at once, since a lease may have hundreds of instances.
"""

from __future__ import annotations

from collections.abc import Iterable
from collections.abc import Sequence

import sqlalchemy as sa

from ironic_reservations import errors
from ironic_reservations.clouds import placement
from ironic_reservations.db import connection as db_connection
from ironic_reservations.db import holds as db_holds
from ironic_reservations.engine import Engine
from ironic_reservations.engine import retry
from ironic_reservations.engine.placement import hold_calls
from ironic_reservations.engine.placement import hold_recovery
from ironic_reservations.engine.placement import holds as hold_cases
from ironic_reservations.lifecycle.placement import holds

#: From so many on, holds are written together.
_TOGETHER = 2


def hold(engine: Engine, promise: holds.Promise) -> hold_cases.Result:
    """Hold a share of a compute host, with one write.

    :param promise: what it is for; held for it already, nothing is written.
    :raises PlacementUnavailable: it was not written, or is not known to be;
        then it is taken back by itself.
    :raises DatabaseUnavailable: nothing could be read or written.
    """
    owner = promise.owner

    def live(there: Iterable[holds.Hold]) -> holds.Hold | None:
        return next((row for row in there if row.owner == owner
                     and row.state is not holds.HoldState.RELEASING), None)

    def held(row: holds.Hold) -> holds.Hold | None:
        if row.amounts == promise.amounts:
            return row
        # NOTE: it was written for another size, and nobody has begun.
        with engine.database.write() as connection:
            if db_holds.change(connection, row, engine.clock(),
                               state=holds.HoldState.RELEASING,
                               deadline=hold_calls.deadline(engine)) is None:
                raise db_connection.Conflict('the hold has changed')
            return _intend(engine, connection, promise)
    return hold_cases.keep(
        engine, promise.node_uuid, live, held,
        lambda connection: _intend(engine, connection, promise))


def hold_all(engine: Engine, promises: Sequence[holds.Promise]
             ) -> dict[str, hold_cases.Result]:
    """Hold shares of compute hosts, with one write where nothing is amiss.

    :returns: by owner.
    :raises PlacementUnavailable: some were not written, or are not known to
        be; what is not had in the end is taken back by itself.
    :raises DatabaseUnavailable: nothing could be read or written.
    """
    def attempt() -> list[holds.Hold]:
        with engine.database.read() as connection:
            there = {(row.owner, row.node_uuid) for row
                     in db_holds.read_of_owners(
                         connection, [each.owner for each in promises])
                     if row.state is not holds.HoldState.RELEASING}
        new = [each for each in promises
               if (each.owner, each.node_uuid) not in there]
        if len(new) < _TOGETHER:
            return []
        with engine.database.write() as connection:
            return [_intend(engine, connection, each) for each in new]
    results = _carry_out_all(engine, retry.until_committed(attempt))
    for promise in promises:
        if promise.owner not in results:
            results[promise.owner] = hold(engine, promise)
    return results


def _carry_out_all(engine: Engine, intended: Sequence[holds.Hold]
                   ) -> dict[str, hold_cases.Result]:
    """Write new holds, together or else one by one."""
    if not intended:
        return {}
    answer = hold_calls.put_all(engine, intended)
    results: dict[str, hold_cases.Result] = {}
    if answer.done:
        results = {
            held.owner: hold_cases.Result(hold_cases.Verdict.HELD, held)
            for held in hold_recovery.reactivate_all(engine, intended)}
        return {one.owner: (results.get(one.owner)
                            or hold_cases.confirm(engine, one))
                for one in intended}
    for number, one in enumerate(intended):
        try:
            results[one.owner] = hold_cases.carry_out(engine, one)
        except errors.PlacementUnavailable:
            if answer.outcome is not placement.Outcome.UNCERTAIN:
                # NOTE: of these nothing has been written.
                hold_recovery.forget_all(engine, intended[number + 1:])
            raise
    return results


def _intend(engine: Engine, connection: sa.Connection,
                  promise: holds.Promise) -> holds.Hold:
    return hold_cases.intend(
        engine, connection, promise.node_uuid, None, promise.owner,
        promise.project_id, promise.user_id, amounts=promise.amounts)
