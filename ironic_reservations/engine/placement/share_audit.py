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

"""Comparing what is held of compute hosts with Placement, both ways.

What is cheap comes first: of a host whose provider has not changed, of which
as much is used as when it was in order, and that is to have the same as then,
nothing is read.
"""

from __future__ import annotations

from collections.abc import Collection
from collections.abc import Iterable
from collections.abc import Mapping
import dataclasses
import uuid as uuid_module

from ironic_reservations.clouds import placement
from ironic_reservations.db import holds as db_holds
from ironic_reservations.db import nodes as db_nodes
from ironic_reservations.db import providers_seen
from ironic_reservations.engine import Engine
from ironic_reservations.engine.placement import compute_hosts
from ironic_reservations.engine.placement import consumers
from ironic_reservations.engine.placement import hold_calls
from ironic_reservations.lifecycle.placement import hold_audit
from ironic_reservations.lifecycle.placement import holds
from ironic_reservations.lifecycle.placement import share_audit as planner
from ironic_reservations.model import facts

#: By what the rows of compute hosts are told from those of nodes.
MARK = 'COMPUTE_HOST'
_NAMESPACE = uuid_module.UUID('7c0f5f1e-5a63-4b0c-8d7c-5f6a1f0b9d34')

_Seen = dict[str, providers_seen.Seen]


@dataclasses.dataclass(frozen=True)
class Rows:
    """What our database says.

    :ivar hosts: the uuids of all compute hosts.
    :ivar held: what is held of hosts, or being taken back.
    :ivar promises: what is to be held of them.
    :ivar seen: how they were when they were in order.
    """

    hosts: Collection[str]
    held: Mapping[str, list[holds.Hold]]
    promises: Mapping[str, list[holds.Promise]]
    seen: Mapping[str, providers_seen.Seen]


@dataclasses.dataclass(frozen=True)
class Found:
    """What an audit has found of compute hosts.

    :ivar looked_at: how many were looked at one by one.
    :ivar in_work: of how many something cannot be said now.
    :ivar seen: how those are that are in order.
    """

    looked_at: int = 0
    in_work: int = 0
    differences: tuple[hold_audit.Difference, ...] = ()
    seen: Mapping[str, providers_seen.Seen] = dataclasses.field(
        default_factory=dict)


def rows_of(nodes: Mapping[str, facts.Node], held: Iterable[holds.Hold],
            promises: Iterable[holds.Promise],
            seen: Mapping[str, providers_seen.Seen]) -> Rows:
    """Give what there is about compute hosts, of all that there is."""
    of_hosts: dict[str, list[holds.Hold]] = {}
    for hold in held:
        if hold.amounts is not None:
            of_hosts.setdefault(hold.node_uuid, []).append(hold)
    promised: dict[str, list[holds.Promise]] = {}
    for promise in promises:
        if promise.amounts is not None:
            promised.setdefault(promise.node_uuid, []).append(promise)
    return Rows([uuid for uuid, node in nodes.items() if node.compute],
                of_hosts, promised, {uuid: one for uuid, one in seen.items()
                                     if one.resource_class == MARK})


def find(engine: Engine, rows: Rows,
         there: Mapping[str, placement.Provider], everything: bool) -> Found:
    """Find what differs.

    :param there: all providers.
    :param everything: look at each host, whatever was seen before.
    :raises PlacementUnavailable: it cannot be known.
    :raises DatabaseUnavailable: it cannot be known.
    """
    uuids = sorted({*rows.hosts, *rows.held,
                    *(rows.seen.keys() & there.keys())})
    if not uuids:
        return Found()
    used = compute_hosts.usages(engine, there.keys() & {*uuids})
    suspects = [uuid for uuid in uuids if everything or _suspect(
        rows, uuid, there.get(uuid), used.get(uuid))]
    found: list[hold_audit.Difference] = []
    seen: _Seen = {}
    in_work = 0
    for uuid in suspects:
        view = look(engine, uuid)
        differences = planner.compare(view)
        found += differences
        in_work += bool(view.in_work)
        if uuid in there and not differences and not view.in_work:
            seen[uuid] = _as_seen(there[uuid], view.held.values(),
                                  used.get(uuid))
    return Found(len(suspects), in_work, tuple(found), seen)


