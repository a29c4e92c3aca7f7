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

"""A limit is looked at before the lock that others wait for."""

from __future__ import annotations

import types
from typing import Any

from ironic_reservations.db import claims as db_claims
from ironic_reservations.engine import change
from ironic_reservations.features.limits import feature
from ironic_reservations.features.limits import limit_checks
from ironic_reservations.features.limits import reservation_limits
from tests.processes import mix

BEST = mix.Best(mix.Mix(
    faults={'hold_write': 1}, aims=('INTO leases', 'UPDATE nodes'),
    pause=(0.2, 0.8), lives={'lease': 1}, instances=0.0, all_hosts=1.0,
    lengths=(10,), leisure=(0.05, 0.3), of_class={'gold': 1, 'silver': 1}))
FOUND_AS = 'too much for a project'
KEPT_BY = (
    'tests.inprocess.db.test_limits_behind_lock.TestPostgreSQL.'
    'test_second_lease_is_refused',
    'tests.inprocess.db.test_limits_behind_lock.TestPostgreSQL.'
    'test_second_reservation_is_refused')


def apply() -> None:
    """Break this process."""
    check = feature._Part.write
    queue_up = db_claims.queue_up

    def early(part: Any, connection: Any) -> None:
        check(part, connection)
        for kind, projects in ((limit_checks.KIND, {
                write.after.project_id for write, _ in part.writes}),
                (reservation_limits.RESERVATIONS, {
                    each.project_id for each in part.made})):
            queue_up(connection, kind, projects, part.change.planned_at)
    change.db_claims = types.SimpleNamespace(  # type: ignore[assignment]
        queue_up=lambda *arguments: None)
    feature._Part.write = early  # type: ignore[method-assign]
