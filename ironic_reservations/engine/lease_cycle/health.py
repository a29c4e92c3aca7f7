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

"""Check whether leases still have the nodes that they were promised.

A node that breaks before the start of a lease is replaced.  After the start,
the lease is flagged until the node is back, or its owner requests another one.
"""

from __future__ import annotations

from collections.abc import Iterable
from collections.abc import Mapping
from collections.abc import Sequence
import dataclasses
import datetime

from oslo_log import log

from ironic_reservations import errors
from ironic_reservations.db import lease_work as db_lease_work
from ironic_reservations.db import leases as db_leases
from ironic_reservations.engine import change
from ironic_reservations.engine import Engine
from ironic_reservations.engine import snapshots
from ironic_reservations.engine.lease_cycle import context as lease_context
from ironic_reservations.engine.leases import heal as lease_heal
from ironic_reservations.lifecycle import lease_cycle
from ironic_reservations.model import leases
from ironic_reservations.model import requirements
from ironic_reservations.planner import host_states

LOG = log.getLogger(__name__)


def check(engine: Engine) -> None:
    """Replace nodes of leases that have not started, and flag the others.

    :raises Conflict: another transaction was quicker.
    """
    try:
        lease_heal.heal(engine)
    except errors.Contention as exc:
        LOG.info('The next pass searches for other nodes again: %s', exc)
    now = engine.clock()
    snapshot = engine.snapshot(now)
    missing = _missing(snapshot)
    _wake_without_lessee(engine, snapshot.states, now)
    with engine.database.read() as connection:
        flags = db_lease_work.read_flags(connection, missing.keys())
    degraded = {each.lease_id for key, each in flags.items()
                if key in missing}
    wrong = {each.lease_id for key, each in flags.items()
             if each.missing != (key in missing)
             or each.degraded != (each.lease_id in degraded)}
    if not wrong:
        return
    with engine.database.snapshot() as connection:
        found = db_leases.read(connection, wrong)
    # The snapshot is taken again after the leases have been read, since the
    # owner of a lease may just have got other nodes.
    missing = _missing(engine.snapshot(engine.clock()))
    for lease in found:
        if not lease.status.over:
            _flag(engine, lease, missing)


def reasons(engine: Engine, found: Iterable[leases.Lease]
            ) -> dict[str, str]:
    """Return the reasons why leases are degraded, one sentence for each.

    The reason is not stored with the flag, since it may change while the flag
    stays.

    :returns: sentences by the id of the lease, without the leases that are
        over, and those whose flag is about to be removed.
    """
    flagged = [lease for lease in found
               if lease.degraded and not lease.status.over]
    if not flagged:
        return {}
    missing = _missing(engine.snapshot(engine.clock()))
    sentences = {}
    for lease in flagged:
        why = lease_context.sentence(list(dict.fromkeys(
            reason for each in lease.reservations
            for reason in missing.get(each.id, ()))))
        if why is not None:
            sentences[lease.id] = why
    return sentences


def _missing(snapshot: snapshots.Snapshot) -> dict[str, list[str]]:
    """Return the faults of lease reservations, in words, by their ids."""
    missing: dict[str, list[str]] = {}
    for booking, wanted in (*snapshot.displaced(), *snapshot.lacking()):
        missing.setdefault(booking.reservation_id, []).append(
            _why(snapshot, booking, wanted))
    return missing


def _why(snapshot: snapshots.Snapshot, booking: leases.NodeBooking,
         wanted: requirements.Requirement) -> str:
    """Return the fault of the host of a booking, if any."""
    number = snapshot.number_of(booking)
    here = snapshot.host_state(number)
    sentences = lease_cycle.has(here.host.node, snapshot.suits(number, wanted))
    if sentences is None and not booking.begun:
        sentences = here.unfit
    if sentences is None:
        sentences = here.interruption(booking, snapshot.now)
    return lease_context.about(
        here.host.node, booking.node_uuid,
        sentences or 'has too little room for all that is promised on it')


def _wake_without_lessee(engine: Engine,
                         host_states: Iterable[host_states.HostState | None],
                         now: datetime.datetime) -> None:
    """Make leases due whose nodes have another lessee in Ironic."""
    lacking = {here.host.node.uuid for here in host_states if here is not None
               and any(lease_cycle.lacks_lessee(booking, here.host.node)
                       for booking, _ in here.promised)}
    if lacking:
        with engine.database.write() as connection:
            db_lease_work.wake(connection, lacking, now)


def _flag(engine: Engine, before: leases.Lease,
          missing: Mapping[str, Sequence[str]]) -> None:
    """Write flags, unless another request is changing the lease."""
    now = engine.clock()
    degraded = any(each.id in missing for each in before.reservations)
    reservations = tuple(
        each if each.missing_resources == (each.id in missing)
        else dataclasses.replace(each, missing_resources=each.id in missing,
                                 updated_at=now)
        for each in before.reservations)
    if (degraded, reservations) == (before.degraded, before.reservations):
        return
    lacks = [missing[each.id][0] for each in before.reservations
             if each.id in missing]
    # The lease becomes due, so that a worker repairs it.
    if not change.carry_out_once(engine, change.Change(now, writes=[
            change.Write(before, dataclasses.replace(
                before, degraded=degraded, updated_at=now,
                reservations=reservations), change.Cause.FLAGGED, now,
                lease_context.sentence(lacks))], subject=before.id)):
        # The next pass flags a lease that another request is changing.
        return
    if degraded:
        LOG.warning('The lease %s lacks nodes that it was promised: %s',
                    before.id, '; '.join(lacks))
    else:
        LOG.info('The lease %s has all of its nodes again', before.id)
