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

from collections.abc import Hashable
from collections.abc import Iterable
from collections.abc import Sequence
import dataclasses
import datetime
from typing import Any

import sqlalchemy as sa

from ironic_reservations.engine import change as change_module
from ironic_reservations.engine import Engine
from ironic_reservations.engine import feature
from ironic_reservations.features.limits import limit_checks
from ironic_reservations.features.limits import limits
from ironic_reservations.model import leases


@dataclasses.dataclass
class _Part(feature.Part):
    """The leases of one change that limits count."""

    writes: Sequence[tuple[change_module.Write, limits.Limits]]
    now: datetime.datetime

    def write(self, connection: sa.Connection) -> None:
        """Check each lease.

        :raises Conflict: one would exceed a limit, since its project has got
            something else meanwhile.
        """
        for write, allowed in self.writes:
            assert write.after is not None
            if write.cause is change_module.Cause.SLID:
                limit_checks.check_slid(allowed, connection, write.after,
                                        self.now)
            else:
                limit_checks.check_again(allowed, connection, write.after,
                                         self.now, write.before)


class Limits(feature.Feature):
    """The limits of projects on their leases."""

    def join(self, engine: Engine,
             change: change_module.Change) -> feature.Part | None:
        """Lock the projects whose leases are counted, and check them again."""
        counted = [
            (write, allowed) for write in change.writes if _counts(write)
            if (allowed := _allowed(engine, change, write)).counted]
        change.locks.update(
            (limit_checks.KIND, write.after.project_id)
            for write, _ in counted if write.after is not None)
        return _Part(counted, change.planned_at) if counted else None

    def routes(self, api: Any) -> Iterable[Any]:
        """Return the paths below ``/v1``."""
        from ironic_reservations.api.controllers import rest
        from ironic_reservations.features.limits import controller
        served = controller.LimitsController(api.engine, api.enforcer)
        return [rest.Route(('limits',), served, rest.single(served))]


def _counts(write: change_module.Write) -> bool:
    """Return whether a lease gets something that limits count."""
    before, after = write.before, write.after
    return (write.cause is not change_module.Cause.ENDED
            and after is not None and (
                before is None or _counted(before) != _counted(after)))


def _counted(lease: leases.Lease) -> Hashable:
    """Return what limits count of a lease.

    Hosts that stay may count for other classes when they are asked for by
    other properties.
    """
    return lease.start, lease.end, tuple(
        (each.hypervisor_properties, each.resource_properties, each.bookings)
        for each in lease.reservations)


def _allowed(engine: Engine, change: change_module.Change,
             write: change_module.Write) -> limits.Limits:
    """Return the limits for a lease: of the caller, or of its project."""
    given = change.given_of(limits.Limits)
    if given is not None and write.cause is change_module.Cause.REQUESTED:
        return given
    assert write.after is not None
    return limits.of(engine.conf, 'leases',
                     projects=write.after.project_id is not None)
