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

"""Stores the queued leases for which no earlier start was found.

The planning of a queued lease costs as much as a request. It is therefore
planned again only after a relevant change: of a host that the lease, or a
booking that moves for it, could get, or of another lease of its project, since
limits count these. In addition, it is planned again at intervals, since the
usage of a project and the loans of hosts change with time alone.
"""

from __future__ import annotations

from collections.abc import Sequence
import dataclasses
import datetime

from ironic_reservations.engine import snapshots
from ironic_reservations.engine.leases import request_checks
from ironic_reservations.model import leases
from ironic_reservations.model import requirements
from ironic_reservations.planner import host_sets
from ironic_reservations.planner import reach

#: How long a lease is left alone at most.
_AGAIN = datetime.timedelta(minutes=10)


@dataclasses.dataclass(frozen=True)
class _Waiting:
    """A lease for which there was no earlier start.

    :ivar hosts: the hosts that it could get, and the hosts that it has.
    """

    project_id: str | None
    wanted: Sequence[requirements.Requirement]
    hosts: int
    planned_at: datetime.datetime


@dataclasses.dataclass(frozen=True)
class _Changed:
    """The changes since the previous pass.

    :ivar hosts: the changed hosts.
    :ivar projects: the projects with bookings on these hosts, before or after.
    """

    hosts: int
    projects: frozenset[str | None]


class LongQueue:
    """The queued leases that were still waiting in the last pass."""

    def __init__(self) -> None:
        self._seen: snapshots.Snapshot | None = None
        self._now: snapshots.Snapshot | None = None
        self._changed: _Changed | None = None
        self._waiting: dict[str, _Waiting] = {}
        self._still: dict[str, _Waiting] = {}

    def requirements(self) -> list[requirements.Requirement]:
        """Return the requirements of the leases that wait."""
        return [each for lease in self._waiting.values()
                for each in lease.wanted]

    def begin(self, snapshot: snapshots.Snapshot) -> None:
        """Begin a pass.

        :param snapshot: taken before any of its leases is planned.
        """
        self._changed = (None if self._seen is None
                         else _compared(self._seen, snapshot))
        self._now, self._still = snapshot, {}

    def end(self) -> None:
        """End a pass; leases that it did not reach are planned next time."""
        self._seen, self._waiting = self._now, self._still

    def waits(self, lease_id: str) -> bool:
        """Return whether no change since the last pass concerns a lease."""
        known, changed, now = (self._waiting.get(lease_id), self._changed,
                               self._now)
        if known is None or changed is None or now is None or (
                known.planned_at + _AGAIN <= now.now):
            return False
        if changed.hosts and (
                known.project_id in changed.projects
                or (known.hosts | _reached(now, known.wanted))
                & changed.hosts):
            return False
        self._still[lease_id] = known
        return True

    def stays(self, lease: leases.Lease) -> None:
        """Store that no earlier start was found for a lease."""
        now = self._now
        assert now is not None
        wanted = [*map(request_checks.requirement_of, lease.reservations)]
        try:
            hosts = _reached(now, wanted)
        except KeyError:
            # NOTE: the lease came after the pass began.
            return
        self._still[lease.id] = _Waiting(
            lease.project_id, wanted, hosts | now.host_set.mask(
                row.node_uuid for row in lease.bookings), now.now)


def _reached(snapshot: snapshots.Snapshot,
             wanted: Sequence[requirements.Requirement]) -> int:
    """Return the hosts that a lease, or a booking moved for it, could get."""
    found = 0
    for each in wanted:
        found |= snapshot.eligible(each)
    return reach.hosts(snapshot.timeline, found)


def _compared(before: snapshots.Snapshot,
              after: snapshots.Snapshot) -> _Changed | None:
    """Return the changes; ``None``: they are not known."""
    if before.host_set.uuids != after.host_set.uuids[
            :len(before.host_set.uuids)]:
        return None
    known = len(before.states)
    hosts = [number for number, here in enumerate(after.states)
             if number >= known or here is not before.states[number]
             or after.timeline.rows[number]
             is not before.timeline.rows[number]]
    projects = {row.project_id for number in hosts for here in (
        after.states[number],
        before.states[number] if number < known else None)
        if here is not None for row, _ in here.promised}
    return _Changed(host_sets.mask(hosts), frozenset(projects))
