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

"""Comparing our rows with Placement, both ways.

First what is cheap: all providers in one call, and for each class those that
have room in another.  A node that was in order, whose provider has not
changed since, and that is free or not as it should be, is in order still.
Only the others are looked at, one by one.
"""

from __future__ import annotations

from collections.abc import Iterable
from collections.abc import Mapping
import dataclasses

from ironic_reservations.clouds import placement
from ironic_reservations.db import holds as db_holds
from ironic_reservations.db import nodes as db_nodes
from ironic_reservations.db import providers_seen
from ironic_reservations.engine import Engine
from ironic_reservations.engine import retry
from ironic_reservations.engine.placement import consumers
from ironic_reservations.engine.placement import hold_calls
from ironic_reservations.engine.placement import reservation_audit
from ironic_reservations.engine.placement import share_audit
from ironic_reservations.lifecycle.placement import hold_audit
from ironic_reservations.lifecycle.placement import holds
from ironic_reservations.model import facts
from ironic_reservations.model import flavors


@dataclasses.dataclass(frozen=True)
class Report:
    """What an audit has found.

    :ivar nodes: how many there are.
    :ivar looked_at: how many of them were looked at one by one.
    :ivar in_work: how many of those somebody is at work on, so that nothing
        can be said of them.
    """

    nodes: int
    looked_at: int
    in_work: int
    differences: tuple[hold_audit.Difference, ...]

    @property
    def clean(self) -> bool:
        """Whether everything agrees."""
        return not self.differences


@dataclasses.dataclass(frozen=True)
class _Rows:
    """What our database says.

    :ivar nodes: of Ironic.
    :ivar shared: what it says of compute hosts.
    :ivar children: what is seen of reservation providers.
    """

    nodes: Mapping[str, facts.Node]
    held: Mapping[str, list[holds.Hold]]
    promises: Mapping[str, holds.Promise]
    seen: Mapping[str, providers_seen.Seen]
    shared: share_audit.Rows
    children: Mapping[str, providers_seen.Seen]


def audit(engine: Engine, everything: bool = False) -> Report:
    """Compare all nodes.

    :param everything: look at each one, whatever was seen before.
    :raises PlacementUnavailable: it cannot be known.
    :raises DatabaseUnavailable: it cannot be known.
    """
    rows = _read(engine)
    there = {found.uuid: found
             for found in hold_calls.client(engine).providers()}
    free = _free(engine, rows)
    uuids = sorted({*rows.nodes, *rows.held, *(rows.seen.keys()
                                                & there.keys())})
    suspects = [uuid for uuid in uuids if everything or _suspect(
        rows, uuid, there.get(uuid), uuid in free)]
    found: list[hold_audit.Difference] = []
    seen: dict[str, providers_seen.Seen] = {}
    in_work = 0
    for uuid in suspects:
        view = look(engine, uuid)
        if view is None:
            in_work += 1
            continue
        differences = hold_audit.compare(view)
        found += differences
        if not differences and uuid in there and view.class_name is not None:
            seen[uuid] = providers_seen.Seen(
                there[uuid].generation, view.class_name,
                hold_audit.expected(view.hold, view.promise))
    of_hosts = share_audit.find(engine, rows.shared, there, everything)
    found += of_hosts.differences
    seen.update(of_hosts.seen)
    differences, children = reservation_audit.find(
        engine, there, rows.children, everything)
    found += differences
    seen.update(children)
    before = {**rows.seen, **rows.shared.seen, **rows.children}
    _remember(engine, {uuid: one for uuid, one in seen.items()
                       if before.get(uuid) != one},
              before.keys() - there.keys())
    return Report(len(rows.nodes) + len(rows.shared.hosts),
                  len(suspects) + of_hosts.looked_at,
                  in_work + of_hosts.in_work, tuple(found))


def look(engine: Engine, uuid: str) -> hold_audit.View | None:
    """Look at one node, closely.

    :returns: ``None`` where somebody is at work on it.
    :raises PlacementUnavailable: it cannot be known.
    """
    before = _of_node(engine, uuid)
    view = _view(engine, uuid, before)
    if view is not None and hold_audit.compare(view):
        # NOTE: what is read is not of one moment; what differs still, and
        # with the same rows, does differ.
        view = _view(engine, uuid, before)
        if _of_node(engine, uuid) != before:
            return None
    return view


