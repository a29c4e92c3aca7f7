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

"""Picks one node from a snapshot, or returns the reasons why there is none."""

from __future__ import annotations

from collections.abc import Collection
from collections.abc import Iterable
from collections.abc import Mapping
import dataclasses
import datetime

from ironic_reservations.model import flavors
from ironic_reservations.model import host_view
from ironic_reservations.model import mirrored_node
from ironic_reservations.model import node_condition
from ironic_reservations.model import node_reservation
from ironic_reservations.model import reasons
from ironic_reservations.model import time_text
from ironic_reservations.model import visibility


@dataclasses.dataclass(frozen=True)
class NodeRequest:
    """A request for a node.

    :ivar instance_uuid: the instance that the node is for.
    :ivar node_uuids: the nodes in the order of preference; ``None``: pick by
        resource class and traits.
    :ivar class_name: the class in Placement that the resource class has to
        match.
    :ivar forbidden: traits that the node must not have.
    :ivar uuid: the uuid of the reservation, if the client
        has chosen it.
    :ivar expires_at: the requested end of the reservation.
    :ivar ttl: the requested lifetime in seconds; without both, the default is
        used.
    :ivar lease_reservation_ids: the lease reservations that the caller uses,
        whose nodes are no obstacle.
    :ivar powered: whether Ironic has to know the power state of the node, as
        for its own allocations.
    """

    instance_uuid: str
    node_uuids: tuple[str, ...] | None = None
    resource_class: str | None = None
    traits: frozenset[str] = frozenset()
    class_name: str | None = None
    forbidden: frozenset[str] = frozenset()
    uuid: str | None = None
    expires_at: datetime.datetime | None = None
    ttl: float | None = None
    project_id: str | None = None
    user_id: str | None = None
    lease_reservation_ids: frozenset[str] = frozenset()
    powered: bool = False


@dataclasses.dataclass(frozen=True)
class Snapshot:
    """The requested nodes with their bookings.

    :ivar views: the promises of the nodes; a node without a view has none.
    :ivar until: the end of the use of the node; ``None``: unknown.
    :ivar barred: nodes that may be used only with a reservation or a lease,
        which the request does not have.
    :ivar unheld: the reasons why nodes could not be
        held in Placement.
    """

    nodes: Mapping[str, mirrored_node.Node]
    views: Mapping[str, host_view.HostView]
    now: datetime.datetime
    until: datetime.datetime | None = None
    barred: Collection[str] = ()
    unheld: Mapping[str, reasons.Reason] = dataclasses.field(
        default_factory=dict)

    def view(self, uuid: str) -> host_view.HostView:
        """Return the promises of a node."""
        return self.views.get(uuid) or host_view.HostView(uuid, self.now)


@dataclasses.dataclass(frozen=True)
class Picked:
    """A node to claim, and the reasons why earlier ones were skipped.

    :ivar promised: the skipped nodes whose only obstacle is a booking of a
        lease that could be moved.
    """

    node: mirrored_node.Node
    skipped: tuple[reasons.Reason, ...] = ()
    promised: tuple[mirrored_node.Node, ...] = ()


@dataclasses.dataclass(frozen=True)
class Refused:
    """No node can be claimed; there is a reason for each examined node.

    :ivar promised: as in :class:`Picked`.
    """

    reasons: tuple[reasons.Reason, ...]
    promised: tuple[mirrored_node.Node, ...] = ()


def pick(request: NodeRequest, snapshot: Snapshot,
         sees: visibility.Visibility) -> Picked | Refused:
    """Pick the first node of the list that can be reserved now.

    :param request: the request; if it names no nodes, the order is that of
        ``snapshot.nodes``.
    :param snapshot: all known nodes of the list with their bookings.
    :param sees: the nodes that the caller may see.
    :returns: the node, or a reason for each node of the list.
    """
    order: Iterable[str] = (snapshot.nodes if request.node_uuids is None
                            else request.node_uuids)
    skipped: list[reasons.Reason] = []
    promised: list[mirrored_node.Node] = []
    for uuid in order:
        obstacle = why_not(request, uuid, snapshot, sees)
        if obstacle is None:
            node, view = snapshot.nodes[uuid], snapshot.view(uuid)
            until = (snapshot.until if view.lease is None
                     else view.lease.ends_at)
            obstacle = maintenance(view, until)
            if obstacle is None:
                obstacle = promise(view, until)
                if obstacle is None:
                    return Picked(node, tuple(skipped), tuple(promised))
                promised.append(node)
        skipped.append(obstacle)
    return Refused(tuple(skipped), tuple(promised))


def promise(view: host_view.HostView, until: datetime.datetime | None
            ) -> reasons.Reason | None:
    """Return the reason if a lease has booked a node too early.

    :param until: the end of the use of the node; ``None``: unknown.
    """
    later = view.next_lease
    if later is None or until is not None and later >= until:
        return None
    return reasons.Reason(
        view.node_uuid, reasons.PROMISED,
        f'is promised to a lease from {time_text.moment(later)} on, and no '
        'other node was found for that lease', since=later)


