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

"""Writes notices to the owners of leases, with the changes."""

from __future__ import annotations

import collections
from collections.abc import Iterable
import dataclasses
import datetime
from typing import Any

import sqlalchemy as sa

from ironic_reservations.db import leases as db_leases
from ironic_reservations.db import outbox as db_outbox
from ironic_reservations.engine import change as change_module
from ironic_reservations.engine import Engine
from ironic_reservations.engine import feature
from ironic_reservations.features.notices import loops
from ironic_reservations.features.notices import writing as notices
from ironic_reservations.model import leases


@dataclasses.dataclass
class _Part(feature.Part):
    """The notices of one change."""

    engine: Engine
    change: change_module.Change

    def write(self, connection: sa.Connection) -> None:
        """Write a notice for each lease whose change its owner has to know."""
        conf, change = self.engine.conf, self.change
        for write in change.of_leases:
            self._write_notices(connection, write)
        lost = {row.reservation_id for row in change.lost}
        for lease in (db_leases.read_of_reservations(connection, lost)
                      if lost else ()):
            notices.write(
                conf, connection, notices.Kind.BROKEN, lease,
                change.planned_at,
                'A node that was promised to the lease is used by somebody '
                'else, as the operator allows.')
        self._leave_out_frequent(connection)
        for event in change.events:
            if isinstance(event, change_module.Concern):
                notices.write(conf, connection, notices.Kind(event.word),
                              event.lease, change.planned_at, event.text,
                              event.occurrence or change.occurrence,
                              **event.details)

    def _leave_out_frequent(self, connection: sa.Connection) -> None:
        """Drop the concerns of leases that had too many in a day."""
        change = self.change
        limited = [event for event in change.events
                   if isinstance(event, change_module.Concern)
                   and event.most_a_day is not None]
        written = {word: collections.Counter(db_outbox.count_written(
            connection, notices.Kind(word), {
                event.lease.id for event in limited if event.word == word},
            change.planned_at - datetime.timedelta(days=1)))
            for word in {event.word for event in limited}}
        frequent = set()
        for event in limited:
            written[event.word][event.lease.id] += 1
            if written[event.word][event.lease.id] > (event.most_a_day or 0):
                frequent.add(id(event))
        change.events = [each for each in change.events
                         if id(each) not in frequent]

    def _write_notices(self, connection: sa.Connection,
                       write: change_module.Write[leases.Lease]) -> None:
        """Write the notices of the change of one lease."""
        conf, change = self.engine.conf, self.change
        lease = write.after or write.before
        assert lease is not None
        for kind, happened in (
                (notices.Kind.MOVED_EARLIER,
                 write.cause is change_module.Cause.MOVED_EARLIER),
                (notices.Kind.FIXED,
                 change_module.is_fixed_ahead(change, write)),
                (notices.Kind.BEFORE_END, not lease.status.over
                 and change_module.is_done(
                     write, leases.EventType.BEFORE_END)),
                (notices.Kind.STARTED, change_module.is_done(
                    write, leases.EventType.START)),
                (notices.Kind.BROKEN, change_module.is_broken(write)),
                (notices.Kind.ENDED, change_module.is_over(write))):
            if happened:
                notices.write(
                    conf, connection, kind, lease, change.planned_at,
                    write.reason if kind is notices.Kind.BROKEN else None,
                    occurrence=change.occurrence)
        if change_module.is_over_at_once(write):
            notices.write(conf, connection, notices.Kind.ENDED,
                          change_module.ended(change, write),
                          change.planned_at)


class Notices(feature.Feature):
    """Notices to webhooks and by mail."""

    def is_on(self, engine: Engine) -> bool:
        """Return whether there are receivers, or metrics of the outbox."""
        # The outbox also has the reports to the enforcement service.
        return (notices.wanted(engine.conf)
                or engine.conf.leases.enforcement_commit_url is not None)

    def gauges(self, engine: Engine) -> Iterable[Any]:
        """Return the metrics of the feature."""
        from ironic_reservations.features.notices import metrics
        return [metrics.Outbox(engine)]

    def join(self, engine: Engine,
             change: change_module.Change) -> feature.Part | None:
        """Return the notices of a change."""
        return _Part(engine, change) if notices.wanted(engine.conf) else None

    def loops(self, engine: Engine) -> Iterable[Any]:
        """Return the loops that write notices, and send them."""
        options = engine.conf.notices
        return [
            *([loops.soon(engine)] if notices.wanted(engine.conf) else []),
            *([] if options.mail_host is None else [loops.mail(engine)]),
            *(loops.webhook(engine, number, url) for number, url in
              enumerate(dict.fromkeys(options.webhook_urls), 1))]
