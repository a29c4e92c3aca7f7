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

"""The loops that report leases to the enforcement service."""

from __future__ import annotations

from ironic_reservations.engine import Engine
from ironic_reservations.features.enforcement import enforcement_commits
from ironic_reservations.reconciler import claim
from ironic_reservations.reconciler import loop

#: Seconds between two passes for leases that were not reported.
_CATCH_UP = 60


def reports(engine: Engine) -> list[loop.Loop]:
    """Return the loops that report leases to the enforcement service."""
    return [
        loop.Loop('enforcement', (loop.Task(
            lambda continues: enforcement_commits.deliver(
                engine, continues)),)),
        loop.Loop('enforcement-terms', (
            loop.Task(lambda continues: enforcement_commits.catch_up(
                engine, continues), _CATCH_UP, again=False),
        ), claim.Claim(engine, 'enforcement',
                       engine.conf.notices.claim_ttl))]
