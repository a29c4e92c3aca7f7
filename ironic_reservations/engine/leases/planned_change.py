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

"""The change of the timeline that gives a lease other terms."""

from __future__ import annotations

import datetime

from ironic_reservations.engine import change
from ironic_reservations.engine.leases import dates as lease_dates
from ironic_reservations.engine.leases import replan as lease_replan
from ironic_reservations.engine.leases import request_checks
from ironic_reservations.model import leases


def of(before: leases.Lease, after: leases.Lease,
       replanned: lease_replan.Replanned | None, now: datetime.datetime,
       cause: change.Cause = change.Cause.REQUESTED) -> change.Change:
    """Return the change of a lease, with all that makes room for it.

    :param before: the lease as it was read.
    :param after: the lease with its new terms and its new bookings.
    :param replanned: the plan of these; ``None``: all bookings stay.
    :param now: when that was planned.
    """
    planned = change.Change(now, writes=[change.Write(
        before, after, cause, request_checks.due(after, now))],
        subject=before.id)
    planned.wrong_from(*lease_dates.passed_from(before, after, now))
    if after.start != before.start:
        planned.wrong_from(*lease_dates.begun_from(after, now))
    if replanned is not None:
        planned.difference = replanned.difference
        planned.snapshot = replanned.snapshot
        planned.writes = [*planned.writes, *replanned.slid]
    return planned
