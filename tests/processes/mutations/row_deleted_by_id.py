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

"""Reservations that look void are deleted by the numbers of their rows."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

import sqlalchemy as sa

from ironic_reservations.db import reservations
from ironic_reservations.db import tables
from tests.processes import mix

BEST = mix.Best(mix.Mix(
    faults={'hold_write': 1}, pause=(0.1, 0.4), lives={'linger': 1},
    aims=('DELETE FROM reservations', 'UPDATE reservations')))
FOUND_AS = 'lost'
KEPT_BY = (
    'tests.inprocess.reconciler.test_sweep.TestSweep.'
    'test_reservation_renewed_while_it_is_swept_stays',)


def apply() -> None:
    """Break this process."""
    assert reservations.delete_void

    def wrong(connection: sa.Connection, void: Collection[Any],
              now: object) -> int:
        return connection.execute(sa.delete(tables.reservations).where(
            tables.reservations.c.id.in_([row.id for row in void]))).rowcount
    reservations.delete_void = wrong
