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

"""The errors for leases that are refused."""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Iterable
from collections.abc import Mapping
from collections.abc import Sequence
from collections.abc import Set
import datetime
from typing import Any

from ironic_reservations import errors
from ironic_reservations.db import lease_names
from ironic_reservations.engine import ceiling
from ironic_reservations.engine import Engine
from ironic_reservations.engine import snapshots
from ironic_reservations.engine.leases import demands as lease_demands
from ironic_reservations.engine.leases import offers
from ironic_reservations.engine.leases import request_checks
from ironic_reservations.model import count_text
from ironic_reservations.model import flavors
from ironic_reservations.model import instants
from ironic_reservations.model import leases
from ironic_reservations.model import node_window
from ironic_reservations.model import time_text
from ironic_reservations.planner import bookings
from ironic_reservations.planner import host_sets
from ironic_reservations.planner import host_states
from ironic_reservations.planner import plans

NO_HOST_MATCHES = 'no_host_matches'
NO_HOST_IS_OPEN = 'no_host_is_open'
NO_HOST_TAKES_ALL = 'no_host_takes_all'
HOSTS_ARE_LENT = 'hosts_are_lent'
HOSTS_ARE_CLOSED = 'hosts_are_closed'
#: How many blockers an answer lists.
_TOLD = 20
_MOVABLE = 'leases that have not started'
_HOW_TO_OPEN = (
    'No node is open to leases, so none can be granted. The operator opens '
    'nodes with "baremetal reservation host import", or all of them with '
    '"hosts = all" in the section [leases] of ironic-reservations.conf. If '
    'that is set, no node of Ironic has been read yet.')


def refusal(snapshot: snapshots.Snapshot, request: leases.LeaseRequest,
            demands: Sequence[bookings.Demand],
            refused: plans.Refusal,
            latest: datetime.datetime | None,
            project: ceiling.Ceiling) -> errors.LeaseRefused:
    """Return the error for a request that cannot be served, with offers.

    :param demands: the demands of the request, in the
        order of its reservations.
    :param refused: the refusal of the planner.
    :param latest: the latest end that the operator allows; ``None``: any.
    :param project: the usage of its project, and how much more it may have.
    """
    place = [demand.id for demand in demands].index(refused.demand.id)
    reason = _reason(snapshot, request.project_id, place, request.reservations,
                     refused)
    made = offers.make(snapshot, request, demands, latest, project)
    told = reason['detail']
    if made:
        told += ' ' + made[0]['detail']
    return errors.LeaseRefused(told, reasons=[reason], offers=made)


def of_change(snapshot: snapshots.Snapshot, project_id: str | None, place: int,
              wanted: Sequence[leases.LeaseReservation],
              refused: plans.Refusal,
              latest: datetime.datetime | None,
              windows: Sequence[tuple[str, datetime.datetime,
                                      datetime.datetime]]
              ) -> errors.LeaseRefused:
    """Return the error for a change that cannot be made.

    :param project_id: the project of the lease.
    :param place: the index of the reservation that cannot be served.
    :param wanted: the reservations of the lease with their new terms.
    :param latest: the latest possible end, if a later one was requested.
    :param windows: the nearest windows that it can be moved to, each with the
        kind of its offer.
    """
    return _unchanged(
        _reason(snapshot, project_id, place, wanted, refused), latest,
        windows)


def of_open_dates(snapshot: snapshots.Snapshot, project_id: str | None,
                  place: int, refused: plans.Refusal,
                  starts: tuple[datetime.datetime, datetime.datetime],
                  lease: leases.Lease, later: datetime.datetime | None
                  ) -> errors.LeaseRefused:
    """Return the error for a change of a lease whose dates are open.

    :param place: the index of the reservation that cannot be served.
    :param starts: the earliest and the latest start within its window.
    :param lease: the lease with its new terms.
    :param later: a later end of the window with which it could be planned.
    """
    between = lease.between
    assert between is not None
    reason = _reason(snapshot, project_id, place, lease.reservations, refused)
    made = [] if later is None else [{
        'kind': 'later', 'lease': {
            'between': [offers.date(between.earliest), offers.date(later)],
            'duration': int((lease.end - lease.start).total_seconds())},
        'detail': 'It can be planned in a window that ends at '
                  f'{time_text.moment(later)}.'}]
    return _with_offers(no_start(*starts, reason['detail']), reason, made)


