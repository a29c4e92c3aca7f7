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

"""The bookings of a started lease on hosts that cannot be used at present.

These hosts are not on the timeline, so the planner does not use them. Promises
to other leases on these hosts have to be kept nevertheless.
"""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Sequence
import dataclasses
import datetime

from ironic_reservations.engine import snapshots
from ironic_reservations.engine.leases import demands as lease_demands
from ironic_reservations.engine.leases import refusal_messages
from ironic_reservations.engine.leases.replan import attempt as attempts
from ironic_reservations.model import instants
from ironic_reservations.model import leases
from ironic_reservations.planner import bookings
from ironic_reservations.planner import host_states
from ironic_reservations.planner import instance_host_states
from ironic_reservations.planner import plans


def check_closed(attempt: attempts.Attempt,
                 rows: Sequence[leases.NodeBooking]) -> None:
    """Check that no closed host is kept beyond its promised end.

    :raises LeaseRefused: a closed host would be kept for longer.
    """
    end = attempt.before.end
    if (attempt.after.end <= end
            or attempt.engine.conf.leases.allow_extension_on_closed_hosts):
        return
    found = {attempt.snapshot.number_of(row): row for row in rows
             if attempt.snapshot.host_of(row).closed()}
    if not found:
        return
    place = min(attempt.place(row.reservation_id) for row in found.values())
    raise refusal_messages.of_closed(
        place, [attempt.snapshot.host_state(number)
                for number, row in sorted(found.items())
                if attempt.place(row.reservation_id) == place], end)


def check_windows(attempt: attempts.Attempt,
                  rows: Sequence[leases.NodeBooking],
                  reaches: Callable[[datetime.datetime], bool]) -> None:
    """Check that no host is kept into its maintenance window.

    :param reaches: returns whether the lease could be extended until then.
    :raises LeaseRefused: a host would be kept into its maintenance.
    """
    before, after = attempt.before.end, attempt.after.end
    until = instants.moment(instants.instant(after) + attempt.snapshot.margin)
    found = [] if after <= before else [
        (window, row) for row in rows
        for window in attempt.snapshot.host_of(row).windows
        if window.stands(attempt.snapshot.now)
        and window.starts_at < until and window.ends_at > before]
    if not found:
        return
    window, row = min(found, key=lambda pair: pair[0].starts_at)
    latest = min(attempt.until, instants.moment(
        instants.instant(window.starts_at) - attempt.snapshot.margin))
    raise refusal_messages.of_window(
        attempt.place(row.reservation_id),
        attempt.snapshot.host_of(row).host, window,
        latest if reaches(latest) else None)


def check_loans(attempt: attempts.Attempt, rows: Sequence[leases.NodeBooking],
                reaches: Callable[[datetime.datetime], bool]) -> None:
    """Check that no host is kept beyond the end of its loan.

    :param reaches: returns whether the lease could be extended until then.
    :raises LeaseRefused: a host would be kept beyond its loan.
    """
    loans, after = attempt.snapshot.loans, attempt.after.end
    if after <= attempt.before.end or (
            instants.instant(after) + attempt.snapshot.margin <= loans.until):
        return
    lent = loans.to(attempt.before.project_id)
    until = instants.moment(loans.until - attempt.snapshot.margin)
    for row in rows:
        number = attempt.snapshot.number_of(row)
        if lent >> number & 1:
            place = attempt.place(row.reservation_id)
            offered = min(attempt.until, until)
            raise refusal_messages.of_loan(
                place, attempt.snapshot.host_state(number).host, until,
                attempt.before.end, offered if reaches(offered) else None)


def overtaken(attempt: attempts.Attempt, rows: Sequence[leases.NodeBooking],
              kept: Sequence[leases.NodeBooking]
              ) -> tuple[list[list[leases.NodeBooking]],
                         list[bookings.Demand]]:
    """Return the bookings in the way if such hosts are kept for longer.

    Their places stay taken until they are planned anew.

    :param rows: the bookings of the lease on these hosts.
    :param kept: all bookings of the lease that stay.
    :returns: units of bookings of other leases, each of which needs one host,
        and for each unit a demand for another host.
    """
    found = {other: (row, wanted) for row in rows
             for other, wanted in _overtaken(attempt, row, kept)}
    units = lease_demands.units(attempt.snapshot, found)
    moving = []
    for unit in units:
        row, wanted = found[unit[0]]
        moving.append(lease_demands.home(
            attempt.snapshot, unit, wanted, attempt.snapshot.usable,
            f'{row.reservation_id}:{row.place}:{host_states.name(unit[0])}'))
    return units, moving


def check_homes(attempt: attempts.Attempt,
                units: Sequence[Sequence[leases.NodeBooking]],
                moving: Sequence[bookings.Demand],
                refused: plans.Refusal) -> None:
    """Check that no displaced booking is the reason of a refusal.

    :param units: the units that :func:`overtaken` returns.
    :param moving: the demands that it returns.
    :param refused: the reason why the lease cannot be planned.
    :raises LeaseRefused: there is no other host for one of the units.
    """
    for unit, demand in zip(units, moving, strict=True):
        if demand.id == refused.demand.id:
            place = attempt.place(attempts.reservation_of(demand))
            raise refusal_messages.of_overtaken(
                place, attempt.snapshot.host_of(unit[0]).host,
                attempt.after.end, refused.cause)


def _overtaken(attempt: attempts.Attempt, row: leases.NodeBooking,
               kept: Sequence[leases.NodeBooking]
               ) -> list[snapshots.Displaced]:
    """Return bookings of others in the time for which a host is kept."""
    before, after = attempt.before.end, attempt.after.end
    here = attempt.snapshot.host_of(row)
    if after <= before:
        return []
    if here.host.node.compute:
        return _crowded_out(attempt, here, kept)
    until = instants.instant(after) + attempt.snapshot.margin
    return [(other, wanted) for other, wanted in here.promised
            if not other.begun and other.starts_at >= before
            and instants.instant(other.starts_at) < until]


def _crowded_out(attempt: attempts.Attempt, here: host_states.HostState,
                 kept: Sequence[leases.NodeBooking]
                 ) -> list[snapshots.Displaced]:
    """Return bookings without room on a compute host beside kept bookings."""
    staying = {row.uuid for row in kept}
    end = instants.instant(attempt.after.end)
    there = [host_states.of_row(row, 0, attempt.snapshot.now, 0, 1,
                                here.instances[row.reservation_id])
             for row, _ in here.promised]
    known = {row.uuid for row, _ in instance_host_states.excess(here, there)}
    longer = [dataclasses.replace(each, end=end, movable=False)
              if row.uuid in staying else each
              for each, (row, _) in zip(there, here.promised, strict=True)]
    return [(row, wanted) for row, wanted
            in instance_host_states.excess(here, longer)
            if row.uuid not in known and row.uuid not in staying]
