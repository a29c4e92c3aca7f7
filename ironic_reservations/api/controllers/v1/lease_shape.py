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
"""Leases in the format of Blazar, with our additions.

Leases become plain dictionaries, since a page has a thousand leases, and a
library would take longer than the database takes to read them.
"""

from __future__ import annotations

from collections.abc import Mapping
from collections.abc import Sequence
import dataclasses
import datetime
import functools
import threading
from typing import Any

from ironic_reservations.api import expose
from ironic_reservations.api import versions
from ironic_reservations.api.types import dates
from ironic_reservations.engine.leases import rehearsal
from ironic_reservations.model import instance_reservations
from ironic_reservations.model import leases
from ironic_reservations.model import node_flavors

#: The size of the cache, in kilobytes of leases: 5000 leases of one node each.
_MOST = 35_000


def shape(lease: leases.Lease,
          lent: Mapping[str, datetime.datetime] | None = None,
          **more: Any) -> dict[str, Any]:
    """Return a lease as clients see it.

    :param lent: the times until which the lease could have nodes of other
        owners, by node uuid; ``None``: the client's version does not show
        them.
    :param more: further keys of the client's version.
    """
    updated = lease.updated_at
    return {
        'id': lease.id,
        'name': lease.name,
        'user_id': lease.user_id,
        'project_id': lease.project_id,
        'start_date': dates.write(lease.start),
        'end_date': dates.write(lease.end),
        # Blazar needs a trust of the user; this service does not.
        'trust_id': None,
        'status': lease.status.value,
        'degraded': lease.degraded,
        'created_at': dates.write_short(lease.created_at),
        'updated_at': None if updated is None else dates.write_short(updated),
        'reservations': [_reservation(lease.id, each, lent)
                         for each in lease.reservations],
        'events': _events(lease.id, lease.events),
        'waiting': lease.waiting,
        **more,
    }


@dataclasses.dataclass(frozen=True)
class Outside:
    """Facts that a version shows about leases, but that leases do not contain.

    :ivar reasons: the reasons why leases are degraded, by the ids of the
        leases.
    :ivar lent: as for :func:`shape`, by the ids of the leases; ``None``: the
        version does not show it.
    """

    reasons: Mapping[str, str]
    lent: Mapping[str, Mapping[str, datetime.datetime]] | None


def extended(lease: leases.Lease, minor: int,
             outside: Outside) -> dict[str, Any]:
    """Return a lease as clients of our own versions see it.

    :param minor: the version.
    """
    lent = outside.lent
    return shape(
        lease, None if lent is None else lent.get(lease.id, {}),
        degraded_reason=outside.reasons.get(lease.id),
        **(dates_left_open(lease) if minor >= versions.FLEXIBLE else {}),
        **(queue(lease) if minor >= versions.QUEUE else {}))


def _form(minor: int) -> int:
    """Return the first version that shows a lease as this one does."""
    return max(each for each in _FORMS if each <= minor)


#: The versions that changed the shape of a lease.
_FORMS = (versions.SEED, versions.DEGRADED, versions.FLEXIBLE, versions.QUEUE,
          versions.LOANS)