def no_start(first: datetime.datetime, last: datetime.datetime,
             why: str) -> str:
    """Return the sentences for a range of starts without a possible one.

    :param why: the reason at the first of them.
    """
    return (f'No start from {time_text.moment(first)} until '
            f'{time_text.moment(last)} was found. For the first of them: '
            f'{why}')


def _unchanged(reason: dict[str, Any], latest: datetime.datetime | None,
               windows: Sequence[tuple[str, datetime.datetime,
                                       datetime.datetime]] = ()
               ) -> errors.LeaseRefused:
    made: list[dict[str, Any]] = [{
        'kind': kind, 'lease': {'start_date': offers.date(start),
                                'end_date': offers.date(end)},
        'detail': 'It can be moved to the window from '
                  f'{time_text.moment(start)} until {time_text.moment(end)}.'}
        for kind, start, end in windows]
    if latest is not None:
        made.append({
            'kind': 'shorter', 'lease': {'end_date': offers.date(latest)},
            'detail': f'It can be extended until {time_text.moment(latest)}.'})
    return _with_offers(reason['detail'], reason, made)


def _with_offers(told: str, reason: dict[str, Any],
                 made: Sequence[dict[str, Any]]) -> errors.LeaseRefused:
    return errors.LeaseRefused(
        ' '.join([told, 'The lease stays as it is.',
                  *(offer['detail'] for offer in made)]),
        reasons=[reason], offers=made)


def of_window(place: int, host: leases.Host,
              window: node_window.NodeWindow,
              latest: datetime.datetime | None) -> errors.LeaseRefused:
    """Return the error for an extension into the maintenance of a host.

    :param place: the index of the reservation that has the host.
    :param latest: the latest end that this lease can get, if it is known.
    """
    return _not_kept(
        place, plans.Cause.SHORTAGE.value,
        f'cannot keep host {_named(host)}, which is in '
        f'the maintenance window {window.window_id} from '
        f'{time_text.moment(window.starts_at)} until '
        f'{time_text.moment(window.ends_at)}.', window.starts_at, latest)


def of_closed(place: int, closed: Sequence[host_states.HostState],
              end: datetime.datetime) -> errors.LeaseRefused:
    """Return the error for an extension on hosts that have been closed.

    :param place: the index of the reservation that has the hosts.
    :param closed: these hosts.
    :param end: the present end of the lease.
    """
    told = '; '.join(f'host {_named(here.host)} {here.closed()}'
                     for here in closed[:_TOLD])
    # Which instances are on a host is not for their owner to choose.
    without = ('' if any(here.host.node.compute for here in closed) else
               'Send the later end together with the nodes of these hosts in '
               '"give_back" (with "min", other hosts are found instead), or ')
    advice = without + 'make another lease that starts then.'
    return _not_kept(
        place, HOSTS_ARE_CLOSED, f'can keep '
        f'{count_text.counted(len(closed), "host")} of its hosts only until '
        f'{time_text.moment(end)}, as promised: {told}. '
        f'{_capitalized(advice)}', end, short=len(closed))


def of_overtaken(place: int, host: leases.Host, end: datetime.datetime,
                 cause: plans.Cause) -> errors.LeaseRefused:
    """Return the error for an extension on a host that another lease needs.

    It does not disclose the request of the other lease, or its dates.

    :param place: the index of the reservation that has the host.
    :param end: the requested end.
    :param cause: the reason why no other host was found
        for the other lease.
    """
    # "no host matches" would disclose the other lease's request.
    code = (plans.Cause.SHORTAGE if cause.proved else cause).value
    return _not_kept(
        place, code, f'cannot keep host {_named(host)}, which cannot '
        f'be used at present, until {time_text.moment(end)}: another lease '
        'has been promised it within that time, and '
        + ('there is no other host for that one.' if cause.proved else
           'no other host was found for that one before the search stopped '
           'at its limit: the request may be possible.'), proved=cause.proved)


