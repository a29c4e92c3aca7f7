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

"""Asks the enforcement service about changes, and reports them."""

from __future__ import annotations

from collections.abc import Hashable
from collections.abc import Iterable
import dataclasses
from typing import Any

import sqlalchemy as sa

from ironic_reservations.engine import change as change_module
from ironic_reservations.engine import Engine
from ironic_reservations.engine import feature
from ironic_reservations.features.enforcement import client as enforcement
from ironic_reservations.features.enforcement import enforced
from ironic_reservations.features.enforcement import enforcement_commits
from ironic_reservations.model import leases
from ironic_reservations.reconciler import claim
from ironic_reservations.reconciler import loop

#: Seconds between two passes for leases that were not reported.
_CATCH_UP = 60


@dataclasses.dataclass
class _Part(feature.Part):
    """The reports of one change."""

    engine: Engine
    change: change_module.Change

    def write(self, connection: sa.Connection) -> None:
        """Write the reports of leases whose terms have changed."""
        enforcement_commits.write(self.engine.conf, connection, {
            lease.id for write in self.change.of_leases
            if (lease := write.after or write.before) is not None},
            self.change.planned_at)

    def committed(self) -> None:
        """Report the end of leases that need no reconciler to end."""
        for write in self.change.of_leases:
            if change_module.is_over_at_once(write):
                enforced.on_end(self.engine,
                                change_module.ended(self.change, write))


class Enforcement(feature.Feature):
    """The enforcement service of the operator."""

    concerns = (leases.Lease,)

    def is_on(self, engine: Engine) -> bool:
        """Return whether the service is asked, or receives reports."""
        return (engine.conf.leases.enforcement_url is not None
                or enforcement_commits.wanted(engine.conf))

    def before(self, engine: Engine, change: change_module.Change,
               memory: feature.Memory) -> None:
        """Ask the service, once for the same terms of a request.

        :raises LeaseNotPermitted: the service refuses them.
        """
        for write in change.of_leases:
            before, after = write.before, write.after
            if before is not None and change_module.is_over(write):
                # Before the commit, so that it is not lost if the process
                # dies.
                if 'over' not in memory:
                    memory['over'] = True
                    enforced.on_end(engine, before)
                continue
            if (write.cause is not change_module.Cause.REQUESTED
                    or after is None or _is_renamed(before, after)):
                continue
            # A later attempt may have another start or other numbers.
            terms: Hashable = ('enforcement', after.id,
                               enforcement.terms(after))
            if terms in memory:
                continue
            enforced.check(engine, before, after)
            memory[terms] = True

    def join(self, engine: Engine,
             change: change_module.Change) -> feature.Part | None:
        """Return the reports of a change."""
        return _Part(engine, change) if change.of_leases else None

    def loops(self, engine: Engine) -> Iterable[Any]:
        """Return the loops that report leases."""
        if not enforcement_commits.wanted(engine.conf):
            return []
        return [
            loop.Loop('enforcement', (loop.Task(
                lambda continues: enforcement_commits.deliver(
                    engine, continues)),)),
            loop.Loop('enforcement-terms', (
                loop.Task(lambda continues: enforcement_commits.catch_up(
                    engine, continues), _CATCH_UP, again=False),
            ), claim.Claim(engine, 'enforcement',
                           engine.conf.notices.claim_ttl))]


def _is_renamed(before: leases.Lease | None, after: leases.Lease) -> bool:
    """Return whether only the name of a lease is changed."""
    return before is not None and dataclasses.replace(
        before, name=after.name, updated_at=after.updated_at) == after
