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

"""Fix the dates of leases with open dates, before they start."""

from __future__ import annotations

import dataclasses
import functools

from oslo_log import log

from ironic_reservations import errors
from ironic_reservations.engine import change
from ironic_reservations.engine import Engine
from ironic_reservations.engine.leases import find as lease_find
from ironic_reservations.engine.leases import request_checks
from ironic_reservations.features.open_dates import rows as db_open_dates

LOG = log.getLogger(__name__)

#: The maximum number of leases that one pass fixes.
_AT_ONCE = 100


def fix(engine: Engine) -> int:
    """Fix the leases that are due, and write the notices to their owners.

    :returns: the number of leases that were fixed.
    """
    with engine.database.read() as connection:
        due = db_open_dates.read_to_fix(connection, engine.clock(), _AT_ONCE)
    return sum(_fix(engine, lease_id) for lease_id in due)


def _fix(engine: Engine, lease_id: str) -> bool:
    """Fix one lease; return ``False`` if it is changed meanwhile."""
    try:
        return change.carry_out(
            engine, functools.partial(_plan, engine, lease_id))
    except (errors.Contention, errors.LeaseNotFound) as exc:
        LOG.debug('The dates of the lease %s are fixed by the next pass: %s',
                  lease_id, exc)
        return False


def _plan(engine: Engine, lease_id: str) -> change.Planned[bool]:
    """Plan a lease with the dates that it has now."""
    now = engine.clock()
    before = lease_find.get(engine, lease_id)
    between = before.between
    if between is None or between.fix_at is None or between.fix_at > now:
        return change.Planned(False)
    after = dataclasses.replace(
        before, updated_at=now,
        between=dataclasses.replace(between, fix_at=None))
    return change.Planned(True, change.Change(now, writes=[change.Write(
        before, after, change.Cause.FIXED,
        request_checks.due(after, now))], subject=lease_id))