def of_loan(place: int, host: leases.Host, until: datetime.datetime,
            end: datetime.datetime,
            latest: datetime.datetime | None) -> errors.LeaseRefused:
    """Return the error for an extension beyond the loan of a host.

    :param place: the index of the reservation that has the host.
    :param until: the latest end that a lease of the host can have now.
    :param end: the present end of the lease.
    :param latest: the latest end that this lease can get, if it is known.
    """
    return _not_kept(
        place, HOSTS_ARE_LENT, f'cannot keep host {_named(host)} for so long: '
        'another project owns it'
        # The host may have got an owner, or the operator set the notice,
        # after the lease was promised.
        + ('.' if until <= end else
           f', and lends it {_at_the_latest(until)}'), max(until, end), latest)


def _not_kept(place: int, code: str, why: str,
              at: datetime.datetime | None = None,
              latest: datetime.datetime | None = None, short: int = 1,
              proved: bool = True) -> errors.LeaseRefused:
    """Return the error for an extension on hosts that cannot be kept.

    :param place: the index of the reservation that has the hosts.
    :param at: the instant from which they cannot be kept, if it is shown.
    :param latest: the latest end that the lease can get, if it is known.
    :param short: the number of these hosts.
    """
    return _unchanged({
        'code': code, 'detail': f'Reservation {place} {why}',
        'reservation': place, 'hosts_short': short, 'proved': proved,
        'at': None if at is None else at.isoformat(), 'blockers': []}, latest)


def _capitalized(sentence: str) -> str:
    return f'{sentence[0].upper()}{sentence[1:]}'


def _named(host: leases.Host) -> str:
    """Return a host of the caller's lease, in a form that commands accept."""
    return f'{host.id} ({host.node.name or host.node.uuid})'


def _reason(snapshot: snapshots.Snapshot, project_id: str | None, place: int,
            parts: Sequence[leases.LeaseReservationRequest]
            | Sequence[leases.LeaseReservation],
            refused: plans.Refusal) -> dict[str, Any]:
    demand, wanted = refused.demand, parts[place]
    at = None if refused.at is None else instants.moment(
        max(refused.at, demand.start))
    # A lease with one reservation needs no number.
    subject = 'the lease' if len(parts) == 1 else f'reservation {place}'
    code, detail = _why(snapshot, subject, wanted, refused, at)
    told = {'code': code, 'detail': detail, 'reservation': place,
            'hosts_short': refused.short, 'proved': refused.cause.proved,
            'at': None if at is None else at.isoformat(),
            'blockers': _blockers(snapshot, project_id, refused.blockers, {
                each.id for each in parts
                if isinstance(each, leases.LeaseReservation)})}
    if wanted.instances is not None:
        told['hosts'] = [_lacking(snapshot, each)
                         for each in refused.hosts[:_TOLD]]
    return told


