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

"""Moves queued leases to earlier starts."""

from __future__ import annotations

from collections.abc import Iterable

from ironic_reservations.engine import Engine
from ironic_reservations.engine import feature
from ironic_reservations.engine.leases import ladder
from ironic_reservations.engine.leases import request_checks
from ironic_reservations.features.queue import long_queue
from ironic_reservations.features.queue import pull


class Queue(feature.Feature):
    """Leases that wait for an earlier start."""

    def rungs(self, engine: Engine,
              asked: ladder.Asked) -> Iterable[ladder.Terms]:
        """Return a later start for a lease that may wait."""
        if asked.may_wait:
            yield ladder.Terms(latest_end=request_checks.latest_end(
                asked.allowed, asked.now) or ladder.search_end(
                    max(asked.until, asked.now)))

    def dates(self, engine: Engine) -> Iterable[feature.DatesTask]:
        """Return the task that moves leases to earlier starts."""
        queue = long_queue.LongQueue()
        return [(lambda continues: pull.move_earlier(engine, continues, queue),
                 engine.conf.leases.queue_interval)]
