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


"""The guard does not look at what leases have."""

from __future__ import annotations

import dataclasses
from typing import Any

from ironic_reservations.lifecycle import admit
from ironic_reservations.model import host_view
from tests.processes import mix

BEST = mix.Best(mix.Mix(
    faults={}, lives={'lease': 1, 'intrude': 2, 'squat': 1},
    instances=0.0), 'sqlite')
FOUND_AS = 'proof refused'
KEPT_BY = (
    'tests.unit.lifecycle.test_admit.TestLeases.'
    'test_leased_node_wants_the_proof_of_its_lease',)


def apply() -> None:
    """Break this process."""
    right = admit.admit

    def wrong(claim: admit.Claim, view: host_view.HostView, *more: Any,
              **named: Any) -> admit.Verdict:
        return right(claim, dataclasses.replace(view, bookings=()), *more,
                     **named)
    admit.admit = wrong