def _why(snapshot: snapshots.Snapshot, subject: str,
         wanted: request_checks.Asked, refused: plans.Refusal,
         at: datetime.datetime | None) -> tuple[str, str]:
    demand = refused.demand
    count = demand.eligible.bit_count()
    usable = (demand.eligible & snapshot.usable).bit_count()
    window = (f'from {time_text.moment(instants.moment(demand.start))} until '
              f'{time_text.moment(instants.moment(demand.end))}')
    code: str = refused.cause.value
    if usable and offers.nowhere_together(snapshot, demand, wanted.most):
        return NO_HOST_TAKES_ALL, (
            f'{_capitalized(subject)} needs {wanted.most} instances '
            'on one host ("affinity" is true), but no host has room for all '
            'of them, not even an empty one. Leave "affinity" out.')
    if not any(here is not None and (wanted.instances is not None
                                     or not here.host.node.compute)
               for here in snapshot.states):
        return NO_HOST_IS_OPEN, _HOW_TO_OPEN + _in_shares(snapshot, wanted)
    needed = _hosts_needed(snapshot, demand)
    needs = f'{subject} needs {_hosts(demand, needed)}'
    too_few = f'Not enough hosts {window}: {needs}; {_matching(usable)}'
    lent, until = _lent(snapshot, demand)
    if usable < needed <= usable + lent:
        return HOSTS_ARE_LENT, f'{too_few} for so long.{until}'
    if usable < needed:
        return NO_HOST_MATCHES if not usable else code, (
            f'Not enough hosts: {needs}; {_matching(count)}'
            + ('.' if usable == count else
               f', and {_few(usable)} of them can be used.')
            + _fewer_at(snapshot, wanted, refused, needed - usable, at)
            + until + _sized(wanted)
            + _unfit(snapshot, demand.eligible & ~snapshot.usable)
            + _in_shares(snapshot, wanted))
    if wanted.instances is not None and refused.cause.proved:
        return code, (
            f'Not enough room {window}: {subject} needs '
            f'{count_text.counted(wanted.most, "instance")}; '
            f'{_matching(usable)}, but there is no room for {refused.short} '
            'of the instances'
            + ('' if at is None else f' at {time_text.moment(at)}')
            + f', even if {_MOVABLE} are moved.' + until)
    if (refused.cause is plans.Cause.SHORTAGE
            and lease_demands.KEPT in demand.id):
        assert at is not None
        number, = host_sets.members(demand.eligible)
        return code, (
            f'{_capitalized(subject)} cannot keep host '
            f'{_named(snapshot.host_state(number).host)} {window}: it cannot '
            f'be free at {time_text.moment(at)}, even if {_MOVABLE} are '
            'moved.' + _held(snapshot, demand) + until)
    if refused.cause is plans.Cause.SHORTAGE:
        assert at is not None
        can = ('it cannot be' if usable == 1 else
               f'{_few(needed - refused.short)} of them can be')
        return code, (
            f'{too_few}, but {can} free at {time_text.moment(at)}, even if '
            f'{_MOVABLE} are moved.'
            + _held(snapshot, demand) + until)
    if refused.cause is plans.Cause.NO_ASSIGNMENT:
        return code, (
            f'{too_few}, but too few of them are free together, however '
            f'{_MOVABLE} are moved.'
            + _held(snapshot, demand) + until)
    return code, (
        f'No hosts were found for {subject} {window}, and the '
        'search stopped at its limit before all possibilities were tried: '
        'the request may be possible.' + until)


def _hosts(demand: bookings.Demand, count: int) -> str:
    return count_text.counted(count, 'more host' if demand.id.endswith(
        lease_demands.MORE) else 'host')


def _fewer_at(snapshot: snapshots.Snapshot, wanted: request_checks.Asked,
              refused: plans.Refusal, missing: int,
              at: datetime.datetime | None) -> str:
    """Return sentences on an instant at which more hosts are missing.

    :param missing: the number of hosts that are missing even if all hosts are
        free.
    """
    if (wanted.instances is not None or at is None
            or refused.cause is not plans.Cause.SHORTAGE
            or refused.short <= missing):
        return ''
    left = refused.demand.least - refused.short
    return (f' {_few(left).capitalize()} of them can be free at '
            f'{time_text.moment(at)}, even if {_MOVABLE} are moved.'
            + _held(snapshot, refused.demand))


def _held(snapshot: snapshots.Snapshot, demand: bookings.Demand) -> str:
    """Return sentences about all obstacles other than leases."""
    return _reserved(snapshot, demand) + _maintained(snapshot, demand)


def _considered(snapshot: snapshots.Snapshot,
                demand: bookings.Demand) -> list[host_states.HostState]:
    """Return the usable hosts of a demand; without any, all of its hosts."""
    return [snapshot.host_state(number) for number in host_sets.members(
        demand.eligible & snapshot.usable or demand.eligible)]


