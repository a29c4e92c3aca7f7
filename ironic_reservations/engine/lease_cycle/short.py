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

"""Wake leases that are short of a node when one becomes free.

A node becomes free in many ways: another lease, a reservation or a
maintenance window ends, Ironic has cleaned the node, an operator opens it to
leases.  Each of these changes the snapshot, so snapshots are compared.
"""

from __future__ import annotations

from collections.abc import Sequence
import datetime

from ironic_reservations.db import lease_work as db_lease_work
from ironic_reservations.engine import Engine
from ironic_reservations.engine import snapshots
from ironic_reservations.model import instants
from ironic_reservations.planner import host_sets
from ironic_reservations.planner import host_states

#: A lease that is due so soon need not be woken.
_SOON = datetime.timedelta(seconds=1)


class ShortLeases:
    """Leases that have started without all of their nodes.

    Each lease is woken once for each change of a host that it could use, so
    that a lease with another obstacle is not tried again and again.

    :param engine: the engine of this process.
    """

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        # The last states of the hosts, and the hosts that may become free by
        # the time alone.
        self._states: Sequence[host_states.HostState | None] = ()
        self._held: frozenset[int] = frozenset()

    def wake(self) -> None:
        """Make leases due that could use a host that has changed.

        :raises Conflict: another transaction was quicker.
        """
        engine, now = self._engine, self._engine.clock()
        with engine.database.read() as connection:
            short = db_lease_work.read_short(connection, now, now + _SOON)
        if not short:
            # Old states would use much memory.
            self._states, self._held = (), frozenset()
            return
        snapshot = engine.snapshot(now, compared=False)
        free, held = self._changed_hosts(snapshot)
        woken = {each.lease_id for each in short
                 if free and _could_use(snapshot, each, free)}
        if woken:
            with engine.database.write() as connection:
                db_lease_work.make_due(connection, woken, now)
        # Assigned last, so that a failure above loses no change.
        self._states, self._held = snapshot.states, held

    def _changed_hosts(self, snapshot: snapshots.Snapshot
                       ) -> tuple[int, frozenset[int]]:
        """Return the changed hosts: the free ones, and the held ones."""
        before = self._states
        changed = [number for number in host_sets.members(snapshot.ready)
                   if number >= len(before) or number in self._held
                   or snapshot.states[number] is not before[number]]
        held = frozenset(
            number for number in changed
            if (here := snapshot.states[number]) is not None
            and _held(here, snapshot))
        return host_sets.mask(
            number for number in changed if number not in held), held


def _held(here: host_states.HostState, snapshot: snapshots.Snapshot) -> bool:
    """Return whether another promise holds a host that is ready."""
    return (here.busy
            or here.reservation is not None
            and here.reservation.live(snapshot.now)
            or any(each.has_node(snapshot.now)
                   for each in here.windows))


def _could_use(snapshot: snapshots.Snapshot, short: db_lease_work.Short,
               free: int) -> bool:
    """Return whether a lease could get its node, or another one."""
    own = snapshot.host_set.mask((short.node_uuid,))
    if own & free:
        return True
    wanted = next((
        wanted for number in host_sets.members(own)
        if (here := snapshot.states[number]) is not None
        for booking, wanted in here.promised if booking.uuid == short.uuid),
        None)
    if wanted is None:
        # The booking has just moved, or its node is no longer a host.
        return True
    instant = instants.instant(short.ends_at)
    return any(
        not any(not there.movable and there.start < instant
                for there in snapshot.timeline.rows[number])
        or snapshot.timeline.capacities[number] is not None
        for number in host_sets.members(
            free & snapshot.usable & snapshot.eligible(wanted)))
