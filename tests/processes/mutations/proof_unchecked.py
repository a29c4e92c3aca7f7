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


"""Any proof opens any node, whoever shows it."""

from __future__ import annotations

import dataclasses
from typing import Any

from ironic_reservations.lifecycle import admit
from ironic_reservations.model import host_view
from tests.processes import mix

BEST = mix.Best(mix.Mix(
    faults={}, lives={'reserve': 1, 'lease': 1, 'intrude': 2},
    instances=0.0), 'sqlite')
FOUND_AS = 'done to the node of another'
KEPT_BY = (
    'tests.unit.lifecycle.test_admit.TestDecisionTable.'
    'test_reserved_node_wants_its_own_proof',)


def apply() -> None:
    """Break this process."""
    right = admit.admit

    def wrong(claim: admit.Claim, view: host_view.HostView, *more: Any,
              **named: Any) -> admit.Verdict:
        if claim.proof is not None:
            opens = (view.row.uuid if view.row is not None else
                     view.lease and view.lease.reservation_id)
            claim = dataclasses.replace(claim, proof=opens or claim.proof)
        return right(claim, view, *more, **named)
    admit.admit = wrong
    admit.Bearer.may_show = (  # type: ignore[method-assign]
        lambda self, project_id: True)