def _reserved(snapshot: snapshots.Snapshot, demand: bookings.Demand) -> str:
    """Return a sentence about the reservations that are in the way."""
    start = instants.moment(demand.start)
    ends = [held.expires_at for here in _considered(snapshot, demand)
            if (held := here.reservation) is not None
            and held.live(snapshot.now) and held.expires_at > start]
    if not ends:
        return ''
    is_held = 'is held by a reservation' if len(ends) == 1 else (
        'are held by reservations')
    return (f' {len(ends)} of them {is_held} without a lease, until '
            f'{time_text.moment(max(ends))}.')


def _maintained(snapshot: snapshots.Snapshot,
                demand: bookings.Demand) -> str:
    """Return a sentence on the maintenance windows that are in the way."""
    start, end = (instants.moment(each) for each in (
        demand.start, demand.until))
    found = [
        [each for each in here.windows
         if each.starts_at < end and (each.ends_at > start
                                      or each.late(snapshot.now))]
        for here in _considered(snapshot, demand)]
    windows = [each for some in found for each in some]
    if not windows:
        return ''
    hosts = sum(map(bool, found))
    first = min(each.starts_at for each in windows)
    last = max(each.ends_at for each in windows)
    return (f' {hosts} of them {"is" if hosts == 1 else "are"} booked for '
            f'maintenance between {time_text.moment(first)} and '
            f'{time_text.moment(last)}.')


def _lent(snapshot: snapshots.Snapshot,
          demand: bookings.Demand) -> tuple[int, str]:
    """Return the number of hosts that would match if lent for longer.

    :returns: the number, and a sentence with the end of the loans.
    """
    if demand.until <= demand.lent_until:
        return 0, ''
    count = (demand.lent & snapshot.usable).bit_count()
    if not count:
        return 0, ''
    until = instants.moment(demand.lent_until - demand.margin)
    owned, lends = ((' Another project owns 1 more', 'lends it')
                    if count == 1 else
                    (f' Other projects own {count} more', 'lend them'))
    # Nothing is lent if cleaning takes all of the notice.
    return count, owned + ('.' if until <= snapshot.now else
                           f', and {lends} {_at_the_latest(until)}')


def _at_the_latest(until: datetime.datetime) -> str:
    return f'until {time_text.moment(until)} at the latest.'


def _few(amount: int) -> str:
    return f'only {amount}' if amount else 'none'


def _matching(hosts: int) -> str:
    if not hosts:
        return 'no host matches'
    return '1 host matches' if hosts == 1 else f'{hosts} hosts match'


def _hosts_needed(snapshot: snapshots.Snapshot,
                  demand: bookings.Demand) -> int:
    """Return the minimum number of empty hosts that a demand needs."""
    if demand.amounts is None or demand.affinity is False or (
            not demand.eligible & snapshot.timeline.compute):
        return demand.least
    return 1


def _lacking(snapshot: snapshots.Snapshot,
             each: plans.HostShortage) -> dict[str, Any]:
    """Return the resources that a host lacks, with the periods."""
    return {
        'host': str(snapshot.host_state(each.node).host.id), 'room': each.room,
        'short': [{'resource_class': spell.resource_class,
                   'amount': spell.short,
                   'start_date': instants.moment(spell.start).isoformat(),
                   'end_date': instants.moment(spell.end).isoformat()}
                  for spell in each.spells[:_TOLD]]}


def _sized(wanted: request_checks.Asked) -> str:
    if wanted.instances is None:
        return ''
    if wanted.instances.request is not None:
        return _asked(wanted.instances.request)
    vcpus, memory_mb, disk_gb = wanted.instances.sizes
    return (' Each instance needs '
            f'{count_text.counted(vcpus, "vcpu")}, {memory_mb} MB of memory '
            f'and {disk_gb} GB of disk.')


def _asked(flavor: flavors.Request) -> str:
    traits = [*sorted({name for group in flavor.groups
                       for name in group.required}),
              *sorted({f'not {name}' for group in flavor.groups
                       for name in group.forbidden})]
    return (' Each instance needs '
            + ', '.join(f'{amount} {name}' for name, amount
                        in sorted(flavor.totals().items()))
            + (f', on a host with the traits {", ".join(traits)}'
               if traits else '') + '.')


