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

"""Repairs the differences that an audit has found."""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Collection
import dataclasses
import functools

from ironic_reservations import errors
from ironic_reservations.db import connection as db_connection
from ironic_reservations.engine import Engine
from ironic_reservations.features.placement.audit import auditing
from ironic_reservations.features.placement.audit import compare_hosts
from ironic_reservations.features.placement.audit import differences
from ironic_reservations.features.placement.audit import lease_providers
from ironic_reservations.features.placement.holds import calls as hold_calls
from ironic_reservations.features.placement.holds import holding
from ironic_reservations.features.placement.holds import releasing
from ironic_reservations.features.placement.lease_providers import converge

Difference = differences.Difference
Kind = differences.Kind

_IN_WORK = lease_providers.IN_WORK
#: The differences of lease reservations that only an operator can repair.
_NOT_REPAIRED = (Kind.OVERALLOCATED, Kind.RESERVATION_MISPLACED)


def repair(engine: Engine,
           found: Collection[Difference]) -> dict[Difference, str]:
    """Repair differences, after checking each host again.

    :returns: the reason for which each difference remains, in words; empty if
        it is repaired.
    """
    # Orphans first, since an orphan may prevent a hold of its node.
    order = sorted((one for one in found if not one.reservation_id),
                   key=lambda one: (one.kind is not Kind.ORPHAN, one))
    said = {one: _attempt(functools.partial(_repair, engine, one))
            for one in order}
    for ident in sorted({one.reservation_id for one in found} - {''}):
        its = [one for one in found if one.reservation_id == ident]
        why = _attempt(functools.partial(lease_providers.repair, engine,
                                         ident, its))
        said.update({one: one.detail if one.kind in _NOT_REPAIRED else why
                     for one in its})
    return said


def _attempt(repair_one: Callable[[], str]) -> str:
    """Repair a part; return the reason for which it remains, in words.

    Without an answer to one part, the others are repaired nevertheless.
    """
    try:
        return repair_one()
    except errors.ReservationError as exc:
        return str(exc)
    except db_connection.Conflict:
        return _IN_WORK


def _repair(engine: Engine, difference: Difference) -> str:
    if difference.kind in (Kind.UNCOUNTED, Kind.FAILED_MIGRATION):
        # The server belongs to its owner, and the migration to Nova.
        return difference.detail
    view = auditing.check_host(engine, difference.node_uuid,
                               not difference.shared)
    if difference not in compare_hosts.compare(view):
        return _IN_WORK if view.in_work else ''
    match difference.kind:
        case Kind.ORPHAN:
            return _remove_orphan(engine, difference)
        case Kind.HOLD_MISSING | Kind.HOLD_DIFFERS | Kind.UNHELD:
            return _hold_again(engine, view, difference.consumer_uuid)
        case Kind.PROVIDER_LEFTOVER:
            return _remove_provider(engine, view.host)
    return difference.detail


def _hold_again(engine: Engine, view: compare_hosts.View,
                consumer: str | None) -> str:
    """Hold a host for its promises; return the reason of a failure."""
    host = view.host
    old = next((hold for hold in host.held
                if hold.consumer_uuid == consumer), None)
    lacking = host.unheld() if old is None else [host.promise_of(old)]
    owners = {promise.owner for promise in lacking if promise}
    if old is not None and not releasing.give_up(engine, old):
        return 'It is not known whether the old hold is gone.'
    now = auditing.read_host(engine, host.uuid, host.exclusive)
    if now.node is None:
        return ''
    # A node that is promised to a lease and a reservation within it is held
    # once.
    again = [promise for promise in now.unheld()
             if promise.owner in owners - view.in_work]
    for promise in again[:1] if host.exclusive else again:
        result = (holding.hold_node(
            engine, dataclasses.replace(
                promise, instance_uuid=promise.instance_uuid
                or now.node.instance_uuid), now.node.resource_class)
            if host.exclusive else holding.hold(engine, promise))
        if not result.secured:
            return result.said or (
                f'The {"node" if host.exclusive else "share"} is '
                f'{result.verdict}.')
    return ''


def _remove_orphan(engine: Engine, difference: Difference) -> str:
    assert difference.consumer_uuid is not None
    answer = hold_calls.client(engine).delete_allocations(
        difference.consumer_uuid)
    return '' if answer.deleted else answer.said


def _remove_provider(engine: Engine, host: compare_hosts.Host) -> str:
    """Delete the provider of a deleted node; return a reason on failure."""
    if not all(releasing.give_up(engine, hold) for hold in host.held):
        return 'It is not known whether the hold is gone.'
    if engine.ironic is None or engine.ironic.node(
            host.uuid) is not None:
        return 'Ironic does not confirm that the node is gone.'
    # Its child has to be deleted first; Nova deletes both.
    said = converge.forget_host(engine, host.uuid)
    if said:
        return said
    answer = hold_calls.client(engine).delete_provider(host.uuid)
    return '' if answer.deleted else answer.said
