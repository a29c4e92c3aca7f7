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

"""Fix the dates of leases that left them open, before they start."""

from __future__ import annotations

import dataclasses
import datetime

from ironic_reservations.db import open_dates as db_open_dates
from ironic_reservations.engine import announce
from ironic_reservations.engine import Engine
from ironic_reservations.engine import notices
from ironic_reservations.engine import retry
from ironic_reservations.engine.leases import find as lease_find
from ironic_reservations.model import leases

#: How many leases are fixed in one pass.
_AT_ONCE = 100


def fix(engine: Engine) -> int:
    """Fix the leases that are due, and write the notices to their owners.

    :returns: how many were fixed.
    """
    now = engine.clock()
    with engine.database.snapshot() as connection:
        due = db_open_dates.read_to_fix(connection, now, _AT_ONCE)
    return sum(_fix(engine, lease, now) for lease in due)


def _fix(engine: Engine, lease: leases.Lease, now: datetime.datetime) -> bool:
    """Fix one lease; return ``False`` if others change it meanwhile."""
    assert lease.between is not None
    after = dataclasses.replace(
        lease, updated_at=now,
        between=dataclasses.replace(lease.between, fix_at=None))
    # NOTE: no notice for a lease that has started, or is over.
    told = (lease.status is leases.LeaseStatus.PENDING
            and now < lease.start)
    with retry.found_if_lost(lambda: lease_find.is_written(
            engine, lease, after)), engine.database.write() as connection:
        # NOTE: a lease that others change meanwhile is fixed in the next pass.
        generation = db_open_dates.fix(connection, lease, now)
        if not generation:
            return False
        after = dataclasses.replace(after, generation=generation)
        if told:
            notices.write(engine.conf, connection, notices.Kind.FIXED, after,
                          now)
    if told:
        engine.announcer.tell_lease(announce.LEASE_UPDATE, after,
                                    announce.FIXED)
    return True
