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

"""The limits of projects, which features define."""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Collection
from collections.abc import Iterable
from collections.abc import Iterator
from collections.abc import Mapping
import dataclasses
import datetime

import sqlalchemy as sa

from ironic_reservations import errors
from ironic_reservations.engine import Engine
from ironic_reservations.engine import feature
from ironic_reservations.model import leases
from ironic_reservations.model import limits
from ironic_reservations.planner import allowance


class Ceiling:
    """The remaining limits of a project; this base class has no limits."""

    def beside(self, held: Iterable[allowance.Held]) -> Ceiling:
        """Return the same project with further bookings."""
        return self

    def of_class(self, resource_class: str) -> Ceiling:
        """Return the same project, limited only for hosts of one class."""
        return self

    def check_one_more(self) -> None:
        """Check that the project may have another lease.

        :raises LeaseLimit: the project has as many leases as it may have.
        """

    def check_request(self, request: leases.LeaseRequest) -> None:
        """Check the limits for the minimum numbers of a request.

        :raises LeaseLimit: they exceed a limit of the project.
        """

    def permits(self, request: leases.LeaseRequest) -> bool:
        """Return whether the limits allow the minimum numbers of a request."""
        return _is_allowed(self.check_request, request)

    def mosts_of(self, lease: leases.Lease, before: leases.Lease,
                 counts: Mapping[str, int]) -> dict[str, int]:
        """Return the largest allowed numbers of a changed lease.

        :param lease: the lease with its new terms.
        :param before: the lease as it was; the project must be read without
            it.
        :param counts: the minimum number for each of its reservations, by id.
        :returns: numbers by id; ``counts`` if these exceed a limit.
        """
        return {each.id: max(each.most, counts[each.id])
                for each in lease.reservations}

    def check_lease(self, lease: leases.Lease,
                    before: leases.Lease | None = None) -> None:
        """Check the limits for a lease, unless its amounts do not grow.

        The concurrent number and the hours are checked separately: a lease
        with other dates does not add hours, but the project may have other
        leases at the new time.

        :param before: the lease as it was; the project must be read without
            it. ``None``: its amounts count as if they grew.
        :raises LeaseLimit: the lease exceeds a limit of the project.
        """

    def permits_lease(self, lease: leases.Lease,
                      before: leases.Lease | None = None) -> bool:
        """Return whether the limits allow a lease; see :meth:`check_lease`."""
        return _is_allowed(self.check_lease, lease, before)

    def opens(self) -> Collection[int]:
        """Return the only instants from which it may have more than before.

        These are the ends of its bookings.
        """
        return ()

    def next_start(self,
                   request: leases.LeaseRequest) -> datetime.datetime | None:
        """Return a later start at which the limits may allow a request.

        :returns: ``None`` if a later start makes no difference.
        """
        return None

    def latest_end(self, lease: leases.Lease,
                   end: datetime.datetime) -> datetime.datetime:
        """Return the latest end that the limits allow, ``end`` at most.

        :param lease: the lease; the project must be read without it.
        """
        return end

    def alternatives(
            self, request: leases.LeaseRequest, begin: datetime.datetime
    ) -> Iterator[tuple[str, leases.LeaseRequest]]:
        """Yield similar requests within the limits, the best first.

        :returns: the kind of the offer (``shorter`` or ``fewer``), and the
            request.
        """
        return iter(())


def _is_allowed(check: Callable[..., None], *asked: object) -> bool:
    """Return whether a check of limits raises nothing."""
    try:
        check(*asked)
    except errors.LeaseLimit:
        return False
    return True


@dataclasses.dataclass(frozen=True)
class FullClasses:
    """The resource classes of which a project has reached the limit."""

    names: Collection[str] = ()

    def refusal(self) -> errors.ReservationLimit:
        """Return the error for a project that may reserve no other node."""
        raise NotImplementedError


def of_project(engine: Engine, allowed: limits.Limits, project_id: str | None,
               now: datetime.datetime, *without: str) -> Ceiling:
    """Return the remaining limits of a project.

    :param without: ids of leases to leave out.
    """
    if isinstance(allowed, limits.Unlimited):
        return Ceiling()
    if not allowed.counted:
        return read(engine, None, allowed, project_id, now)
    with engine.database.read() as connection:
        return read(engine, connection, allowed, project_id, now, *without)


def read(engine: Engine, connection: sa.Connection | None,
         allowed: limits.Limits, project_id: str | None,
         now: datetime.datetime, *without: str) -> Ceiling:
    """Read the remaining limits of a project.

    :param connection: ``None``: as if the project had no bookings.
    :param without: ids of leases to leave out.
    """
    return feature.first(
        each.ceiling(connection, allowed, project_id, now, without)
        for each in engine.hooks['ceiling']) or Ceiling()


def full_classes(engine: Engine, connection: sa.Connection,
                 allowed: limits.Limits, project_id: str | None,
                 now: datetime.datetime) -> FullClasses:
    """Read the resource classes of which a project has reached the limit."""
    return feature.first(
        each.full_classes(connection, allowed, project_id, now)
        for each in engine.hooks['full_classes']) or FullClasses()