def maintenance(view: host_view.HostView, until: datetime.datetime | None
                ) -> reasons.Reason | None:
    """Return the reason if a maintenance window begins too early.

    :param until: the end of the use of the node; ``None``: unknown.
    """
    later = view.next_window
    if later is None or until is not None and later >= until:
        return None
    return reasons.Reason(
        view.node_uuid, reasons.PROMISED,
        f'is in maintenance from {time_text.moment(later)} on', since=later)


def why_not(request: NodeRequest, uuid: str, snapshot: Snapshot,
            sees: visibility.Visibility) -> reasons.Reason | None:
    """Return the reason why a node cannot be reserved now, or ``None``.

    Lasting reasons come before passing ones, so that a client does not wait
    for a node that it can never have.
    """
    node = snapshot.nodes.get(uuid)
    if node is None or not sees.sees(node):
        # The same text for both, so that a project cannot find out which
        # nodes exist.
        return reasons.Reason(uuid, reasons.NODE_NOT_FOUND,
                              'does not exist, or is not visible to you')
    if request.resource_class and (
            node.resource_class != request.resource_class):
        return reasons.Reason(
            uuid, reasons.RESOURCE_CLASS_MISMATCH,
            f'has the resource class {node.resource_class}, '
            f'not {request.resource_class}')
    if request.class_name and not is_of_class(node.resource_class,
                                              request.class_name):
        return reasons.Reason(
            uuid, reasons.RESOURCE_CLASS_MISMATCH,
            f'has the resource class {node.resource_class}, '
            f'which is not {request.class_name} in Placement')
    missing = request.traits - node.traits
    if missing:
        return reasons.Reason(uuid, reasons.TRAIT_MISSING,
                              f'lacks the traits {", ".join(sorted(missing))}')
    unwanted = request.forbidden & node.traits
    if unwanted:
        return reasons.Reason(
            uuid, reasons.TRAIT_FORBIDDEN,
            f'has the forbidden traits {", ".join(sorted(unwanted))}')
    if not node.reservable:
        return reasons.Reason(uuid, reasons.NOT_RESERVABLE,
                              'is closed for reservations by the operator')
    if uuid in snapshot.barred:
        return reasons.Reason(
            uuid, reasons.RESERVATION_REQUIRED,
            'may be used with a reservation or a lease only')
    part = node_condition.part(node)
    if part is not None:
        return reasons.Reason(uuid, reasons.PART_OF_NODE, part)
    if node.retired:
        return reasons.Reason(uuid, reasons.RETIRED, 'is retired')
    view = snapshot.view(uuid)
    if node.maintenance or view.maintained_until is not None:
        return reasons.Reason(
            uuid, reasons.MAINTENANCE, 'is in maintenance',
            None if node.maintenance else view.maintained_until)
    held = view.reservation
    if held is not None:
        if held.state is not node_reservation.State.RESERVED:
            return reasons.Reason(uuid, reasons.RESERVED,
                                  'is reserved and in use')
        if held.over(view.now):
            return reasons.Reason(
                uuid, reasons.RESERVED,
                'is about to be put back as it was before a reservation')
        return reasons.Reason(
            uuid, reasons.RESERVED,
            f'is reserved until {time_text.moment(held.expires_at)}',
            held.expires_at)
    leased = _leased(request, view)
    if leased is not None:
        return leased
    if node.instance_uuid is not None:
        return reasons.Reason(uuid, reasons.INSTANCE_BOUND,
                              'is bound to an instance')
    if node.provision_state != node_condition.AVAILABLE:
        state = ('an unknown provision state'
                 if node.provision_state is None
                 else f'the provision state {node.provision_state}')
        return reasons.Reason(uuid, reasons.WRONG_STATE,
                              f'is in {state}, not available')
    if request.powered and node.powered is False:
        return reasons.Reason(uuid, reasons.POWER_UNKNOWN,
                              'has no known power state yet, and Ironic does '
                              'not allocate such a node')
    if view.busy_until is not None:
        if view.busy_until <= view.now:
            return reasons.Reason(
                uuid, reasons.BUSY, 'may still be changed by an earlier '
                'request whose outcome is not known yet')
        return reasons.Reason(uuid, reasons.BUSY,
                              'is being deployed or changed by another '
                              'request', view.busy_until)
    return snapshot.unheld.get(uuid)


def is_of_class(resource_class: str | None, class_name: str) -> bool:
    """Return whether a resource class is a given class in Placement."""
    try:
        return flavors.class_of_node(resource_class) == class_name
    except ValueError:
        return False


def _leased(request: NodeRequest,
            view: host_view.HostView) -> reasons.Reason | None:
    if not view.present:
        return None
    lease = view.lease
    if lease is None:
        return reasons.Reason(
            view.node_uuid, reasons.LEASED,
            'is being taken back from a lease that is over')
    if lease.reservation_id in request.lease_reservation_ids:
        return None
    return reasons.Reason(
        view.node_uuid, reasons.LEASED,
        f'is leased until {time_text.moment(lease.ends_at)}', lease.ends_at)
