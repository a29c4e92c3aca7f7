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

"""Fixes the dates of leases with open dates."""

from __future__ import annotations

from collections.abc import Iterable

from ironic_reservations.engine import change as change_module
from ironic_reservations.engine import Engine
from ironic_reservations.engine import feature
from ironic_reservations.engine.leases import ladder
from ironic_reservations.features.open_dates import fix
from ironic_reservations.features.open_dates import slides


class OpenDates(feature.Feature):
    """Leases with open dates."""

    concerns = (change_module.Cause.SLID,)

    def rungs(self, engine: Engine,
              asked: ladder.Asked) -> Iterable[ladder.Terms]:
        """Return other dates for leases whose dates are open."""
        others = slides.read_others(engine, asked)
        # If its own dates are open, not all starts have been tried.
        if others.leases or asked.is_open:
            yield ladder.Terms(others)

    def join(self, engine: Engine,
             change: change_module.Change) -> feature.Part | None:
        """Add the instants at which leases with other dates are fixed."""
        change.wrong_from(*slides.fixed_from(change))
        return None

    def dates(self, engine: Engine) -> Iterable[feature.DatesTask]:
        """Return the task that fixes dates."""
        return [(lambda _: fix.fix(engine), engine.conf.leases.fix_interval)]
