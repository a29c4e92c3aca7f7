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

"""What the planner may be told, for Hypothesis."""

from __future__ import annotations

import dataclasses
import datetime
import json

from hypothesis import strategies as st

from ironic_reservations.model import host_view
from ironic_reservations.model import leases
from ironic_reservations.model import mirrored_node
from ironic_reservations.model import node_reservation
from ironic_reservations.model import node_window
from ironic_reservations.model import visibility
from ironic_reservations.planner import pick

NOW = datetime.datetime(2026, 3, 1, 12, tzinfo=datetime.UTC)
CLASSES = (None, 'gold', 'silver')
TRAITS = ('CUSTOM_A', 'CUSTOM_B', 'CUSTOM_C')
PROJECTS = (None, 'ours', 'theirs')
PROVISION_STATES = (
    None, 'available', 'enroll', 'manageable', 'deploying', 'wait call-back',
    'active', 'deploy failed', 'deleting', 'cleaning', 'clean failed',
    'error', 'rescue', 'inspecting', 'adopt failed', 'servicing')

uuids = st.uuids(version=4).map(str)
#: Moments before, at and after NOW.
moments = st.sampled_from((-60, -0.000001, 0, 0.000001, 60)).map(
    lambda seconds: NOW + datetime.timedelta(seconds=seconds))
trait_sets = st.frozensets(st.sampled_from(TRAITS))


@st.composite
def nodes(draw: st.DrawFn, uuid: st.SearchStrategy[str] = uuids
          ) -> mirrored_node.Node:
    """Nodes of all kinds; every second one is free."""
    if draw(st.booleans()):
        return mirrored_node.Node(
            draw(uuid), generation=1,
            resource_class=draw(st.sampled_from(CLASSES)),
            traits=draw(trait_sets))
    return mirrored_node.Node(
        draw(uuid), generation=draw(st.integers(0, 9)),
        resource_class=draw(st.sampled_from(CLASSES)),
        traits=draw(trait_sets),
        provision_state=draw(st.sampled_from(PROVISION_STATES)),
        instance_uuid=draw(st.none() | uuids),
        maintenance=draw(st.booleans()), retired=draw(st.booleans()),
        reservable=draw(st.booleans()),
        owner=draw(st.sampled_from(PROJECTS)),
        lessee=draw(st.sampled_from(PROJECTS)))


@st.composite
def reservations(draw: st.DrawFn,
                 node_uuid: str) -> node_reservation.Reservation:
    """Reservations of a node, live and void."""
    return node_reservation.Reservation(
        uuid=draw(uuids), node_uuid=node_uuid, instance_uuid=draw(uuids),
        created_at=NOW - datetime.timedelta(hours=1), updated_at=None,
        expires_at=draw(moments),
        state=draw(st.sampled_from(node_reservation.State)),
        project_id=draw(st.sampled_from(PROJECTS)))


@st.composite
def bookings(draw: st.DrawFn, node_uuid: str,
             reservation_id: str = 'lease') -> leases.NodeBooking:
    """Bookings in every state, before, at and after now."""
    start = draw(moments)
    return leases.NodeBooking(
        0, reservation_id, 0, node_uuid, start, start + datetime.timedelta(
            seconds=draw(st.sampled_from((0.000001, 60, 60.000001, 3600)))),
        draw(st.sampled_from(leases.BookingState)),
        lessee=draw(st.sampled_from((None, None, 'ours'))),
        project_id=draw(st.sampled_from(PROJECTS)))


@st.composite
def windows(draw: st.DrawFn, node_uuid: str) -> node_window.NodeWindow:
    """Maintenance windows in every state, before, at and after now."""
    start = draw(moments)
    return node_window.NodeWindow(
        'window', node_uuid, start, start + draw(st.sampled_from((
            datetime.timedelta(microseconds=1),
            datetime.timedelta(minutes=1)))),
        draw(st.sampled_from(node_window.State)))


@st.composite
def views(draw: st.DrawFn, node_uuid: str) -> host_view.HostView:
    """Who may have a node."""
    return host_view.HostView(
        node_uuid, NOW, draw(st.none() | reservations(node_uuid)),
        tuple(draw(st.lists(bookings(node_uuid), max_size=2))),
        tuple(draw(st.lists(windows(node_uuid), max_size=2))),
        busy_until=draw(st.none() | moments))


@st.composite
def snapshots(draw: st.DrawFn, max_nodes: int = 5) -> pick.Snapshot:
    """A few nodes, with and without bookings."""
    there = draw(st.lists(nodes(), max_size=max_nodes,
                          unique_by=lambda node: node.uuid))
    some = (st.sets(st.sampled_from([node.uuid for node in there]))
            if there else st.just(set()))
    return pick.Snapshot(
        {node.uuid: node for node in there},
        {uuid: draw(views(uuid)) for uuid in sorted(draw(some))}, NOW,
        draw(st.none() | moments), draw(some))


sights = st.one_of(
    st.just(visibility.Visibility(everything=True)),
    st.sampled_from(PROJECTS).map(
        lambda project: visibility.Visibility(project_id=project)))


@st.composite
def lease_asks(draw: st.DrawFn, classes: tuple[str, ...] = ('gold', 'silver'),
               at_once: bool = True) -> leases.LeaseRequest:
    """Leases of a few hosts for a few hours, most of one reservation.

    :param classes: those that hosts may be asked to be of.
    :param at_once: whether some begin now.
    """
    begin = draw(st.sampled_from(
        (*((None, 0) if at_once else ()), 1, 2, 3, 4, 5, 6)))
    end = (begin or 0) + draw(st.integers(1, 5))
    wishes = []
    for _ in range(draw(st.sampled_from((1, 1, 1, 2)))):
        least = draw(st.integers(1, 2))
        name = draw(st.sampled_from((None, *classes)))
        wishes.append(leases.LeaseReservationRequest(
            least, least + draw(st.sampled_from((0, 0, 1, 2))),
            resource_properties='' if name is None else json.dumps(
                ['==', '$resource_class', name])))
    hour = datetime.timedelta(hours=1)
    return leases.LeaseRequest(
        'a lease', NOW + end * hour, tuple(wishes),
        None if begin is None else NOW + begin * hour, project_id='ours')


def later(ask: leases.LeaseRequest, hours: float) -> leases.LeaseRequest:
    """Move what is asked for."""
    ahead = datetime.timedelta(hours=hours)
    return dataclasses.replace(
        ask, end=ask.end + ahead,
        start=None if ask.start is None else ask.start + ahead)