def look(engine: Engine, uuid: str) -> planner.View:
    """Look at one compute host, closely.

    :raises PlacementUnavailable: it cannot be known.
    """
    before = _of_host(engine, uuid)
    view = _view(engine, uuid, before)
    if planner.compare(view):
        # NOTE: what is read is not of one moment; what differs still, and
        # with the same rows, does differ.
        view = _view(engine, uuid, before)
        after = _of_host(engine, uuid)
        changed = _changed(before, after)
        if changed:
            view = dataclasses.replace(
                view, in_work=view.in_work | changed, held={
                    owner: hold for owner, hold in view.held.items()
                    if owner not in changed},
                strays=view.strays - {
                    row.consumer_uuid for row in after[1]},
                usages={})
    return view


_OfHost = tuple[bool, list[holds.Hold], list[holds.Promise]]


def _of_host(engine: Engine, uuid: str) -> _OfHost:
    with engine.database.read() as connection:
        node = db_nodes.read_nodes(connection, [uuid],
                                   with_traits=False).get(uuid)
        return (node is not None and node.compute,
                db_holds.read_of_node(connection, uuid),
                db_holds.read_promises(connection, engine.clock(), uuid))


def _changed(before: _OfHost, after: _OfHost) -> frozenset[str]:
    """Give the owners whose holds or promises have changed."""
    rows = {*before[1]} ^ {*after[1]}
    promises = {*before[2]} ^ {*after[2]}
    return frozenset({row.owner for row in rows}
                     | {promise.owner for promise in promises})


def _view(engine: Engine, uuid: str, of_host: _OfHost) -> planner.View:
    exists, rows, promises = of_host
    in_work = frozenset(row.owner for row in rows
                        if row.state is not holds.HoldState.ACTIVE)
    client = hold_calls.client(engine)
    allocated = client.allocated(uuid)
    offered = None if allocated is None else client.inventories(uuid)
    there = None if allocated is None else allocated.consumers
    # NOTE: servers come and go while it is read.
    usages = (allocated.usages if allocated is not None and allocated.steady
              else {})
    known = {row.consumer_uuid for row in rows}
    return planner.View(
        uuid, exists,
        {row.owner: row for row in rows if row.owner not in in_work},
        {promise.owner: promise for promise in promises}, in_work,
        there, consumers.strays(engine, {*(there or {})} - known), usages, {
            name: int((offer['total'] - offer['reserved'])
                      * offer['allocation_ratio'])
            for name, offer in (
                {} if offered is None else offered.by_class).items()})


def _suspect(rows: Rows, uuid: str, provider: placement.Provider | None,
             used: Mapping[str, int] | None) -> bool:
    """Tell whether a host has to be looked at."""
    held = rows.held.get(uuid, [])
    promises = {promise.owner: promise
                for promise in rows.promises.get(uuid, [])}
    return (provider is None
            or any(hold.state is not holds.HoldState.ACTIVE
                   or not planner.agrees(hold, promises) for hold in held)
            or bool(planner.unheld(promises.values(),
                                   (hold.owner for hold in held)))
            or rows.seen.get(uuid) != _as_seen(provider, held, used))


def _as_seen(provider: placement.Provider, held: Iterable[holds.Hold],
             used: Mapping[str, int] | None) -> providers_seen.Seen:
    """NOTE: a hold that somebody deletes shows in nothing but in what is
    used.
    """
    state = (sorted((hold.consumer_uuid, hold.amounts) for hold in held),
             None if used is None else sorted(used.items()))
    return providers_seen.Seen(provider.generation, MARK, str(
        uuid_module.uuid5(_NAMESPACE, repr(state))))
