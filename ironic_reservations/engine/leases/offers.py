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

from ironic_reservations.engine import snapshots
from ironic_reservations.engine.leases import limits
from ironic_reservations.engine.leases import terms as lease_terms
from ironic_reservations.lifecycle.placement import node_flavors
from ironic_reservations.model import instants
from ironic_reservations.model import leases
from ironic_reservations.model import requirements
from ironic_reservations.model import told_times
from ironic_reservations.planner import bookings
from ironic_reservations.planner import fleet
from ironic_reservations.planner import offers
from ironic_reservations.planner import planning
from ironic_reservations.planner import plans
from ironic_reservations.planner import shares

#: How far ahead a later start is searched if the operator sets no horizon.
_AHEAD = datetime.timedelta(days=366)
#: How many later windows that exceed a limit are skipped at most.
_WINDOWS = 10


def make(snapshot: snapshots.Snapshot, ask: leases.LeaseAsk,
         demands: Sequence[bookings.Demand],
         latest: datetime.datetime | None,
         project: limits.Project) -> list[dict[str, Any]]:
    """Return offers that can be posted unchanged, the best first.

    :param latest: the latest end that the operator allows; ``None``: any.
    :param project: what its project holds, and how much more it may have at
        the time of each offer.
    """
    until = latest or (max(ask.end, snapshot.now) + _AHEAD)
    windows = [
        (offer.kind.value, _permitted(snapshot, ask, demands, offer, until,
                                      project))
        for offer in offers.offers(
            snapshot.timeline, demands, instants.instant(snapshot.now),
            instants.instant(until))]
    return [
        *_apart(snapshot, ask, demands),
        *(_told(kind, snapshot, *permitted) for kind, permitted in windows
          if permitted is not None),
        *_other_class(snapshot, ask, demands)]


def _permitted(snapshot: snapshots.Snapshot, ask: leases.LeaseAsk,
               demands: Sequence[bookings.Demand],
               offer: offers.Offer, until: datetime.datetime,
               project: limits.Project
               ) -> tuple[leases.LeaseAsk, bool] | None:
    """Return an offer, or a later window that the limits allow.

    :returns: the request, and whether it is proved that there is no nearer
        one; ``None`` if none was found.
    """
    found: offers.Offer | None = offer
    nearest = True
    for _ in range(_WINDOWS):
        if found is None:
            return None
        offered = _changed(ask, demands, found.demands)
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
                               instants.instant(until))
    return None


def nowhere_together(snapshot: snapshots.Snapshot, demand: bookings.Demand,
                     count: int) -> bool:
    """Return whether so many instances never fit on one host."""
    if demand.affinity is not True or demand.amounts is None or count == 1:
        return False
    amounts = shares.times(demand.amounts, count)
    hosts = snapshot.timeline
    return not any(
        all(amount <= (hosts.capacities[number] or {}).get(name, 0)
            for name, amount in amounts)
        for number in fleet.members(demand.eligible & hosts.compute))


def _changed(ask: leases.LeaseAsk, asked: Sequence[bookings.Demand],
             demands: Sequence[bookings.Demand]) -> leases.LeaseAsk:
    start, end = demands[0].start, demands[0].end
    # NOTE: an offer that starts now must still be valid a minute later.
    at_once = ask.start is None and start == asked[0].start
    before = None
    if ask.before_end is not None:
        before = min(ask.before_end, instants.moment(end))
        if before < instants.moment(start):
            before = None
    return dataclasses.replace(
        ask, start=None if at_once else instants.moment(start),
        end=instants.moment(end), before_end=before,
        wishes=tuple(_resized(wish, demand) for wish, demand in zip(
            ask.wishes, demands, strict=True)))


def _resized(wish: leases.Wish, demand: bookings.Demand) -> leases.Wish:
    return dataclasses.replace(wish, least=demand.least, most=demand.most)


def _other_class(snapshot: snapshots.Snapshot, ask: leases.LeaseAsk,
                 demands: Sequence[bookings.Demand]) -> list[dict[str, Any]]:
    """Offer hosts of another class if only the class was asked for."""
    if len(demands) != 1:
        return []
    wish, demand = ask.wishes[0], demands[0]
    asked = requirements.parse(wish.hypervisor_properties,
                               wish.resource_properties).names
    if not asked or asked - {'resource_class'}:
        return []
    needed = lease_terms.requirement('', '', wish.instances)
    by_class: dict[str, list[int]] = {}
    for number in fleet.members(snapshot.usable & ~demand.eligible):
        host = snapshot.standing(number).host
        name = host.node.resource_class
        if name is not None and needed.met_by(requirements.describe(host)):
            by_class.setdefault(name, []).append(number)
    for name, numbers in sorted(by_class.items(),
                                key=lambda item: -len(item[1])):
        other = dataclasses.replace(demand, eligible=fleet.mask(numbers))
        if isinstance(planning.plan(snapshot.timeline, [other]), plans.Plan):
            return [_told('other_class', snapshot, dataclasses.replace(
                ask, wishes=(dataclasses.replace(
                    wish, hypervisor_properties='',
                    resource_properties=json.dumps(
                        ['==', '$resource_class', name])),)))]
    return []


