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

"""Metrics of the outbox."""

from __future__ import annotations

from prometheus_client import core

from ironic_reservations.api import gauges
from ironic_reservations.db import outbox as db_outbox
from ironic_reservations.model import notices


class Outbox(gauges.Gauges):
    """Gauges of the outbox."""

    defined = (
        ('notices_waiting',
         'Notices that have not been sent, by channel.', ('channel',)),
        ('notices_oldest_seconds',
         'Time for which the oldest of them has waited, by channel.',
         ('channel',)),
        ('notices_given_up',
         'Notices that were given up, of those kept, by channel.',
         ('channel',)))

    def read(self, families: list[core.GaugeMetricFamily]) -> None:
        """Add the values."""
        waiting, oldest, given_up = families
        now = self._engine.clock()
        with self._engine.database.read() as connection:
            unsent = db_outbox.count_waiting(connection)
            dropped = db_outbox.count_given_up(connection)
        for channel in notices.Channel:
            there = unsent.get(channel, db_outbox.Waiting(0, None))
            waiting.add_metric((channel.value,), there.count)
            oldest.add_metric((channel.value,), 0 if there.since is None
                              else (now - there.since).total_seconds())
            given_up.add_metric((channel.value,), dropped.get(channel, 0))
