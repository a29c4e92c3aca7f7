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

"""Offers: requests that would be accepted instead of a refused one."""

from __future__ import annotations

from collections.abc import Sequence
import dataclasses
import datetime
import json
from typing import Any

from ironic_reservations.engine import ceiling
from ironic_reservations.engine import hard_requests
from ironic_reservations.engine import snapshots
from ironic_reservations.engine.leases import ladder
from ironic_reservations.engine.leases import request_checks
from ironic_reservations.model import instants
from ironic_reservations.model import leases
from ironic_reservations.model import node_flavors
from ironic_reservations.model import requirements
from ironic_reservations.model import time_text
from ironic_reservations.planner import bookings
from ironic_reservations.planner import host_sets
from ironic_reservations.planner import offers
from ironic_reservations.planner import planning
from ironic_reservations.planner import plans
from ironic_reservations.planner import shares

#: How many later windows that exceed a limit are skipped at most.
_WINDOWS = 10


def make(snapshot: snapshots.Snapshot, request: leases.LeaseRequest,
         demands: Sequence[bookings.Demand],
         latest: datetime.datetime | None,
         project: ceiling.Ceiling) -> list[dict[str, Any]]:
    """Return offers that can be posted unchanged, the best first.

    :param latest: the latest end that the operator allows; ``None``: any.
    :param project: the usage of its project, and how much more it may have
        at the time of each offer.
    """
    until = latest or ladder.search_end(max(request.end, snapshot.now))
    now = instants.instant(snapshot.now)
    begun = now - instants.instant(request_checks.start(request.start,
                                                        snapshot.now))
    windows = [
        (offer.kind.value, _permitted(snapshot, request, demands, offer, until,
                                      project))
        for offer in offers.offers(
            snapshot.timeline, demands, now, instants.instant(until),
            hard_requests.unlock_offers(), grain=instants.SECOND,
            begun=max(0, begun))]
    return [
        *_apart(snapshot, request, demands),
        *(_offer(kind, snapshot, *permitted) for kind, permitted in windows
          if permitted is not None),
        *_other_class(snapshot, request, demands, project)]


def _permitted(snapshot: snapshots.Snapshot, request: leases.LeaseRequest,
               demands: Sequence[bookings.Demand],
               offer: offers.Offer, until: datetime.datetime,
               project: ceiling.Ceiling
               ) -> tuple[leases.LeaseRequest, bool] | None:
    """Return the request of an offer, moved to where the limits allow it.

    :returns: the request, and whether it is proved that no nearer request is
        possible; ``None`` if none was found.
    """
    found: offers.Offer | None = offer
    nearest = True
    for _ in range(_WINDOWS):
        if found is None:
            return None
        offered = _changed(request, demands, found.demands)
        nearest = nearest and found.nearest
        if project.permits(offered):
            return offered, nearest
        start = (project.next_start(offered)
                 if offer.kind is offers.Kind.LATER else None)
        if start is None:
            return None
        shift = instants.instant(start) - found.demands[0].start
        moved = tuple(dataclasses.replace(
            demand, start=demand.start + shift, end=demand.end + shift)
            for demand in found.demands)
        if moved[0].end > instants.instant(until):
            return None
        found = offers.soonest(snapshot.timeline, moved,
                               instants.instant(until),
                               hard_requests.limits(), instants.SECOND)
    return None


def nowhere_together(snapshot: snapshots.Snapshot, demand: bookings.Demand,
                     count: int) -> bool:
    """Return whether this number of instances never fits on one host."""
    if demand.affinity is not True or demand.amounts is None or count == 1:
        return False
    amounts = shares.times(demand.amounts, count)
    hosts = snapshot.timeline
    return not any(
        all(amount <= (hosts.capacities[number] or {}).get(name, 0)
            for name, amount in amounts)
        for number in host_sets.members(demand.eligible & hosts.compute))


def _changed(request: leases.LeaseRequest, asked: Sequence[bookings.Demand],
             demands: Sequence[bookings.Demand]) -> leases.LeaseRequest:
    start, end = demands[0].start, demands[0].end
    # An offer that starts now must still be valid a minute later.
    at_once = request.start is None and start == asked[0].start
    before = None
    if request.before_end is not None:
        before = min(request.before_end, instants.moment(end))
        if before < instants.moment(start):
            before = None
    return dataclasses.replace(
        request,
        start=None if at_once else instants.moment(start),
        end=instants.moment(end),
        before_end=before,
        reservations=tuple(
            dataclasses.replace(requested, least=demand.least,
                                most=demand.most)
            for requested, demand in zip(request.reservations, demands,
                                         strict=True)))


