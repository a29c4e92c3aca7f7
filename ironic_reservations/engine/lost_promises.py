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

"""Find traces in other services of promises that the database has lost.

After a fail-over that lost commits, or a restored backup, Ironic, Placement
and Nova still have the values that were written for the lost promises.
"""

from __future__ import annotations

from collections.abc import Collection
import dataclasses
import enum

from ironic_reservations import errors
from ironic_reservations.db import host_views as db_host_views
from ironic_reservations.db import hosts as db_hosts
from ironic_reservations.engine import Engine
from ironic_reservations.model import handovers
from ironic_reservations.model import mirrored_node
from ironic_reservations.model import node_condition
from ironic_reservations.model import node_window


class Kind(enum.StrEnum):
    """The kind of a trace."""

    #: A host has a lessee in Ironic.
    LESSEE = 'lessee'
    #: A host has an instance in Ironic, or is deployed without one.
    INSTANCE = 'instance'
    #: A node is in maintenance in Ironic.
    MAINTENANCE = 'maintenance'
    #: Placement has a hold, or Nova a flavor.
    PLACEMENT = 'placement'


@dataclasses.dataclass(frozen=True, order=True)
class Trace:
    """A trace of a promise that is not in the database.

    :ivar node_uuid: empty if the trace is not on a node.
    :ivar detail: a sentence about the trace.
    :ivar remedy: a sentence with the action for the operator.
    """

    kind: Kind
    node_uuid: str
    detail: str
    remedy: str


def find(engine: Engine) -> list[Trace]:
    """Return the traces in Ironic, Placement and Nova, in a stable order.

    Nothing is changed.

    :raises IronicUnavailable: Ironic does not answer.
    :raises PlacementUnavailable: Placement does not answer.
    :raises DatabaseUnavailable: the database does not answer.
    """
    return sorted((*_in_ironic(engine), *(
        trace for each in engine.features for trace in each.lost(engine))))


def _in_ironic(engine: Engine) -> list[Trace]:
    ironic = engine.ironic
    if ironic is None:
        raise errors.IronicUnavailable('No client of Ironic is configured.')
    with engine.database.read() as connection:
        hosts = {row.node_uuid for row in db_hosts.read(connection)}
    # A lessee or an instance of another node is no trace of ours; the reason
    # of a maintenance names what has set it.
    marked = [node for node in ironic.nodes() if node.maintenance
              or node.uuid in hosts
              and (node.lessee or node_condition.occupied(node))]
    found = []
    for before in _not_promised(engine, marked):
        # The trace of a promise that has just ended may be gone by now.
        if before.maintenance:
            seen = ironic.maintained(before.uuid)
            node, reason = seen or (None, None)
        else:
            node, reason = ironic.node(before.uuid), None
        if node is not None:
            found += _traces(node) if node.uuid in hosts else []
            found += _maintenance(engine, node, reason)
    return found


def _maintenance(engine: Engine, node: mirrored_node.Node,
                 reason: str | None) -> list[Trace]:
    """Return the traces in the maintenance reason of a node."""
    if not node.maintenance:
        return []
    window, now = node_window.window_of(reason), engine.clock()
    if window is None and not handovers.is_of_holder(reason):
        return []
    with engine.database.read() as connection:
        standing = db_host_views.read_one(connection, node.uuid, now, now,
                                          windows=True).windows
    if any(each.window_id == window for each in standing):
        return []
    whose = ('a holder who does not have the node' if window is None
             else f'the window {window}, which does not exist')
    return [Trace(
        Kind.MAINTENANCE, node.uuid,
        f'It is in maintenance in Ironic for {whose}.',
        'If the node still needs it, book a window or set your own reason; '
        f'else run "baremetal node maintenance unset {node.uuid}".')]


def _not_promised(engine: Engine, marked: Collection[mirrored_node.Node]
                  ) -> list[mirrored_node.Node]:
    """Return the nodes without a lease and without a reservation."""
    now, uuids = engine.clock(), [node.uuid for node in marked]
    with engine.database.snapshot() as connection:
        views = db_host_views.read(connection, uuids, now, now)
    return [node for node in marked if not views[node.uuid].claimed]


def _traces(node: mirrored_node.Node) -> list[Trace]:
    found = []
    occupied = node_condition.occupied(node)
    if node.lessee:
        keep = ('has to keep its instance, leave it' if occupied
                else 'had a lease, make it again for this node')
        found.append(Trace(
            Kind.LESSEE, node.uuid,
            f'The lessee in Ironic is project {node.lessee}, and no lease has '
            'the node.',
            f'If the project {keep}; else '
            f'run "baremetal node unset {node.uuid} --lessee".'))
    if occupied:
        # A deploy without Nova may name no instance.
        seen = (f'has the instance {node.instance_uuid}' if node.instance_uuid
                else node_condition.in_state(node))
        found.append(Trace(
            Kind.INSTANCE, node.uuid,
            f'It {seen} in Ironic, and neither a lease nor a reservation has '
            'the node.',
            'Nobody is promised the node before it is undeployed, and no '
            'lease can have it. If its user has to keep it, leave it; else '
            f'run "baremetal node undeploy {node.uuid}".'))
    return found
