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

"""End a lease (``DELETE /v1/leases/{id}``)."""

from __future__ import annotations

import dataclasses

import sqlalchemy as sa

from ironic_reservations import errors
from ironic_reservations.db import connection as db_connection
from ironic_reservations.db import lease_work as db_lease_work
from ironic_reservations.engine import change
from ironic_reservations.engine import Engine
from ironic_reservations.engine.leases import find as lease_find
from ironic_reservations.model import leases


def end(engine: Engine, lease_id: str, project_id: str | None = None,
        permitted: lease_find.Found | None = None) -> None:
    """End a lease.

    A lease that has not started is deleted at once. If it has started, the
    reconciler first releases its nodes, and the records of its instances in
    Placement and Nova, and then deletes it.

    :param project_id: the project that must own it; ``None``: any.
    :param permitted: the lease, as it was when the caller was allowed to end
        it; if it has not changed, it is not read again.
    :raises LeaseNotFound: there is no such lease.
    :raises Contention: other requests changed the lease at each attempt.
    :raises OutcomeUnknown: the lease may or may not have been ended.
    """
    change.carry_out(engine, _Ending(engine, lease_id, project_id,
                                     permitted).plan)


@dataclasses.dataclass
class _Ending:
    """A request to end a lease, and its memory between attempts."""

    _engine: Engine
    _lease_id: str
    _project_id: str | None
    _permitted: lease_find.Found | None
    #: Whether servers may be offered resources of it.
    _offered: bool = False
    _tried: bool = False

    def plan(self) -> change.Planned[None]:
        """Plan the end of the lease."""
        # However old it is: the generations of the nodes and of the lease, and
        # the bookings, are compared in the transaction that writes.
        try:
            found = self._permitted or lease_find.get_with_nodes(
                self._engine, self._lease_id, self._project_id)
        except errors.LeaseNotFound:
            if self._tried:
                return change.Planned(None)
            raise
        self._permitted, lease = None, found.lease
        if lease.status is leases.LeaseStatus.DELETING:
            # Written again and again, it would outrun the reconciler, and its
            # owner could keep the nodes.
            return change.Planned(None)
        now = self._engine.clock()
        started = [row for row in lease.bookings if row.begun]
        offers = self._offers(lease)
        at_once = not started and not (offers and (
            self._offered or lease.start <= now))
        self._tried = True
        ending = change.Change(
            now, found.nodes.only({row.node_uuid for row in lease.bookings}),
            [change.Write(lease, None if at_once else dataclasses.replace(
                leases.ending(lease, now), updated_at=now,
                status=leases.LeaseStatus.DELETING),
                change.Cause.ENDED, now)], subject=lease.id)
        if at_once and offers:
            ending.first.append(self._check_not_offered)
            ending.wrong_from(lease.start)
        return change.Planned(None, ending)

    def _offers(self, lease: leases.Lease) -> bool:
        """Return whether servers get resources of the lease at its start."""
        engine = self._engine
        return (engine.placement is not None
                and lease.status is not leases.LeaseStatus.TERMINATED
                and (engine.nova is not None
                     or any(each.instances for each in lease.reservations)))

    def _check_not_offered(self, connection: sa.Connection) -> None:
        """Check that servers cannot get resources of the lease.

        The reconciler makes the resources available before it writes that the
        lease has started. The row of the lease stays locked until it is
        deleted.

        :raises Conflict: a worker has claimed the lease, so servers may get
            resources.
        """
        self._offered = db_lease_work.lock(connection, self._lease_id,
                                           self._engine.clock())
        if self._offered:
            raise db_connection.Conflict('the lease is being started')
