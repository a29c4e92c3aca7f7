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

"""Checks the limits of projects again, in the transactions of changes."""

from __future__ import annotations

from collections.abc import Collection
from collections.abc import Hashable
from collections.abc import Iterable
from collections.abc import Sequence
import dataclasses
import datetime
from typing import Any

import sqlalchemy as sa

from ironic_reservations.engine import ceiling as ceiling_module
from ironic_reservations.engine import change as change_module
from ironic_reservations.engine import Engine
from ironic_reservations.engine import feature
from ironic_reservations.features.limits import configured
from ironic_reservations.features.limits import limit_checks
from ironic_reservations.features.limits import reservation_limits
from ironic_reservations.model import leases
from ironic_reservations.model import limits
from ironic_reservations.model import mirrored_node
from ironic_reservations.model import node_reservation

_LeaseWrite = change_module.Write[leases.Lease]


@dataclasses.dataclass
class _Part(feature.Part):
    """The leases and reservations of one change that limits count."""

    writes: Sequence[tuple[_LeaseWrite, limits.Limits]]
    made: Sequence[node_reservation.Reservation]
    change: change_module.Change

    def write(self, connection: sa.Connection) -> None:
        """Check each of them.

        :raises Conflict: a lease would exceed a limit, since its project has
            got other bookings meanwhile.
        :raises ReservationLimit: a reservation exceeds one.
        """
        now = self.change.planned_at
        for write, allowed in self.writes:
            assert write.after is not None
            if write.cause is change_module.Cause.SLID:
                limit_checks.check_slid(allowed, connection, write.after,
                                        now)
            else:
                limit_checks.check_again(allowed, connection, write.after,
                                         now, write.before)
        for made in self.made:
            self._check_made(connection, made)

    def _check_made(self, connection: sa.Connection,
                    made: node_reservation.Reservation) -> None:
        allowed = self.change.given_of(limits.Limits)
        picked = self.change.given_of(mirrored_node.Node)
        full = self.change.given_of(reservation_limits.FullClasses)
        assert allowed is not None
        reservation_limits.check_made(
            allowed, connection, made,
            None if picked is None else picked.resource_class,
            () if full is None else full.names)


class Limits(feature.Feature):
    """The limits of projects on their leases and reservations."""

    #: Requests of callers with limits, and other changes with which a lease or
    #: a project can get more.
    concerns = frozenset(change_module.Cause) - {
        change_module.Cause.REQUESTED,
        change_module.Cause.ENDED, change_module.Cause.STEP,
        change_module.Cause.USED, change_module.Cause.SEEN_USED} | {
            limits.Limits}

    def is_on(self, engine: Engine) -> bool:
        """Return whether projects are limited."""
        return bool(engine.conf.leases.project_limits)

    def allowed(self, engine: Engine, group: str,
                projects: bool) -> limits.Limits:
        """Return the limits that the operator has configured."""
        return configured.of(engine.conf, group, projects)

    def ceiling(self, connection: sa.Connection | None, allowed: limits.Limits,
                project_id: str | None, now: datetime.datetime,
                without: Collection[str]) -> ceiling_module.Ceiling:
        """Read the holdings of a project."""
        return limit_checks.read(allowed, connection, project_id, now,
                                 *without)

    def full_classes(self, connection: sa.Connection, allowed: limits.Limits,
                     project_id: str | None, now: datetime.datetime
                     ) -> ceiling_module.FullClasses:
        """Count the reservations of a project by class."""
        return reservation_limits.FullClasses(
            names=reservation_limits.read_full(allowed, connection, project_id,
                                               now), allowed=allowed)

    def join(self, engine: Engine,
             change: change_module.Change) -> feature.Part | None:
        """Lock the projects whose bookings are counted, and check again."""
        counted = [
            (write, allowed) for write in change.of_leases
            if _counts(write)
            if (allowed := _allowed(engine, change, write)).counted]
        change.locks.update(
            (limit_checks.KIND, write.after.project_id)
            for write, _ in counted if write.after is not None)
        given = change.given_of(limits.Limits)
        made = [] if given is None or not given.counts_reservations else [
            write.after for write in change.of_reservations
            if write.before is None and write.after is not None]
        change.locks.update((reservation_limits.RESERVATIONS, each.project_id)
                            for each in made)
        return _Part(counted, made, change) if counted or made else None

    def routes(self, api: Any) -> Iterable[Any]:
        """Return the paths below ``/v1``."""
        from ironic_reservations.api.controllers import rest
        from ironic_reservations.features.limits import controller
        served = controller.LimitsController(api.engine, api.enforcer)
        return [rest.Route(('limits',), served, rest.single(served))]


def _counts(write: _LeaseWrite) -> bool:
    """Return whether a lease gets more of an amount that limits count."""
    before, after = write.before, write.after
    return (write.cause not in (change_module.Cause.ENDED,
                                change_module.Cause.STEP)
            and after is not None and (
                before is None or _counted(before) != _counted(after)))


def _counted(lease: leases.Lease) -> Hashable:
    """Return the properties of a lease on which its limits depend.

    Hosts that stay may count for other classes if the properties of the
    request change.
    """
    return lease.start, lease.end, tuple(
        (each.hypervisor_properties, each.resource_properties, each.bookings)
        for each in lease.reservations)


def _allowed(engine: Engine, change: change_module.Change,
             write: _LeaseWrite) -> limits.Limits:
    """Return the limits for a lease: those of the caller or of its project."""
    given = change.given_of(limits.Limits)
    if given is not None and write.cause is change_module.Cause.REQUESTED:
        return given
    assert write.after is not None
    return engine.limits['leases', write.after.project_id is not None]
