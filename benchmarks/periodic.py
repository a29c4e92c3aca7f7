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
from ironic_reservations.db import changes
from ironic_reservations.db import claims
from ironic_reservations.db import host_views
from ironic_reservations.db import in_flight_requests
from ironic_reservations.db import lease_work
from ironic_reservations.db import leases
from ironic_reservations.db import outbox
from ironic_reservations.db import reservations
from ironic_reservations.db import reserved_instances
from ironic_reservations.db import tables
from ironic_reservations.features.enforcement import terms as enforcement_terms
from ironic_reservations.features.history import rows as lease_history
from ironic_reservations.features.keys import rows as request_keys
from ironic_reservations.features.maintenance import rows as maintenance
from ironic_reservations.features.no_show import decisions as no_show
from ironic_reservations.features.no_show import rows as no_shows
from ironic_reservations.features.open_dates import rows as open_dates
from ironic_reservations.features.placement.holds import rows as holds
from ironic_reservations.features.queue import rows as queue
from ironic_reservations.features.usage import periods as usage_periods
from ironic_reservations.model import notices

Query = Callable[[sa.Connection], object]

_DAY = datetime.timedelta(days=1)
_LAST = sa.select(sa.func.max(tables.changes.c.seq))
_A_NODE = sa.select(sa.func.min(tables.nodes.c.uuid))


def queries(now: datetime.datetime) -> dict[str, Query]:
    """Return the queries, by what they are for.

    :param now: the time that they ask about; leases that are over have been
        written by :mod:`benchmarks.over`.
    """
    return {**_of_leases(now), **_of_nodes(now), **_of_notices(now)}


def _of_leases(now: datetime.datetime) -> dict[str, Query]:
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
            c, [c.scalar(_A_NODE)], now + 2 * _DAY),
        'leases that are short of a node':
            lambda c: lease_work.read_short(c, now, now),
        'nodes that will change': lambda c: lease_work.read_awaited(c, now),
        'leases that wait': lambda c: lease_work.count_waiting(c, now),
        'nodes of leases': lease_work.read_concerned,
        'request served before': lambda c: request_keys.read(
            c, request_keys.LEASE, 'key'),
        'claims to delete': lambda c: claims.read_over(c, now, 1000),
        'leases to fix': lambda c: open_dates.read_to_fix(c, now, 100),
        'leases with open dates': lambda c: open_dates.read_loose(
            c, now, now, now + _DAY, 100),
        'queue': lambda c: queue.read_waiting(c, now),
        'leases to charge for': lambda c: enforcement_terms.read_unlike(
            c, now),
        'charges for some': lambda c: enforcement_terms.read(
            c, ['over-7', 'over-8']),
    }


def _of_nodes(now: datetime.datetime) -> dict[str, Query]:
    terms = no_show.Terms({'gold': 600, no_show.OTHERS: 3600}, 300, True)
    return {
        'known reservation': lambda c: reserved_instances.is_known(
            c, 'asked-7'),
        'shares': lambda c: reserved_instances.read_shares(
            c, now, ['virtual:instance', 'flavor:instance']),
        'bookings': bookings.read_with_wants,
        'void reservations': lambda c: reservations.read_expired(
            c, now, 1000, False),
        'live reservations': lambda c: reservations.count_live(c, now),
        'nodes that are taken': lambda c: reservations.read_live_node_uuids(
            c, now),
        'requests under way': lambda c: in_flight_requests.read_overdue(
            c, now, 100),
        'overdue requests': lambda c: in_flight_requests.count_overdue(c, now),
        'promises to hold': lambda c: holds.read_promises(c, now),
        'holds left over': lambda c: holds.read_left_over(c, now, 100),
        'holds for nothing': lambda c: holds.release_forsaken(c, now, 100),
        'changes': lambda c: changes.read_since(c,
                                                c.scalar(_LAST) or 0, ()),
        'old changes': lambda c: changes.read_old(c, 10_000, 10_000),
        'nodes that were deployed': lambda c: usage_periods.read_unrecorded(
            c, now),
        'nodes deployed no more': usage_periods.read_over,
        'nodes in use': lambda c: usage_periods.count_now(c, now),
        'nodes nobody uses': lambda c: no_shows.read_due(
            c, terms, now, now - _DAY),
        'nodes that can be used': lambda c: no_shows.read_begun(c, now),
        'nodes that cannot be used': no_shows.read_over,
        'history of a lease': lambda c: lease_history.read_periods(
            c, 'over-7'),
        'use of the nodes of leases': lambda c: no_shows.read(
            c, ['over-7', 'over-8'], now),
        'maintenance that is due': lambda c: maintenance.read_due(c, now),
        'windows that are postponed':
            lambda c: maintenance.read_postponed(c, now),
        'maintenance': host_views.read_unleased,
        'maintenance of a node': lambda c: host_views.read_unleased(
            c, [c.scalar(_A_NODE)]),
        'windows to forget': lambda c: maintenance.read_forgettable(
            c, now - 90 * _DAY, 100),
    }


def _of_notices(now: datetime.datetime) -> dict[str, Query]:
    # NOTE: what is done with is kept for some days; here all of it still is.
    long_ago = now - 365 * _DAY
    given_up = dict.fromkeys(notices.Channel, now - 7 * _DAY)
    return {
        'notices that wait': outbox.count_waiting,
        'notices that were given up': outbox.count_given_up,
        'notices that are due': lambda c: outbox.read_due(
            c, notices.Channel.WEBHOOK, 'target', now, 100),
        'persons to mail': lambda c: outbox.read_persons(c, now),
        'what to mail': lambda c: outbox.read_digest(c, 'target', now, 100),
        'old notices': lambda c: outbox.any_old(c, given_up, long_ago),
        'notices to give up': lambda c: outbox.give_up(
            c, given_up, now, 100),
        'notices to purge': lambda c: outbox.purge(c, long_ago, 100),
        'notices that arrived': lambda c: outbox.read_arrived(
            c, ['notice-7', 'notice-8']),
    }
