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

"""Queries that are asked again and again, by the loops and for requests."""

from __future__ import annotations

from collections.abc import Callable
import datetime

import sqlalchemy as sa

from ironic_reservations.db import bookings
from ironic_reservations.db import holds
from ironic_reservations.db import lease_work
from ironic_reservations.db import leases
from ironic_reservations.db import passages
from ironic_reservations.db import reservations
from ironic_reservations.db import reserved_instances

Query = Callable[[sa.Connection], object]


def queries(now: datetime.datetime) -> dict[str, Query]:
    """Return the queries, by what they are for.

    :param now: the time that they ask about; leases that are over have been
        written by :mod:`benchmarks.over`.
    """
    return {
        'leases that are due':
            lambda c: lease_work.read_due(c, now, 100),
        'flags': lambda c: lease_work.read_flags(c, ()),
        'flags of some': lambda c: lease_work.read_flags(
            c, ['asked-7', 'asked-8']),
        'leases by status': lease_work.count,
        'leases of a project': lambda c: leases.count_live(c, 'project-7'),
        'leases of nobody': lambda c: leases.count_live(c, None),
        'list': lambda c: leases.read_page(c, None, None, 1000, now),
        'list of a project': lambda c: leases.read_page(
            c, 'project-7', None, 1000, now),
        'page': lambda c: leases.read_page(c, None, None, 50),
        'page of a project': lambda c: leases.read_page(
            c, 'project-7', None, 50),
        'next page': lambda c: leases.read_page(
            c, None, *leases.read(c, ['over-100']), 50),
        'leases to forget': lambda c: leases.read_forgettable(
            c, now - datetime.timedelta(days=90), 100),
        'leases that wait for a node': lambda c: lease_work.wake(
            c, ['not there'], now),
        'nodes of leases': lease_work.read_concerned,
        'known reservation': lambda c: reserved_instances.is_known(
            c, 'asked-7'),
        'shares': lambda c: reserved_instances.read_shares(
            c, now, ['virtual:instance', 'flavor:instance']),
        'bookings': bookings.read_with_wants,
        'void reservations': lambda c: reservations.read_void(c, now, 1000),
        'live reservations': lambda c: reservations.count_live(c, now),
        'nodes that are taken':
            lambda c: reservations.read_live_node_uuids(c, now),
        'requests under way': lambda c: passages.read_overdue(c, now, 100),
        'overdue requests': lambda c: passages.count_overdue(c, now),
        'promises to hold': lambda c: holds.read_promises(c, now),
        'holds left over': lambda c: holds.read_left_over(c, now, 100),
        'holds for nothing': lambda c: holds.release_forsaken(c, now, 100),
        'request served before': lambda c: leases.read_requested(c, 'key'),
    }
