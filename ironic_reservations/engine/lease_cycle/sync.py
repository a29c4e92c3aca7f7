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

"""Work on one lease, from its claim to the release of the claim.

The next step follows from the rows and the clock.  Each step reads the actual
state before it acts, so it does not matter how far an earlier worker came
before it crashed.
"""

from __future__ import annotations

from collections.abc import Callable
import datetime
import logging
import random

from oslo_log import log

from ironic_reservations import errors
from ironic_reservations.clouds import ironic as ironic_client
from ironic_reservations.db import connection as db_connection
from ironic_reservations.db import lease_work as db_lease_work
from ironic_reservations.db import nodes as db_nodes
from ironic_reservations.engine import Engine
from ironic_reservations.engine import mirror
from ironic_reservations.engine.lease_cycle import context as lease_context
from ironic_reservations.engine.lease_cycle import end as lease_end
from ironic_reservations.engine.lease_cycle import start as lease_start
from ironic_reservations.lifecycle import lease_cycle
from ironic_reservations.model import leases
from ironic_reservations.model import proofs

LOG = log.getLogger(__name__)

#: More steps than a lease has from its start to its end.
_ROUNDS = 12


def _keep_lessee(context: lease_context.Context,
                 lease: leases.Lease) -> lease_context.Outcome:
    """Write the lessee again on the nodes that have lost it.

    The end of the lease still restores the lessee from before its start.

    :raises Conflict: another process has changed the lease meanwhile.
    :raises Lost: another worker has the lease.
    """
    given = {booking.node_uuid: booking for booking in lease.bookings
             if lease_cycle.gives_lessee(booking)}
    if lease.status is not leases.LeaseStatus.ACTIVE or not given:
        return lease_context.Outcome()
    with context.engine.database.read() as connection:
        known = db_nodes.read_nodes(connection, given, with_traits=False)
    waits = []
    for booking in context.in_turn([
            given[uuid] for uuid, node in sorted(known.items())
            if lease_cycle.lacks_lessee(given[uuid], node)]):
        try:
            _write_lessee(context, booking)
        except (ironic_client.Refused, errors.IronicUnavailable) as exc:
            # A dead conductor must not delay the nodes of other ones.
            waits.append(lease_context.about(
                known[booking.node_uuid], booking.node_uuid,
                f'has lost its lessee: {exc}'))
            if context.seems_down:
                break
    return lease_context.Outcome(waits=tuple(waits), polled=bool(waits))


def _write_lessee(context: lease_context.Context,
                  booking: leases.NodeBooking) -> None:
    """Write the lessee if Ironic shows another."""
    node = context.node(booking.node_uuid)
    if node is not None and lease_cycle.lacks_lessee(booking, node):
        context.write_lessee(booking, booking.lessee)
        LOG.warning('Node %s had the lessee %s in the middle of the lease '
                    '%s; it is %s again', booking.node_uuid, node.lessee,
                    context.lease_id, booking.lessee)
    # An old mirror would cause the same step again.
    mirror.refresh_node(context.engine, booking.node_uuid)


_STEPS: dict[lease_cycle.Step, Callable[
    [lease_context.Context, leases.Lease], lease_context.Outcome]] = {
        lease_cycle.Step.START: lease_start.start,
        lease_cycle.Step.BEFORE_END: lease_end.notify_before_end,
        lease_cycle.Step.CLOSE: lease_end.close,
        lease_cycle.Step.TAKE_BACK: lease_end.reclaim,
        lease_cycle.Step.FINISH: lease_end.finish,
        lease_cycle.Step.KEEP: _keep_lessee}


def sync(engine: Engine, claim: db_lease_work.Claim,
         holds: Callable[[], bool],
         lease: leases.Lease | None = None) -> None:
    """Take all steps of a lease that are due, and release its claim.

    :param holds: returns whether this worker still has the claim.
    :param lease: the lease as it was read with its claim.
    :raises DatabaseUnavailable: the claim stays until its owner releases it,
        or until it ends.
    """
    context = lease_context.Context(engine, claim.id, claim.due_at,
                                    holds, claim.token, claim.attempts)
    outcome = lease_context.Outcome()
    attempts = claim.attempts
    for _ in range(_ROUNDS):
        lease = lease or context.read()
        if lease is None:
            return
        try:
            outcome = _round(context, lease)
        except lease_context.Lost:
            LOG.info('The lease %s is worked on by another process',
                     claim.id)
            return
        except db_connection.Conflict as exc:
            LOG.debug('The lease %s is looked at again: %s', claim.id,
                      exc)
            lease = None
            continue
        if not outcome.changed:
            break
        attempts, lease = 0 if outcome.closer else attempts, outcome.lease
    lease = lease or context.read()
    if lease is not None:
        _release(context, claim, lease, outcome, attempts)


def _round(context: lease_context.Context,
           lease: leases.Lease) -> lease_context.Outcome:
    """Take steps until one changes the lease."""
    found = lease_context.Outcome()
    steps = [(each.value, _STEPS[each]) for each in (
        *lease_cycle.steps(lease, context.engine.clock()),
        lease_cycle.Step.KEEP)]
    for name, step in (*steps, *((type(each).__name__, each.watch)
                                 for each in context.engine.features)):
        try:
            outcome = step(context, lease) or lease_context.Outcome()
        except (db_connection.Conflict, errors.DatabaseUnavailable,
                lease_context.Lost):
            raise
        except (errors.ReservationError, ironic_client.Refused) as exc:
            outcome = lease_context.Outcome(waits=(str(exc),), polled=True)
        except Exception as exc:
            # A bug in one step must stop neither the other steps nor other
            # leases.
            LOG.exception('The step %s of the lease %s failed', name,
                          lease.id)
            outcome = lease_context.Outcome(waits=(
                f'the step {name} failed ({type(exc).__name__}); the log of '
                'the reconciler tells more',))
        found = outcome.after(found)
        if found.changed:
            break
    return found


def _release(context: lease_context.Context, claim: db_lease_work.Claim,
             lease: leases.Lease, outcome: lease_context.Outcome,
             attempts: int) -> None:
    engine, now = context.engine, context.engine.clock()
    due = lease_cycle.next_due(lease, now)
    text = lease_context.sentence(outcome.waits)
    if text is not None and outcome.unsure:
        text = lease_context.with_cause(text, lease.waiting)
    if text is not None:
        soon = now + datetime.timedelta(seconds=lease_cycle.backoff(
            attempts, _longest_pause(engine, now, outcome.polled),
            random.random()))
        due = min(time for time in (
            soon, outcome.until, lease_cycle.next_event(lease, now))
            if time is not None)
        LOG.log(logging.INFO if attempts == 0 else logging.DEBUG,
                'The lease %s waits: %s', lease.id,
                proofs.left_out(text, lease))
    with engine.database.write() as connection:
        db_lease_work.give_back(
            connection, claim, due, lease.generation, now, text,
            attempts + 1 if text is not None else 0)


def _longest_pause(engine: Engine, now: datetime.datetime,
                   polled: bool) -> float:
    """Return the longest pause before the next attempt, in seconds."""
    longest: float = engine.conf.leases.max_backoff
    if not polled:
        return longest
    with engine.database.read() as connection:
        waiting = db_lease_work.count_waiting(
            connection, now + datetime.timedelta(seconds=longest))
    return lease_cycle.longest_pause(waiting, longest)