class Texts:
    """Writes leases as JSON, and caches the texts.

    Leases are immutable, and a changed lease is another object. A cached text
    depends on nothing but the lease, since leases with further facts are not
    cached.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._written: dict[tuple[str, int], tuple[leases.Lease, str]] = {}
        self._kilobytes = 0

    def write(self, page: Sequence[leases.Lease], minor: int = versions.SEED,
              outside: Outside | None = None) -> list[str]:
        """Return leases as JSON.

        :param minor: our own version.
        :param outside: the further facts, if the version shows any.
        """
        form, uncached = _form(minor), set[str]()
        if outside is not None:
            uncached.update(outside.reasons, outside.lent or ())
        with self._lock:
            known = [self._written.get((lease.id, form)) for lease in page]
        texts, new = [], {}
        for lease, each in zip(page, known, strict=True):
            if (each is None or each[0] is not lease
                    or lease.id in uncached):
                each = lease, expose.dumps(
                    shape(lease) if outside is None
                    else extended(lease, minor, outside))
                if lease.id not in uncached:
                    new[lease.id, form] = each
            texts.append(each[1])
        if new:
            self._keep(new)
        return texts

    def _keep(self, new: Mapping[tuple[str, int], tuple[leases.Lease, str]]
              ) -> None:
        with self._lock:
            for key, each in new.items():
                self._forget(key)
                self._written[key] = each
                self._kilobytes += each[0].kilobytes
            while self._kilobytes > _MOST:
                self._forget(next(iter(self._written)))

    def _forget(self, key: tuple[str, int]) -> None:
        known = self._written.pop(key, None)
        if known is not None:
            self._kilobytes -= known[0].kilobytes


def dates_left_open(lease: leases.Lease) -> dict[str, Any]:
    """Return the open dates of a lease as clients see them."""
    between = lease.between
    return {
        'between': None if between is None else [
            dates.write(between.earliest), dates.write(between.latest)],
        'duration': round((lease.end - lease.start).total_seconds()),
        'fix_before': None if between is None else between.fix_before,
        'fixed': between is None or between.fix_at is None,
    }


def queue(lease: leases.Lease) -> dict[str, Any]:
    """Return the place of a lease in the queue as clients see it."""
    queued = lease.queued
    return {
        'queued': lease.waits,
        'promised_start': None if queued is None else dates.write(
            queued.promised),
        'priority': None if queued is None else queued.priority,
    }


def moved(lease: rehearsal.Moved) -> dict[str, Any]:
    """Return a lease that would make room, as clients see it."""
    return {
        'id': lease.id,
        'name': lease.name,
        'project_id': lease.project_id,
        'start_date': dates.write(lease.start),
        'end_date': dates.write(lease.end),
        'slides': round(lease.slides.total_seconds()),
        'nodes': [{'from': left, 'to': got} for left, got in lease.nodes],
    }


def _reservation(lease_id: str, reservation: leases.LeaseReservation,
                 lent: Mapping[str, datetime.datetime] | None
                 ) -> dict[str, Any]:
    updated = reservation.updated_at
    common = {
        'id': reservation.id,
        'lease_id': lease_id,
        'resource_id': reservation.resource_id,
        'resource_type': reservation.resource_type,
        'status': reservation.status.value,
        'missing_resources': reservation.missing_resources,
        'resources_changed': reservation.resources_changed,
        'created_at': dates.write_short(reservation.created_at),
        'updated_at': None if updated is None else dates.write_short(updated),
        'resource_properties': reservation.resource_properties,
        'nodes': [_node(each, lent) for each in reservation.bookings],
    }
    if reservation.instances is not None:
        return {**common, **_instances(reservation.instances)}
    return {
        **common,
        'hypervisor_properties': reservation.hypervisor_properties,
        'before_end': reservation.before_end,
        'min': reservation.least,
        'max': reservation.most,
    }


def _node(booking: leases.NodeBooking,
          lent: Mapping[str, datetime.datetime] | None) -> dict[str, Any]:
    shape = {'uuid': booking.node_uuid, 'state': booking.state.value}
    if lent is None:
        return shape
    until = lent.get(booking.node_uuid)
    return {**shape,
            'lent_until': None if until is None else dates.write(until)}


def _instances(wanted: instance_reservations.InstanceReservation
               ) -> dict[str, Any]:
    shape: dict[str, Any] = {
        'vcpus': wanted.vcpus,
        'memory_mb': wanted.memory_mb,
        'disk_gb': wanted.disk_gb,
        'amount': wanted.amount,
        'affinity': wanted.affinity,
        # Blazar's clients expect these keys of resources in Nova.
        'flavor_id': wanted.flavor_id,
        'aggregate_id': wanted.aggregate_id,
        'server_group_id': wanted.server_group_id,
    }
    if wanted.source_flavor_id is not None:
        shape['source_flavor_id'] = wanted.source_flavor_id
    if wanted.flavor is not None:
        shape['source_flavor'] = node_flavors.shown(wanted.flavor)
    return shape


# Cached, since unchanged leases have the same events as on the previous page,
# and most of the time is spent on the three dates of each.
@functools.lru_cache(maxsize=5000)
def _events(lease_id: str,
            events: tuple[leases.Event, ...]) -> list[dict[str, Any]]:
    return [_event(lease_id, each) for each in events]


def _event(lease_id: str, event: leases.Event) -> dict[str, Any]:
    updated = event.updated_at
    return {
        'id': event.id,
        'lease_id': lease_id,
        'event_type': event.type.value,
        'time': dates.write(event.time),
        'status': event.status.value,
        'created_at': dates.write_short(event.created_at),
        'updated_at': None if updated is None else dates.write_short(updated),
    }