def _apart(snapshot: snapshots.Snapshot, ask: leases.LeaseAsk,
           demands: Sequence[bookings.Demand]) -> list[dict[str, Any]]:
    """Offer several hosts to instances that asked to share one."""
    split: list[bookings.Demand] = []
    wishes: list[leases.Wish] = []
    for wish, demand in zip(ask.wishes, demands, strict=True):
        if wish.instances is not None and nowhere_together(
                snapshot, demand, wish.most):
            demand = dataclasses.replace(demand, affinity=None)
            wish = dataclasses.replace(wish, instances=dataclasses.replace(
                wish.instances, affinity=None))
        split.append(demand)
        wishes.append(wish)
    if tuple(wishes) == ask.wishes or isinstance(planning.plan(
            snapshot.timeline, split), plans.Refusal):
        return []
    return [_told('no_affinity', snapshot, dataclasses.replace(
        ask, wishes=tuple(wishes)))]


def _told(kind: str, snapshot: snapshots.Snapshot, ask: leases.LeaseAsk,
          nearest: bool = True) -> dict[str, Any]:
    start = ask.start or snapshot.now
    window = _window(start, ask.end)
    wanted = ' and '.join(
        f'{wish.least}' if wish.least == wish.most
        else f'{wish.least} to {wish.most}' for wish in ask.wishes)
    what = _what(ask)
    # NOTE: a search that was cut short may have missed a nearer window.
    one = 'The nearest' if nearest else 'A possible'
    detail = {
        'later': f'{one} later window is {window}.',
        'earlier': f'{one} earlier window is {window}.',
        'shorter': f'A shorter lease, {window}, would be accepted.',
        'no_affinity': 'Without "affinity", on any hosts, the instances would '
                       f'be accepted {window}.',
        'fewer': f'Fewer {what}, {wanted}, would be accepted {window}.',
        'other_class': 'Hosts of another resource class would be accepted: '
                       f'{ask.wishes[0].resource_properties}.'}[kind]
    return {'kind': kind, 'detail': detail, 'lease': body(ask)}


def within_limits(kind: str, now: datetime.datetime,
                  ask: leases.LeaseAsk) -> dict[str, Any]:
    """Return an offer that exceeds no limit of a project.

    :param kind: ``shorter`` or ``fewer``.
    """
    window = _window(ask.start or now, ask.end)
    counts = ' and '.join(str(wish.least) for wish in ask.wishes)
    what = _what(ask)[:-1] if counts == '1' else _what(ask)
    return {'kind': kind, 'lease': body(ask), 'detail': (
        f'Within the limits, {counts} {what} would be accepted {window}.')}


def _what(ask: leases.LeaseAsk) -> str:
    return ('instances' if any(wish.instances for wish in ask.wishes)
            else 'hosts')


def body(ask: leases.LeaseAsk) -> dict[str, Any]:
    """Return a request as it would be posted."""
    posted: dict[str, Any] = {
        'name': ask.name,
        'start_date': 'now' if ask.start is None else date(ask.start),
        'end_date': date(ask.end), 'events': [],
        'reservations': [_body(wish) for wish in ask.wishes]}
    if ask.before_end is not None:
        posted['before_end_date'] = date(ask.before_end)
    return posted


def _body(wish: leases.Wish) -> dict[str, Any]:
    posted: dict[str, Any] = {
        'resource_type': wish.resource_type,
        'resource_properties': wish.resource_properties}
    wanted = wish.instances
    if wanted is None:
        return {**posted, 'min': wish.least, 'max': wish.most,
                'hypervisor_properties': wish.hypervisor_properties,
                'before_end': wish.before_end}
    posted.update(amount=wish.most, affinity=wanted.affinity)
    if wanted.source_flavor_id is not None:
        posted['flavor_id'] = wanted.source_flavor_id
    if wish.flavor_id is not None:
        # NOTE: Nova is asked for the flavor again.
        return posted
    if wanted.flavor is not None:
        return {**posted, 'flavor': node_flavors.shown(wanted.flavor)}
    return {**posted, 'vcpus': wanted.vcpus, 'memory_mb': wanted.memory_mb,
            'disk_gb': wanted.disk_gb}


def date(moment: datetime.datetime) -> str:
    """Return an instant in the format of Blazar's clients."""
    # NOTE: their format has no seconds.
    if moment.second or moment.microsecond:
        return moment.isoformat()
    return moment.strftime('%Y-%m-%d %H:%M')


def _window(start: datetime.datetime, end: datetime.datetime) -> str:
    return f'from {told_times.moment(start)} until {told_times.moment(end)}'
