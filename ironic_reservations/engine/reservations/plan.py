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

"""Read the snapshot in which a node is picked."""

from __future__ import annotations

from collections.abc import Collection
from collections.abc import Mapping
from collections.abc import Sequence
import dataclasses
import datetime
import uuid as uuid_module

import sqlalchemy as sa

from ironic_reservations.db import candidates as db_candidates
from ironic_reservations.db import host_views as db_host_views
from ironic_reservations.db import hosts as db_hosts
from ironic_reservations.db import nodes as db_nodes
from ironic_reservations.db import reservations as db_reservations
from ironic_reservations.engine import Engine
from ironic_reservations.model import host_view
from ironic_reservations.model import mirrored_node
from ironic_reservations.model import node_reservation
from ironic_reservations.model import reasons
from ironic_reservations.model import visibility
from ironic_reservations.planner import pick

#: The number of nodes that a pick by class reads at first: nearly always, one
#: of them can be reserved, and reading more would be the slowest step.
FIRST = 4
#: The number that it reads before leases move, or Ironic is asked for all.
SAMPLE = 32
#: The reason to skip a node of a class whose limit the project has reached.
#: No answer contains it, since such a request is refused for the limit.
CLASS_LIMIT = 'class_limit'


@dataclasses.dataclass(frozen=True)
class Need:
    """The planned use of a node.

    :ivar until: the end of the use; ``None`` if it is unknown.
    :ivar bare: whether it is a use without a reservation or a lease.
    :ivar unheld: the nodes that could not be held in Placement.
    :ivar full: the resource classes whose limit the project has reached.
    """

    until: datetime.datetime | None = None
    bare: bool = False
    unheld: Mapping[str, reasons.Reason] = dataclasses.field(
        default_factory=dict)
    full: frozenset[str] = frozenset()


@dataclasses.dataclass(frozen=True)
class View:
    """A snapshot of the nodes of a request, and the rows behind it.

    :ivar related: reservations of the nodes, of the instance and of the uuid
        in the request.  Void ones are included, since a new row would collide
        with theirs.
    :ivar confirmed: whether the node that was picked was read from Ironic.
    """

    snapshot: pick.Snapshot
    related: Sequence[node_reservation.Reservation]
    confirmed: bool = False


def read_view(engine: Engine, connection: sa.Connection,
              request: pick.NodeRequest, sees: visibility.Visibility,
              now: datetime.datetime, need: Need) -> View:
    """Read the nodes of a request, in a constant number of queries.

    Without a list, these are some nodes that are not promised to leases.
    """
    if request.node_uuids is None:
        return read_candidates(engine, connection, request, sees, now, need)
    # Compute hosts cannot be reserved.
    nodes = {uuid: node for uuid, node in db_nodes.read_nodes(
        connection, request.node_uuids,
        with_traits=bool(request.traits or request.forbidden)).items()
        if not node.compute}
    related = db_reservations.read_related(
        connection, request.uuid, request.instance_uuid, request.node_uuids)
    views = db_host_views.read(connection, request.node_uuids, now,
                               first=True, windows=True, busy=True)
    barred = closed(engine, connection, need, request.node_uuids)
    return view(nodes, related, views, barred, now, need)


def read_candidates(engine: Engine, connection: sa.Connection,
                    request: pick.NodeRequest, sees: visibility.Visibility,
                    now: datetime.datetime, need: Need,
                    most: int = FIRST) -> View:
    """Read some nodes for a request without a list, none of them promised.

    :param most: the maximum number of nodes.
    """
    found = db_candidates.read_candidates(
        connection, _wanted_for(connection, request, need), sees, now,
        _anywhere(), most + len(need.unheld), request.instance_uuid,
        request.uuid, not hosts_closed(engine, need))
    # Usually there are none.  Exceptions: the request was served before,
    # or the row of an ended reservation still exists.
    related = db_reservations.read_related(
        connection, request.uuid, request.instance_uuid,
        tuple(found.nodes)) if found.related else ()
    return view(found.nodes, related, {}, (), now, need)


def read_promised(engine: Engine, connection: sa.Connection,
                  request: pick.NodeRequest, sees: visibility.Visibility,
                  now: datetime.datetime, need: Need) -> View:
    """Read all nodes that are promised to leases for later."""
    nodes = db_candidates.read_promised(
        connection, _wanted_for(connection, request, need), sees, now,
        _anywhere(), not hosts_closed(engine, need))
    if not nodes:
        return view({}, (), {}, (), now, need)
    related = db_reservations.read_related(
        connection, request.uuid, request.instance_uuid, tuple(nodes))
    views = db_host_views.read(connection, nodes, now, first=True,
                               windows=True)
    return view(nodes, related, views, (), now, need)


def _anywhere() -> str:
    """Return the uuid at which a search for nodes begins.

    It is random, so that concurrent requests do not compete for the same node.
    """
    return str(uuid_module.uuid4())


def _wanted_for(connection: sa.Connection, request: pick.NodeRequest,
                need: Need) -> db_candidates.NodeRequirements:
    return dataclasses.replace(wanted(connection, request),
                               other_classes=tuple(sorted(need.full)))


def wanted(connection: sa.Connection,
           request: pick.NodeRequest) -> db_candidates.NodeRequirements:
    """Return the requirement on a node, in Ironic's resource classes."""
    names: tuple[str, ...] | None = None
    if request.resource_class is not None:
        names = (request.resource_class,)
    if request.class_name is not None:
        # Several classes of Ironic may be the same one in Placement.
        names = tuple(name for name in db_nodes.read_classes(connection)
                      if (names is None or name in names)
                      and pick.is_of_class(name, request.class_name))
    return db_candidates.NodeRequirements(names, request.traits,
                                          request.forbidden)


def hosts_closed(engine: Engine, need: Need) -> bool:
    """Return whether nodes that are open to leases are excluded."""
    return (need.bare
            and engine.conf.leases.without_reservation == 'require')


def closed(engine: Engine, connection: sa.Connection, need: Need,
           node_uuids: Collection[str]) -> Collection[str]:
    """Read the nodes whose use requires a promise."""
    if not hosts_closed(engine, need):
        return ()
    return db_hosts.read_node_uuids(connection, node_uuids)


def view(nodes: Mapping[str, mirrored_node.Node],
         related: Sequence[node_reservation.Reservation],
         views: Mapping[str, host_view.HostView], barred: Collection[str],
         now: datetime.datetime, need: Need) -> View:
    """Return the view of rows that were read.

    :param barred: the nodes that are excluded.
    """
    held = {row.node_uuid: dataclasses.replace(views.get(
        row.node_uuid, host_view.HostView(row.node_uuid, now)), row=row)
        for row in related}
    unheld = {**{uuid: _full(node) for uuid, node in nodes.items()
                 if node.resource_class in need.full}, **need.unheld}
    return View(pick.Snapshot(nodes, {**views, **held}, now, need.until,
                              barred, unheld), related)


def _full(node: mirrored_node.Node) -> reasons.Reason:
    return reasons.Reason(
        node.uuid, CLASS_LIMIT, 'is of a class of which the project may have '
                                'no more unused reservations')