_OfNode = tuple[facts.Node | None, list[holds.Hold], holds.Promise | None]


def _of_node(engine: Engine, uuid: str) -> _OfNode:
    with engine.database.read() as connection:
        promises = db_holds.read_promises(connection, engine.clock(), uuid)
        return (db_nodes.read_nodes(connection, [uuid],
                                    with_traits=False).get(uuid),
                db_holds.read_of_node(connection, uuid),
                promises[0] if promises else None)


def _view(engine: Engine, uuid: str, of_node: _OfNode
          ) -> hold_audit.View | None:
    node, rows, promise = of_node
    if any(row.state is not holds.HoldState.ACTIVE for row in rows):
        return None
    client = hold_calls.client(engine)
    there = client.consumers_on(uuid)
    usages = None if there is None else client.usages(uuid)
    totals: dict[str, int] = {}
    if usages and max(usages.values()) > 1:
        inventories = client.inventories(uuid)
        totals = {} if inventories is None else {
            name: offered['total']
            for name, offered in inventories.by_class.items()}
    return hold_audit.View(
        uuid, _class_of(node), exists=node is not None,
        needed=(node is not None
                and node.provision_state == facts.AVAILABLE),
        hold=rows[0] if rows else None, promise=promise,
        instance_uuid=None if node is None else node.instance_uuid,
        consumers=there, strays=consumers.strays(engine, there or {}),
        usages=usages or {}, totals=totals)


def _read(engine: Engine) -> _Rows:
    now = engine.clock()
    with engine.database.snapshot() as connection:
        held = db_holds.read_all(connection)
        seen = providers_seen.read(connection)
        nodes = db_nodes.read_nodes(connection, with_traits=False)
        promises = db_holds.read_promises(connection, now)
    of_nodes: dict[str, list[holds.Hold]] = {}
    for hold in held:
        if hold.amounts is None:
            of_nodes.setdefault(hold.node_uuid, []).append(hold)
    children = {uuid: one for uuid, one in seen.items()
                if one.resource_class == reservation_audit.MARK}
    shared = share_audit.rows_of(nodes, held, promises, seen)
    return _Rows(
        {uuid: node for uuid, node in nodes.items() if not node.compute},
        of_nodes,
        {promise.node_uuid: promise for promise in promises
         if promise.amounts is None},
        {uuid: one for uuid, one in seen.items()
         if uuid not in children and uuid not in shared.seen},
        shared, children)


def _free(engine: Engine, rows: _Rows) -> frozenset[str]:
    """Read which nodes have room for one more; a call for each class."""
    names = {name for node in rows.nodes.values()
             if (name := _class_of(node)) is not None}
    found: set[str] = set()
    for name in sorted(names):
        there = hold_calls.client(engine).providers(resources=f'{name}:1')
        found |= {one.uuid for one in there
                  if one.uuid in rows.nodes
                  and _class_of(rows.nodes[one.uuid]) == name}
    return frozenset(found)


def _suspect(rows: _Rows, uuid: str, provider: placement.Provider | None,
             free: bool) -> bool:
    """Tell whether a node has to be looked at."""
    node, held = rows.nodes.get(uuid), rows.held.get(uuid, [])
    name = _class_of(node)
    if node is None or provider is None or len(held) > 1:
        return (bool(held) or provider is not None
                or (name is not None and node is not None
                    and node.provision_state == facts.AVAILABLE))
    hold = held[0] if held else None
    promise = rows.promises.get(uuid)
    if name is None:
        return hold is not None
    to_have = hold_audit.expected(hold, promise)
    if free:
        return to_have is not None
    if hold is not None and hold.state is not holds.HoldState.ACTIVE:
        return True
    return rows.seen.get(uuid) != providers_seen.Seen(
        provider.generation, name, to_have)


def _class_of(node: facts.Node | None) -> str | None:
    if node is None:
        return None
    try:
        return flavors.class_of_node(node.resource_class)
    except ValueError:
        return None


def _remember(engine: Engine, seen: Mapping[str, providers_seen.Seen],
              gone: Iterable[str]) -> None:
    def attempt() -> None:
        with engine.database.write() as connection:
            providers_seen.write(connection, seen, list(gone),
                                 engine.clock())
    forgotten = sorted(gone)
    if seen or forgotten:
        retry.until_committed(attempt)
