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

"""The bookings and holders of nodes for which a window is planned."""

from __future__ import annotations

from collections.abc import Mapping
from collections.abc import Sequence
import dataclasses
import datetime
import enum

from ironic_reservations.db import host_views as db_host_views
from ironic_reservations.db import nodes as db_nodes
from ironic_reservations.engine import Engine
from ironic_reservations.engine import seen as seen_module
from ironic_reservations.engine import snapshots
from ironic_reservations.model import host_view
from ironic_reservations.model import instants
from ironic_reservations.model import mirrored_node
from ironic_reservations.model import node_condition
from ironic_reservations.model import node_reservation
from ironic_reservations.model import node_window
from ironic_reservations.planner import host_states


class Kind(enum.StrEnum):
    """The kinds of holders that cannot move to another node."""

    LEASE = 'lease'
    RESERVATION = 'reservation'
    #: An instance without a lease or reservation, deployed or being deployed.
    INSTANCE = 'instance'


@dataclasses.dataclass(frozen=True)
class Bound:
    """A present holder of a node.

    :ivar until: the end of its use of the node; ``None`` if this is unknown.
    :ivar reservation_id: the lease reservation.
    :ivar begun: ``False`` for a lease that is due and has not started.  It
        does not start in a window that has begun, so no window waits for it.
    """

    node_uuid: str
    kind: Kind
    until: datetime.datetime | None
    reservation_id: str | None = None
    project_id: str | None = None
    begun: bool = True


@dataclasses.dataclass(frozen=True)
class Holdings:
    """The holders and bookings of nodes.

    :ivar numbers: the numbers in the snapshot of nodes that are hosts.
    :ivar bound: the present holders by node.
    :ivar planned: the bookings that have not started by node.
    :ivar windows: other maintenance windows by node.
    :ivar seen: the generations of all of the nodes.
    """

    numbers: Mapping[str, int]
    bound: Mapping[str, Sequence[Bound]]
    planned: Mapping[str, Sequence[snapshots.Displaced]]
    windows: Mapping[str, Sequence[node_window.NodeWindow]]
    seen: seen_module.Seen


def read(engine: Engine, snapshot: snapshots.Snapshot,
         nodes: Sequence[mirrored_node.Node]) -> Holdings:
    """Read the holders and bookings of nodes.

    :param nodes: the nodes, read before everything else.  For hosts, the state
        in the snapshot is used instead.
    """
    now = snapshot.now
    numbers = {node.uuid: number for node in nodes
               if (number := snapshot.find(node.uuid)) is not None}
    others = [node for node in nodes if node.uuid not in numbers]
    with engine.database.snapshot() as connection:
        uuids = [node.uuid for node in others]
        known = db_nodes.read_nodes(connection, uuids, with_traits=False)
        views = db_host_views.read(connection, uuids, now, now, windows=True,
                                   busy=True)
    bound = {node.uuid: _bound(
        views[node.uuid], known.get(node.uuid, node),
        views[node.uuid].busy_until is not None) for node in others}
    planned = {}
    for uuid, number in numbers.items():
        here = snapshot.host_state(number)
        views[uuid] = here.view(now)
        bound[uuid] = _bound(views[uuid], here.host.node, here.busy)
        planned[uuid] = [each for each in here.promised
                         if not each[0].begun and each[0].starts_at > now]
    return Holdings(
        numbers, bound, planned,
        {uuid: [each for each in view.windows if each.stands(now)]
         for uuid, view in views.items()},
        seen_module.of_nodes(known.values()).also(seen_module.Seen(dict(
            snapshot.generation(number) for number in numbers.values()))))


def _bound(view: host_view.HostView, node: mirrored_node.Node,
           busy: bool) -> list[Bound]:
    uuid, now = view.node_uuid, view.now
    found = [Bound(uuid, Kind.LEASE, max(row.ends_at, instants.moment(
        host_states.late(now))) if row.ends_at <= now else row.ends_at,
        row.reservation_id, row.project_id, row.begun)
        for row in view.present]
    held = view.reservation
    if held is not None:
        found.append(Bound(
            uuid, Kind.RESERVATION, held.expires_at
            if held.state is node_reservation.State.RESERVED else None,
            project_id=held.project_id))
    # Requests in flight that belong to a window end with it.
    if not found and (busy and not any(each.written for each in view.windows)
                      or node_condition.occupied(node)):
        found.append(Bound(uuid, Kind.INSTANCE, None))
    return found
