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


"""Whether all that became of leases was told, and reached who is told."""

from __future__ import annotations

import collections
from collections.abc import Iterator

from tests.processes.checker import commits
from tests.processes.checker import history
from tests.processes.checker import owners

_LIVE = ('PENDING', 'STARTING', 'ACTIVE')
_FLAGGED = 'flagged'
#: What comes to a lease once at most.
_ONCE = ('started', 'ended')


def missing(told: history.History) -> Iterator[tuple[float, str, str]]:
    """Return the notices that somebody should have got.

    NOTE: by the tables once all is over; what has not been sent is left over.

    :returns: when, the lease, and what is missing.
    """
    if told.noticed is None or not told.snapshots:
        return
    last = told.snapshots[-1]
    at, rows = last['at'], [row for row in last['tables'].get('outbox', ())
                            if row['channel'] != commits.CHANNEL]
    for row in rows:
        if row['outcome'] == 'delivered' and (
                row['notice_id'] not in told.noticed):
            yield at, row['lease_id'], (
                f'the notice {row["notice_id"]} ({row["kind"]}) was never '
                'received')
    written = collections.Counter((row['lease_id'], row['kind'])
                                  for row in rows)
    for (lease, kind), count in written.items():
        if kind in _ONCE and count > 1:
            yield at, lease, f'there are {count} notices that it has {kind}'
    going_on = {row['id'] for row in last['tables'].get('leases', ())
                if row['status'] != 'TERMINATED'}
    for lease, statuses in _shown(told).items():
        told.judged['not told'] += 1
        if 'ACTIVE' in statuses and not written[lease, 'started']:
            yield at, lease, 'there is no notice that it has started'
        if _FLAGGED in statuses and not written[lease, 'broken']:
            yield at, lease, 'there is no notice that a node of it is broken'
        if lease not in going_on and not written[lease, 'ended']:
            yield at, lease, 'there is no notice that it has ended'


def _shown(told: history.History) -> dict[str, set[str]]:
    """Return in which states answers showed each lease."""
    found: dict[str, set[str]] = collections.defaultdict(set)
    for each in told.exchanges:
        if each.done and not each.dry:
            for lease in owners.leases_in(each.answer):
                if lease['status'] in _LIVE:
                    found[lease['id']].add(lease['status'])
                    if lease['degraded']:
                        found[lease['id']].add(_FLAGGED)
    return found
