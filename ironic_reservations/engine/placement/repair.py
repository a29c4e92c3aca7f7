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

"""Mending what an audit has found."""

from __future__ import annotations

import dataclasses

from ironic_reservations import errors
from ironic_reservations.clouds import placement
from ironic_reservations.db import holds as db_holds
from ironic_reservations.db import nodes as db_nodes
from ironic_reservations.engine import Engine
from ironic_reservations.engine.placement import audit as placement_audit
from ironic_reservations.engine.placement import hold_calls
from ironic_reservations.engine.placement import holds as hold_cases
from ironic_reservations.engine.placement import reservation_audit
from ironic_reservations.engine.placement import reservation_providers
from ironic_reservations.engine.placement import share_audit
from ironic_reservations.engine.placement import share_holds
from ironic_reservations.lifecycle.placement import hold_audit
from ironic_reservations.lifecycle.placement import (
    share_audit as share_planner,
)

Kind = hold_audit.Kind


@dataclasses.dataclass(frozen=True)
class Repair:
    """What became of a difference.

    :ivar done: whether it is mended.
    :ivar said: why not.
    """

    difference: hold_audit.Difference
    done: bool
    said: str = ''


def repair(engine: Engine,
           report: placement_audit.Report) -> list[Repair]:
    """Mend what can be; each node is looked at once more before.

    :raises DatabaseUnavailable: nothing more could be written.
    """
    # NOTE: an orphan may be what keeps a node from being held.
    order = sorted((one for one in report.differences
                    if not one.reservation_id), key=lambda one: (
                        one.kind is not Kind.ORPHAN, one))
    repairs = [_repair(engine, difference) for difference in order]
    return repairs + _repair_reservations(
        engine, [one for one in report.differences if one.reservation_id])


def _repair_reservations(engine: Engine,
                         differences: list[hold_audit.Difference]
                         ) -> list[Repair]:
    try:
        said = reservation_audit.repair(engine, differences)
    except (errors.PlacementUnavailable, errors.NovaUnavailable) as exc:
        said = dict.fromkeys(differences, str(exc))
    return [Repair(difference, not said[difference], said[difference])
            for difference in differences]


def _repair(engine: Engine, difference: hold_audit.Difference) -> Repair:
    if difference.shared:
        return _repair_share(engine, difference)
    try:
        view = placement_audit.look(engine, difference.node_uuid)
        if view is None:
            return Repair(difference, False, 'Another process is changing it.')
        if difference not in hold_audit.compare(view):
            return Repair(difference, True)
        if difference.kind is Kind.ORPHAN:
            said = _remove_orphan(engine, difference)
        elif difference.kind in (Kind.HOLD_MISSING, Kind.HOLD_DIFFERS,
                                 Kind.UNHELD):
            said = _hold_again(engine, view)
        elif difference.kind is Kind.PROVIDER_LEFTOVER:
            said = _remove_provider(engine, view)
        else:
            said = difference.detail
    except errors.PlacementUnavailable as exc:
        said = str(exc)
    return Repair(difference, not said, said)


def _repair_share(engine: Engine,
                  difference: hold_audit.Difference) -> Repair:
    """Mend what differs about a compute host."""
    try:
        view = share_audit.look(engine, difference.node_uuid)
        if difference not in share_planner.compare(view):
            return Repair(difference, not view.in_work, (
                'Another process is changing it.' if view.in_work else ''))
        if difference.kind is Kind.ORPHAN:
            said = _remove_orphan(engine, difference)
        elif difference.kind in (Kind.HOLD_MISSING, Kind.HOLD_DIFFERS):
            said = _hold_share_again(engine, view, difference)
        elif difference.kind is Kind.UNHELD:
            said = _hold_shares(engine, view.host, {
                promise.owner for promise in view.unheld()})
        else:
            said = difference.detail
    except errors.PlacementUnavailable as exc:
        said = str(exc)
    return Repair(difference, not said, said)


def _hold_share_again(engine: Engine, view: share_planner.View,
                      difference: hold_audit.Difference) -> str:
    """Take back what is held of a host, and hold what is promised."""
    old = next(row for row in view.held.values()
               if row.consumer_uuid == difference.consumer_uuid)
    if not hold_cases.give_up(engine, old):
        return 'It is not known whether the old hold is gone.'
    return _hold_shares(engine, view.host, {old.owner})


def _hold_shares(engine: Engine, host: str, owners: set[str]) -> str:
    """Hold what is promised of a host to some; tells why not."""
    with engine.database.read() as connection:
        promises = db_holds.read_promises(connection, engine.clock(), host)
    for promise in promises:
        if promise.owner in owners and promise.amounts is not None:
            result = share_holds.hold(engine, promise)
            if result.verdict is not hold_cases.Verdict.HELD:
                return result.said or f'The share is {result.verdict}.'
    return ''


def _remove_orphan(engine: Engine,
                   difference: hold_audit.Difference) -> str:
    assert difference.consumer_uuid is not None
    answer = hold_calls.client(engine).delete_allocations(
        difference.consumer_uuid)
    return ('' if answer.outcome in (placement.Outcome.DONE,
                                     placement.Outcome.GONE)
            else answer.said)


def _hold_again(engine: Engine, view: hold_audit.View) -> str:
    """Hold a node for whom it is held, or promised; tells why not."""
    owner, project, user, instance = _whose(view)
    if view.hold is not None and not hold_cases.release(
            engine, [view.hold.owner]):
        return 'It is not known whether the old hold is gone.'
    with engine.database.read() as connection:
        node = db_nodes.read_nodes(connection, [view.node_uuid],
                                   with_traits=False).get(view.node_uuid)
        promised = db_holds.read_promises(connection, engine.clock(),
                                          view.node_uuid)
    if node is None or (view.promise is not None and not promised):
        return ''
    result = hold_cases.hold(engine, view.node_uuid, node.resource_class,
                             owner, project, user, instance)
    if result.verdict in (hold_cases.Verdict.HELD,
                          hold_cases.Verdict.INSTANCE):
        return ''
    return result.said or f'The node is {result.verdict}.'


def _whose(view: hold_audit.View
           ) -> tuple[str, str | None, str | None, str | None]:
    promise, hold = view.promise, view.hold
    if promise is not None:
        return (promise.owner, promise.project_id, promise.user_id,
                promise.instance_uuid or view.instance_uuid)
    assert hold is not None
    return hold.owner, hold.project_id, hold.user_id, view.instance_uuid


def _remove_provider(engine: Engine, view: hold_audit.View) -> str:
    """Delete the provider of a node that is no more; tells why not."""
    if view.hold is not None and not hold_cases.release(
            engine, [view.hold.owner]):
        return 'It is not known whether the hold is gone.'
    if engine.ironic is None or engine.ironic.node(
            view.node_uuid) is not None:
        return 'Ironic does not confirm that the node is gone.'
    # NOTE: its child may stand in the way, which Nova deletes with it.
    said = reservation_providers.forget_host(engine, view.node_uuid)
    if said:
        return said
    answer = hold_calls.client(engine).delete_provider(view.node_uuid)
    return ('' if answer.outcome in (placement.Outcome.DONE,
                                     placement.Outcome.GONE)
            else answer.said)
