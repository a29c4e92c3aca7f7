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

"""The history of a lease (``GET /v1/leases/{id}/history``)."""

from __future__ import annotations

from collections.abc import Iterable
from collections.abc import Iterator
from collections.abc import Sequence
import dataclasses
import datetime

from ironic_reservations.engine import Engine
from ironic_reservations.features.history import rows as db_history
from ironic_reservations.features.history import values as lease_history
from ironic_reservations.model import leases
from ironic_reservations.model import period_kind

What = lease_history.What
Entry = lease_history.Entry

_ORDER = {what: place for place, what in enumerate(What)}
#: Entries that also update the row of the lease, without a "changed".
_CHANGES = frozenset((
    What.CREATED, What.LACKS_NODES, What.NODES_REPLACED, What.START,
    What.BEFORE_END, What.END, What.BOUND))


def read(engine: Engine, lease: leases.Lease) -> list[Entry]:
    """Read the history of a lease, the oldest entry first."""
    with engine.database.snapshot() as connection:
        bookings = db_history.read_bookings(connection, lease.id)
        periods = db_history.read_periods(connection, lease.id)
        notices = db_history.read_notices(connection, lease.id)
    found = [*_of_lease(lease), *_of_bookings(lease, bookings),
             *_of_periods(bookings, periods), *_of_notices(notices)]
    changed = lease.updated_at
    if changed is not None and not any(
            each.at == changed and each.what in _CHANGES for each in found):
        found.append(Entry(changed, What.CHANGED))
    return sorted(_together(found),
                  key=lambda each: (each.at, _ORDER[each.what]))


def _of_lease(lease: leases.Lease) -> Iterator[Entry]:
    yield Entry(lease.created_at, What.CREATED)
    for each in lease.reservations:
        if each.updated_at is not None:
            if each.missing_resources:
                yield Entry(each.updated_at, What.LACKS_NODES)
            if each.resources_changed:
                yield Entry(each.updated_at, What.NODES_REPLACED)
    for event in lease.events:
        if (event.status is not leases.EventStatus.UNDONE
                and event.updated_at is not None):
            yield Entry(event.updated_at, What(event.type.value),
                        status=event.status)


def _of_bookings(lease: leases.Lease,
                 bookings: Iterable[db_history.Booking]) -> Iterator[Entry]:
    for each in bookings:
        node = (each.node_uuid,)
        if each.created_at > lease.created_at:
            yield Entry(each.created_at, What.PROMISED, node, 1)
        if (each.state is leases.BookingState.PLANNED
                and each.updated_at is not None):
            yield Entry(each.updated_at, What.MOVED, node, 1)
        if each.bound_at is not None:
            yield Entry(each.bound_at, What.BOUND, node, 1)
        if each.warned_at is not None:
            yield Entry(each.warned_at, What.NO_SHOW_WARNING, node, 1)


def _of_periods(bookings: Iterable[db_history.Booking],
                periods: Iterable[db_history.Period]) -> Iterator[Entry]:
    nodes = {each.uuid: each.node_uuid for each in bookings}
    for each in periods:
        node = nodes.get(each.booking_uuid or '')
        which = () if node is None else (node,)
        named = (each.resource_class or None) if node is None else None
        if each.kind == period_kind.NO_SHOW:
            yield Entry(each.starts_at, What.NO_SHOW_RELEASE, which,
                        each.hosts, named)
            continue
        if each.kind != period_kind.DEPLOYED:
            if each.ended_at is not None:
                yield Entry(each.ended_at, What.RELEASED, which, each.hosts,
                            named, each.starts_at)
            continue
        yield Entry(each.starts_at, What.DEPLOYED, which, each.hosts, named)
        if each.ended_at is not None:
            yield Entry(each.ended_at, What.UNDEPLOYED, which, each.hosts,
                        named)


def _of_notices(notices: Iterable[db_history.Notice]) -> Iterator[Entry]:
    by_id: dict[str, list[db_history.Notice]] = {}
    for each in notices:
        by_id.setdefault(each.notice_id, []).append(each)
    for first, *more in by_id.values():
        yield Entry(first.created_at, What.NOTICE, notice=first.kind,
                    sent=tuple(each.sent for each in (first, *more)))


def _together(entries: Sequence[Entry]) -> Iterator[Entry]:
    """Yield one entry for the same change of many nodes at the same time."""
    many: dict[tuple[datetime.datetime, What, str | None,
                     datetime.datetime | None], list[Entry]] = {}
    for each in entries:
        if each.hosts is None:
            yield each
        else:
            many.setdefault((each.at, each.what, each.resource_class,
                             each.since), []).append(each)
    for same in many.values():
        yield dataclasses.replace(
            same[0], hosts=sum(each.hosts or 0 for each in same),
            nodes=tuple(node for each in same for node in each.nodes))
