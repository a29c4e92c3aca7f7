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


"""Others are promised nodes with an owner for any time."""

from __future__ import annotations

from typing import Any

from ironic_reservations.planner import loans
from tests.processes import mix

BEST = mix.Best(mix.Mix(
    faults={}, lives={'lease': 1}, instances=0.0, all_hosts=1.0,
    lengths=(40, 90, 150), owned=0.6, owner_notice=90), 'sqlite', seconds=60)
FOUND_AS = 'lent for too long'
KEPT_BY = (
    'tests.unit.planner.test_loans.TestLoans.test_what_was_promised_is_kept',)


def apply() -> None:
    """Break this process."""
    assert loans.Loans.limit

    def broken(there: Any, demand: Any, *arguments: Any,
               **more: Any) -> Any:
        return demand
    loans.Loans.limit = broken  # type: ignore[method-assign]
