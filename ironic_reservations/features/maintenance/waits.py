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

"""Nodes whose maintenance is overdue, with the reasons."""

from __future__ import annotations

from collections.abc import Mapping
import dataclasses
import datetime

from ironic_reservations.db import lease_names
from ironic_reservations.db import nodes as db_nodes
from ironic_reservations.engine import Engine
from ironic_reservations.features.maintenance import holdings
from ironic_reservations.features.maintenance import values
from ironic_reservations.model import leases
from ironic_reservations.model import mirrored_node
from ironic_reservations.model import node_condition
from ironic_reservations.model import node_window


@dataclasses.dataclass(frozen=True)
class Wait:
    """A node whose maintenance waits.

    :ivar reason: the reason of the wait, a sentence.
    :ivar since: the planned start of its maintenance.
    :ivar until: the end of the wait; ``None`` if it is unknown.
    """

    reason: str
    since: datetime.datetime
    until: datetime.datetime | None


def read(engine: Engine, window: values.Window) -> dict[str, Wait]:
    """Return the nodes that a window waits for, by their uuids.

    It reads the mirror, which may be some seconds behind Ironic.
    """
    now = engine.clock()
    late = {each.node_uuid: each for each in window.nodes
            if each.state is node_window.State.PLANNED
            and each.starts_at <= now < each.ends_at}
    if not late:
        return {}
    with engine.database.read() as connection:
        nodes = db_nodes.read_nodes(connection, late, with_traits=False)
        named = lease_names.read(connection, late)
    snapshot = engine.snapshot(now)
    bound = ({uuid: [each for each in there if each.begun]
              for uuid, there in holdings.read(
                  engine, snapshot, list(nodes.values())).bound.items()}
             if window.drain else {})
    found = {}
    for uuid, node in nodes.items():
        has = bound.get(uuid, ())
        reason = (_holder(has[0], named) if has
                  else _work(node, window.drain))
        if reason is not None:
            found[uuid] = Wait(reason, late[uuid].starts_at,
                               has[0].until if has else None)
    return found


def _holder(bound: holdings.Bound,
            named: Mapping[str, leases.NamedLease]) -> str:
    """Return a description of the holder of a node."""
    if bound.kind is holdings.Kind.LEASE:
        lease = named.get(bound.reservation_id or '')
        return ('A lease has the node.' if lease is None else
                f'The lease {lease.id} ("{lease.name}") has the node.')
    if bound.kind is holdings.Kind.RESERVATION:
        return 'A reservation has the node.' if bound.until else (
            'The node has the instance of a reservation, whose end is not '
            'known.')
    return 'The node has an instance, whose end is not known.'


def _work(node: mirrored_node.Node, drain: bool) -> str | None:
    """Return a description of the work of Ironic on a node, if any."""
    if node_condition.at_work(node) or drain and node_condition.coming(node):
        return f'Ironic has the node in {node.provision_state}.'
    if drain and node_condition.occupied(node):
        return f'The node is in use: Ironic has it in {node.provision_state}.'
    return None