def _in_shares(snapshot: snapshots.Snapshot,
               wanted: request_checks.Asked) -> str:
    count = snapshot.timeline.compute.bit_count()
    if wanted.instances is not None or not count:
        return ''
    return (' A compute host cannot be leased as a whole: to use the '
            f'{count_text.counted(count, "compute host")}, ask for '
            'instances with "virtual:instance".')


def _unfit(snapshot: snapshots.Snapshot, numbers: int) -> str:
    told = []
    for number in host_sets.members(numbers)[:_TOLD]:
        here = snapshot.host_state(number)
        # Neither its name nor its parent: only operators may list hosts.
        why = ('is a part of another node' if here.host.node.part_of_node
               else here.unfit)
        told.append(f'host {here.host.id} {why}')
    return f' Not usable: {"; ".join(told)}.' if told else ''


def _blockers(snapshot: snapshots.Snapshot, project_id: str | None,
              blocking: Sequence[bookings.Booking],
              changed: Set[str]) -> list[dict[str, Any]]:
    """Return the leases in the way, except for the one that is changed."""
    rows = _rows(snapshot, {host_states.whole(each.id) for each in blocking}, {
        each.node for each in blocking})
    told: dict[tuple[Any, ...], dict[str, Any]] = {}
    for each in blocking:
        row = rows.get(host_states.whole(each.id))
        if row is None or row.reservation_id in changed:
            continue
        own = row.project_id == project_id
        known: dict[str, Any] = {
            'start_date': row.starts_at.isoformat(),
            'end_date': row.ends_at.isoformat(), 'own': own}
        if own:
            known['reservation_id'] = row.reservation_id
        key = tuple(known.values())
        told.setdefault(key, {**known, 'hosts': 0})['hosts'] += 1
    return list(told.values())[:_TOLD]


def _rows(snapshot: snapshots.Snapshot, names: Set[str],
          numbers: Iterable[int]) -> dict[str, leases.NodeBooking]:
    """Return bookings by the planner's names.

    :param numbers: the hosts where they probably are.
    """
    rows: dict[str, leases.NodeBooking] = {}
    reservation_ids = {name.rpartition('/')[0] for name in names}
    # The plan that failed may show them on other hosts than theirs.
    for states in ((snapshot.states[number] for number in numbers
                    if number >= 0), snapshot.states):
        if len(rows) < len(names):
            rows.update((name, row) for here in states if here is not None
                        for row, _ in here.promised
                        if row.reservation_id in reservation_ids
                        and (name := host_states.name(row)) in names)
    return rows


def name_blockers(engine: Engine, refused: errors.LeaseRefused
                  ) -> dict[str, str | None]:
    """Add the names of the leases in the way to a refusal.

    A refusal has reservation ids only for leases of the caller's
    project; without projects, for all.

    :returns: the users of these leases, by the ids of the leases.
    """
    own = [each for reason in refused.details.get('reasons', ())
           for each in reason.get('blockers', ()) if 'reservation_id' in each]
    users: dict[str, str | None] = {}
    if not own:
        return users
    with engine.database.read() as connection:
        named = lease_names.read_by_reservation(
            connection, {each['reservation_id'] for each in own})
    for each in own:
        # The lease may have ended meanwhile.
        if each['reservation_id'] in named:
            lease = named[each['reservation_id']]
            each['lease_id'], each['lease_name'] = lease.id, lease.name
            users[lease.id] = lease.user_id
    return users


def name_users(refused: errors.LeaseRefused,
               users: Mapping[str, str | None],
               is_own: Callable[[str | None], bool]) -> None:
    """Add the users of the leases in the way to a refusal.

    :param users: the users by the ids of leases.
    :param is_own: whether a lease of a user is the caller's own.
    """
    for reason in refused.details.get('reasons', ()):
        for each in reason.get('blockers', ()):
            if each.get('lease_id') in users:
                each['user_id'] = users[each['lease_id']]
                each['own'] = is_own(each['user_id'])
