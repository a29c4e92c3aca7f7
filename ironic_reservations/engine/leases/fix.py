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

"""Leases whose dates were open are fixed before they start."""

from __future__ import annotations

import dataclasses

from ironic_reservations.db import open_dates as db_open_dates
from ironic_reservations.engine import announce
from ironic_reservations.engine import Engine
from ironic_reservations.engine import notices
from ironic_reservations.model import leases

#: So many leases are fixed in one pass.
_AT_ONCE = 100


def fix(engine: Engine) -> int:
    """Fix the leases for which it is time, and tell of it before they start.

    :returns: how many were fixed.
    """
    now = engine.clock()
    with engine.database.snapshot() as connection:
        due = db_open_dates.read_to_fix(connection, now, _AT_ONCE)
    fixed = 0
    for lease in due:
        assert lease.between is not None
        after = dataclasses.replace(
            lease, updated_at=now, generation=lease.generation + 1,
            between=dataclasses.replace(lease.between, fix_at=None))
        # NOTE: of one that has started, or is over, there is nothing to tell.
        told = (lease.status is leases.LeaseStatus.PENDING
                and now < lease.start)
        # NOTE: one that others change meanwhile is looked at once more.
        with engine.database.write() as connection:
            done = db_open_dates.fix(connection, lease, now)
            if done and told:
                notices.write(engine.conf, connection, notices.Kind.FIXED,
                              after, now)
        fixed += done
        if done and told:
            engine.announcer.tell_lease(announce.LEASE_UPDATE, after,
                                        announce.FIXED)
    return fixed