def _other_class(snapshot: snapshots.Snapshot, request: leases.LeaseRequest,
                 demands: Sequence[bookings.Demand],
                 project: ceiling.Ceiling) -> list[dict[str, Any]]:
    """Offer hosts of another class if the class is the only requirement."""
    if len(demands) != 1:
        return []
    requested, demand = request.reservations[0], demands[0]
    asked = requirements.parse(requested.hypervisor_properties,
                               requested.resource_properties).names
    if not asked or asked - {'resource_class'}:
        return []
    needed = request_checks.requirement('', '', requested.instances)
    by_class: dict[str, list[int]] = {}
    for number in host_sets.members(snapshot.usable & ~demand.eligible):
        host = snapshot.host_state(number).host
        name = host.node.resource_class
        # Any node of Ironic can be leased as a whole.
        if name is not None and (
                not host.node.compute if requested.instances is None
                else needed.met_by(requirements.describe(host))):
            by_class.setdefault(name, []).append(number)
    for name, numbers in sorted(by_class.items(),
                                key=lambda item: -len(item[1])):
        other = dataclasses.replace(demand, eligible=host_sets.mask(numbers))
        offered = dataclasses.replace(request, reservations=(
            dataclasses.replace(
                requested, hypervisor_properties='',
                resource_properties=json.dumps(
                    ['==', '$resource_class', name])),))
        if project.permits(offered) and isinstance(planning.plan(
                snapshot.timeline, [other], hard_requests.limits()),
                plans.Plan):
            return [_offer('other_class', snapshot, offered)]
    return []


def _apart(snapshot: snapshots.Snapshot, request: leases.LeaseRequest,
           demands: Sequence[bookings.Demand]) -> list[dict[str, Any]]:
    """Offer several hosts for instances with affinity."""
    split: list[bookings.Demand] = []
    reservations: list[leases.LeaseReservationRequest] = []
    for requested, demand in zip(request.reservations, demands, strict=True):
        if requested.instances is not None and nowhere_together(
                snapshot, demand, requested.most):
            demand = dataclasses.replace(demand, affinity=None)
            requested = dataclasses.replace(requested,
                                            instances=dataclasses.replace(
                                                requested.instances,
                                                affinity=None))
        split.append(demand)
        reservations.append(requested)
    if tuple(reservations) == request.reservations or isinstance(planning.plan(
            snapshot.timeline, split, hard_requests.limits()), plans.Refusal):
        return []
    return [_offer('no_affinity', snapshot, dataclasses.replace(
        request, reservations=tuple(reservations)))]


def _offer(kind: str,
           snapshot: snapshots.Snapshot,
           request: leases.LeaseRequest,
           nearest: bool = True) -> dict[str, Any]:
    start = request.start or snapshot.now
    window = _window(start, request.end)
    wanted = ' and '.join(
        f'{requested.least}' if requested.least ==
        requested.most else f'{requested.least} to {requested.most}'
        for requested in request.reservations)
    what = _what(request)
    # A search that was cut short may have missed a nearer window.
    one = 'The nearest' if nearest else 'A possible'
    detail = {
        'later': f'{one} later window is {window}.',
        'earlier': f'{one} earlier window is {window}.',
        'shorter': f'A shorter lease, {window}, would be accepted.',
        'no_affinity': 'Without "affinity", on any hosts, the instances would '
                       f'be accepted {window}.',
        'fewer': f'Fewer {what}, {wanted}, would be accepted {window}.',
        'other_class': 'Hosts of another resource class would be accepted: '
                       f'{request.reservations[0].resource_properties}.'}[kind]
    return {'kind': kind, 'detail': detail, 'lease': body(request)}


def within_limits(kind: str, now: datetime.datetime,
                  request: leases.LeaseRequest) -> dict[str, Any]:
    """Return an offer that exceeds no limit of a project.

    :param kind: ``shorter`` or ``fewer``.
    """
    window = _window(request.start or now, request.end)
    counts = ' and '.join(
        str(requested.least) for requested in request.reservations)
    what = _what(request)[:-1] if counts == '1' else _what(request)
    return {'kind': kind, 'lease': body(request), 'detail': (
        f'Within the limits, {counts} {what} would be accepted {window}.')}


def _what(request: leases.LeaseRequest) -> str:
    return ('instances' if any(
        requested.instances
        for requested in request.reservations) else 'hosts')


def body(request: leases.LeaseRequest) -> dict[str, Any]:
    """Return a request in the form of its body."""
    posted: dict[str, Any] = {
        'name': request.name,
        'start_date': 'now' if request.start is None else date(request.start),
        'end_date': date(request.end), 'events': [], 'reservations': [
            _body(requested) for requested in request.reservations
        ]
    }
    if request.before_end is not None:
        posted['before_end_date'] = date(request.before_end)
    return posted


def _body(requested: leases.LeaseReservationRequest) -> dict[str, Any]:
    posted: dict[str, Any] = {
        'resource_type': requested.resource_type,
        'resource_properties': requested.resource_properties}
    wanted = requested.instances
    if wanted is None:
        return {**posted, 'min': requested.least, 'max': requested.most,
                'hypervisor_properties': requested.hypervisor_properties,
                'before_end': requested.before_end}
    posted.update(amount=requested.most, affinity=wanted.affinity)
    if wanted.source_flavor_id is not None:
        posted['flavor_id'] = wanted.source_flavor_id
    if requested.flavor_id is not None:
        # Nova is asked for the flavor again.
        return posted
    if wanted.flavor is not None:
        return {**posted, 'flavor': node_flavors.shown(wanted.flavor)}
    return {**posted, 'vcpus': wanted.vcpus, 'memory_mb': wanted.memory_mb,
            'disk_gb': wanted.disk_gb}


def date(moment: datetime.datetime) -> str:
    """Return an instant in the format of Blazar's clients."""
    # Their format has no seconds.
    if moment.second or moment.microsecond:
        return moment.isoformat()
    return moment.strftime('%Y-%m-%d %H:%M')


def _window(start: datetime.datetime, end: datetime.datetime) -> str:
    return f'from {time_text.moment(start)} until {time_text.moment(end)}'
