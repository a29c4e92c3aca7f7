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

"""Notifies the message bus of leases and reservations that have changed."""

from __future__ import annotations

from collections.abc import Iterator
import dataclasses

from ironic_reservations.db import lease_work as db_lease_work
from ironic_reservations.db import leases as db_leases
from ironic_reservations.engine import announce
from ironic_reservations.engine import change as change_module
from ironic_reservations.engine import Engine
from ironic_reservations.engine import feature
from ironic_reservations.features.announcements import notice_quota
from ironic_reservations.model import leases
from ironic_reservations.model import node_reservation

#: The causes that are also words of notifications.
_REASONS = (change_module.Cause.SLID, change_module.Cause.FIXED,
            change_module.Cause.MOVED_EARLIER)


@dataclasses.dataclass
class _Part(feature.Part):
    """The notifications of one change."""

    engine: Engine
    change: change_module.Change
    quota: notice_quota.NoticeQuota

    def committed(self) -> None:
        """Send one notification for each lease and reservation."""
        announcer = self.engine.announcer
        for write in self.change.of_leases:
            reason = _reason(write)
            if write.cause is change_module.Cause.STEP:
                continue
            if write.cause is change_module.Cause.ENDED:
                announcer.notify_lease(announce.LEASE_DELETE,
                                       change_module.ended(self.change, write))
            elif write.after is not None and (
                    write.cause is not change_module.Cause.FIXED
                    or change_module.is_fixed_ahead(self.change, write)):
                announcer.notify_lease(
                    announce.LEASE_CREATE if write.before is None
                    else announce.LEASE_UPDATE, write.after, reason)
        pairs = self.change.of_reservations
        # A new reservation may have the uuid of one that is over.
        for pair in (*pairs[1:], *pairs[:0 if self.change.undone else 1]):
            self._notify_of_reservation(pair)
        self._notify_of_lost()
        for event in self.change.events:
            if isinstance(event, change_module.Rehoused):
                self._tell_rehoused(event)
            elif (isinstance(event, change_module.Concern)
                  and self.quota.may_notify(
                      event.lease.id, event.word, event.most_a_day,
                      self.change.planned_at)):
                if event.notified is None:
                    announcer.notify_lease(announce.LEASE_UPDATE, event.lease,
                                           event.word)
                else:
                    announcer.notify_lease(*event.notified)

    def _notify_of_reservation(
            self, write: change_module.Write[node_reservation.Reservation]
            ) -> None:
        """Notify of a reservation that was made, changed or ended."""
        announcer = self.engine.announcer
        if write.cause in (change_module.Cause.USED,
                           change_module.Cause.SEEN_USED):
            return
        if write.after is None:
            assert write.before is not None
            announcer.notify(announce.DELETE, write.before, write.reason)
        else:
            announcer.notify(announce.CREATE if write.before is None
                             else announce.UPDATE, write.after, write.reason)

    def _notify_of_lost(self) -> None:
        """Notify of leases that have lost a node and get no other one."""
        lost = {row.reservation_id for row in self.change.lost}
        if lost:
            with self.engine.database.read() as connection:
                degraded = db_leases.read_of_reservations(connection, lost)
            for lease in degraded:
                self.engine.announcer.notify_lease(
                    announce.LEASE_UPDATE, lease, announce.DEGRADED)

    def _tell_rehoused(self, event: change_module.Rehoused) -> None:
        with self.engine.database.snapshot() as connection:
            flags = db_lease_work.read_flags(connection,
                                             event.reservation_ids)
            moved = db_leases.read(connection, {
                flags[each].lease_id
                for each in event.reservation_ids & flags.keys()})
        for lease in moved:
            self.engine.announcer.notify_lease(announce.LEASE_UPDATE, lease,
                                               announce.REPLACED)


def _shown(write: change_module.Write[leases.Lease],
           event: str) -> leases.Lease:
    """Return the lease in the form of a notification about a step."""
    before, after = write.before, write.after
    assert before is not None and after is not None
    kind = leases.EventType.BEFORE_END
    if event != announce.LEASE_EVENTS[kind] or not after.status.over:
        return after
    # The end is near, and the lease is not over yet, for its owner.
    done = {each.id: each for each in after.events if each.type is kind}
    return dataclasses.replace(before, events=tuple(
        done.get(each.id, each) for each in before.events))


def _of_step(write: change_module.Write[leases.Lease]
             ) -> Iterator[tuple[str, str | None]]:
    """Yield the names and reasons of the notifications of a step."""
    if write.cause is change_module.Cause.STEP:
        for kind, name in announce.LEASE_EVENTS.items():
            if change_module.is_done(write, kind):
                yield name, None
        if change_module.is_broken(write) and not change_module.is_done(
                write, leases.EventType.START):
            yield announce.LEASE_UPDATE, announce.DEGRADED


def _reason(write: change_module.Write[leases.Lease]) -> str | None:
    """Return the reason of a change that no request has made."""
    if write.cause is change_module.Cause.FLAGGED:
        return (announce.DEGRADED if write.after is not None
                and write.after.degraded else None)
    return write.cause.value if write.cause in _REASONS else None


class Announcements(feature.Feature):
    """Notifications on the message bus, and their records in the audit."""

    def __init__(self) -> None:
        self._quota = notice_quota.NoticeQuota()

    def is_on(self, engine: Engine) -> bool:
        """Return whether there is a message bus."""
        return engine.announcer.sends

    def before(self, engine: Engine, change: change_module.Change,
               memory: feature.Memory) -> None:
        """Notify of steps before they are committed, once.

        No step is lost if the process dies after the commit.
        """
        for write in change.of_leases:
            for event, reason in _of_step(write):
                key = 'announced', event, reason
                if key not in memory:
                    memory[key] = True
                    engine.announcer.notify_lease(event, _shown(write, event),
                                                  reason)

    def join(self, engine: Engine,
             change: change_module.Change) -> feature.Part | None:
        """Return the notifications of a change."""
        return _Part(engine, change, self._quota)


class Unrequested(Announcements):
    """Without a message bus, the records of changes that nobody requested.

    The API and the guard record the requests.
    """

    concerns = frozenset((
        change_module.Cause.SLID, change_module.Cause.FLAGGED,
        change_module.Cause.FIXED, change_module.Cause.MOVED_EARLIER,
        change_module.Cause.OVER, change_module.Cause.STEP,
        change_module.Rehoused, change_module.Concern, leases.NodeBooking))

    def is_on(self, engine: Engine) -> bool:
        """Return whether there is an audit, and no message bus."""
        return engine.audit.wanted and not engine.announcer.sends
