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
from typing import Any

from ironic_reservations.api import expose
from ironic_reservations.api import versions
from ironic_reservations.api.types import dates
from ironic_reservations.engine.leases import rehearsal
from ironic_reservations.model import instance_reservations
from ironic_reservations.model import leases
from ironic_reservations.model import node_flavors


@dataclasses.dataclass(frozen=True)
class Outside:
    """Facts that documents show of leases, but that leases do not contain.

    :ivar reasons: the reasons why leases are degraded, by the ids of the
        leases.
    :ivar lent: the times until which leases could have nodes of other owners,
        by the ids of the leases and the uuids of the nodes.
    """

    reasons: Mapping[str, str] = dataclasses.field(default_factory=dict)
    lent: Mapping[str, Mapping[str, datetime.datetime]] = dataclasses.field(
        default_factory=dict)


NOTHING = Outside()


def document(lease: leases.Lease, minor: int = versions.SEED,
             outside: Outside = NOTHING) -> dict[str, Any]:
    """Return a lease as clients see it.

    Extensions of Blazar's format need our own version, which the same header
    names beside Blazar's.

    :param minor: our own version.
    """
    lent = None if minor < versions.LOANS else outside.lent.get(lease.id, {})
    made = {
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
        'updated_at': dates.write_short(lease.updated_at),
        'reservations': [_reservation(lease.id, each, lent)
                         for each in lease.reservations],
        'events': _events(lease.id, lease.events),
        'waiting': lease.waiting,
    }
    for since, keys in _ADDED:
        if minor >= since:
            made.update(keys(lease, outside))
    return made


def written(page: Sequence[leases.Lease], minor: int = versions.SEED,
            outside: Outside = NOTHING) -> list[str]:
    """Return the documents of leases as JSON, which the leases keep.

    A changed lease is another object. A document with facts that the lease
    does not contain is not kept.
    """
    form = max(each for each in _FORMS if each <= minor)
    changing = {*outside.reasons, *outside.lent}
    texts = []
    for lease in page:
        text = None if lease.id in changing else lease.documents.get(form)
        if text is None:
            text = expose.dumps(document(lease, minor, outside))
            if lease.id not in changing:
                lease.documents[form] = text
        texts.append(text)
    return texts


def _reason(lease: leases.Lease, outside: Outside) -> dict[str, Any]:
    return {'degraded_reason': outside.reasons.get(lease.id)}


def _open_dates(lease: leases.Lease, _: Outside) -> dict[str, Any]:
    """Return the open dates of a lease as clients see them."""
    between = lease.between
    return {
        'between': None if between is None else [
            dates.write(between.earliest), dates.write(between.latest)],
        'duration': round((lease.end - lease.start).total_seconds()),
        'fix_before': None if between is None else between.fix_before,
        'fixed': between is None or between.fix_at is None,
    }


def _queue(lease: leases.Lease, _: Outside) -> dict[str, Any]:
    """Return the place of a lease in the queue as clients see it."""
    queued = lease.queued
    return {
        'queued': lease.waits,
        'promised_start': None if queued is None else dates.write(
            queued.promised),
        'priority': None if queued is None else queued.priority,
    }


#: The keys that versions have added to the document of a lease, in its order.
_ADDED = ((versions.DEGRADED, _reason), (versions.FLEXIBLE, _open_dates),
          (versions.QUEUE, _queue))
#: The versions that changed the document: the last one changed its nodes.
_FORMS = (versions.SEED, *(since for since, _ in _ADDED), versions.LOANS)


def moved(lease: rehearsal.Moved) -> dict[str, Any]:
    """Return a lease that would make room, as clients see it."""
    return {
        'id': lease.id,
        'name': lease.name,
        'project_id': lease.project_id,
        'start_date': dates.write(lease.start),
        'end_date': dates.write(lease.end),
        'shift': round(lease.shift.total_seconds()),
        'nodes': [{'from': left, 'to': got} for left, got in lease.nodes],
    }


def _reservation(lease_id: str, reservation: leases.LeaseReservation,
                 lent: Mapping[str, datetime.datetime] | None
                 ) -> dict[str, Any]:
    common = {
        'id': reservation.id,
        'lease_id': lease_id,
        'resource_id': reservation.resource_id,
        'resource_type': reservation.resource_type,
        'status': reservation.status.value,
        'missing_resources': reservation.missing_resources,
        'resources_changed': reservation.resources_changed,
        'created_at': dates.write_short(reservation.created_at),
        'updated_at': dates.write_short(reservation.updated_at),
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
    return {
        'id': event.id,
        'lease_id': lease_id,
        'event_type': event.type.value,
        'time': dates.write(event.time),
        'status': event.status.value,
        'created_at': dates.write_short(event.created_at),
        'updated_at': dates.write_short(event.updated_at),
    }
