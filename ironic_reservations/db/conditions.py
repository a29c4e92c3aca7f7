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

"""Rules of the planner, each written once in SQL.

Each rule names its equivalent in Python.
``tests/inprocess/db/test_conditions`` compares the two with random rows on
each database.
"""

from __future__ import annotations

from collections.abc import Collection
from collections.abc import Iterable
from collections.abc import Mapping
import datetime

import sqlalchemy as sa

from ironic_reservations.db import tables
from ironic_reservations.model import leases
from ironic_reservations.model import node_condition
from ironic_reservations.model import node_reservation
from ironic_reservations.model import node_window
from ironic_reservations.model import reasons

_n = tables.nodes.c
_r = tables.reservations.c

Condition = sa.ColumnElement[bool]
#: An instant, or its parameter in a statement that is built once.
Instant = datetime.datetime | sa.BindParameter[datetime.datetime]
#: The parameter for the present time.
NOW = sa.bindparam('now', type_=tables.UTCDateTime())


# States are written into a statement when it is built. As parameters they
# would be escaped, and lists of them formatted, at each execution.
def _literal(state: str) -> sa.ColumnElement[str]:
    return sa.literal_column(f"'{state}'", sa.String())


def _is(column: sa.ColumnElement[str], state: str) -> Condition:
    """Return the condition that a column has a value of an enumeration."""
    return column == _literal(state)


def _is_among(column: sa.Column[str], states: Iterable[str]) -> Condition:
    """Return the condition that a column has one of several values."""
    return column.in_([_literal(state) for state in states])


#: The states of windows, by their names in rows: none is one of a lease.
WINDOW_STATES = {f'window_{each.value}': each for each in node_window.State}
_IN_ROWS = {state: name for name, state in WINDOW_STATES.items()}
_UNWRITTEN = (node_window.State.PLANNED, node_window.State.FOREIGN)


def window_is(*states: node_window.State) -> Condition:
    """Return the condition that a row is a window in one of some states.

    :param states: none: any.
    """
    return sa.and_(_r.immediate.is_(None), _is_among(
        _r.state, [_IN_ROWS[each] for each in states or (
            *node_window.WRITTEN, *_UNWRITTEN)]))


_IMMEDIATE = _r.immediate == sa.literal_column('1', sa.SmallInteger())


def live(now: Instant) -> Condition:
    """Return the condition that a row is a live reservation.

    The equivalent is ``node_reservation.Reservation.live``.
    """
    return sa.and_(_IMMEDIATE, sa.or_(
        _is_among(_r.state, (node_reservation.State.STARTING.value,
                             node_reservation.State.IN_USE.value)),
        sa.and_(_is(_r.state, node_reservation.State.RESERVED.value),
                sa.or_(_r.expires_at > now, _r.acted))))


def has_node(now: Instant) -> Condition:
    """Return the condition that a booking of a lease has its node.

    The equivalent is ``leases.NodeBooking.has_node``.
    """
    return sa.and_(_r.immediate.is_(None), sa.or_(
        _is_among(_r.state, (leases.BookingState.BOUND.value,
                             leases.BookingState.ENDING.value)),
        _r.lessee.is_not(None),
        sa.and_(_is(_r.state, leases.BookingState.PLANNED.value),
                _r.starts_at <= now, _r.expires_at > now)))


def to_come(now: Instant, row: sa.FromClause = tables.reservations
            ) -> Condition:
    """Return the condition that a booking of a lease is in the future.

    The equivalent is ``leases.NodeBooking.to_come``.
    """
    return sa.and_(row.c.immediate.is_(None),
                   _is(row.c.state, leases.BookingState.PLANNED.value),
                   row.c.starts_at > now)


def maintained(now: Instant) -> Condition:
    """Return the condition that a maintenance window has its node now.

    The equivalent is ``node_window.NodeWindow.has_node``.
    """
    return sa.or_(
        window_is(*node_window.WRITTEN),
        sa.and_(window_is(*_UNWRITTEN),
                _r.starts_at <= now, _r.expires_at > now))


def to_maintain(now: Instant) -> Condition:
    """Return the condition that a maintenance window is in the future.

    The equivalent is ``host_view.HostView.next_window``.
    """
    return sa.and_(window_is(*_UNWRITTEN), _r.starts_at > now,
                   _r.expires_at > now)


def suspended() -> sa.ColumnElement[str | None]:
    """Return an expression for the reason why a reservation is suspended.

    It is NULL if the reservation of the node is not suspended. The equivalent
    is ``node_condition.suspends``.
    """
    return sa.case(*(
        (_n.parent_node.is_not(None) if name == node_condition.PART_OF_NODE
         else _n[name], name) for name in node_condition.SUSPENDED))


def occupied() -> Condition:
    """Return the condition that a node may have an instance on it.

    The equivalent is ``node_condition.occupied``.
    """
    # An unknown state is NULL, and none of these.
    return sa.or_(_n.instance_uuid.is_not(None), sa.func.coalesce(
        _n.provision_state, '').in_(node_condition.OCCUPIED))


def was_deployed() -> Condition:
    """Return the condition that the node of a booking has been deployed."""
    # EXISTS (SELECT ... FROM usage_periods
    #   WHERE booking_uuid = reservations.uuid)
    return sa.exists().where(tables.usage_periods.c.booking_uuid == _r.uuid)


def of_project(project_id: str | sa.BindParameter[str]) -> Condition:
    """Return the condition that a project may see a node.

    The equivalent is ``visibility.Visibility.sees``.
    """
    return sa.or_(_n.owner == project_id, _n.lessee == project_id)


def closed(names: Collection[str], traits: Collection[str]) -> Condition:
    """Return the condition that the configuration closes a node to leases.

    The equivalent is ``leasable.Rules.is_closed``.

    :param names: names and uuids of nodes.
    :param traits: each node with any of these is closed.
    """
    has = tables.node_traits.c
    return sa.or_(
        # A name that is NULL would make the whole condition NULL.
        sa.func.coalesce(_n.name, '').in_(names) if names else sa.false(),
        _n.uuid.in_(names) if names else sa.false(),
        sa.exists().where(has.node_uuid == _n.uuid, has.trait.in_(traits))
        if traits else sa.false())


def unbooked(now: Instant) -> Condition:
    """Return the condition that a node has no future booking or window.

    The equivalents are ``pick.promise`` and ``pick.maintenance``.
    """
    return sa.and_(~_booked(to_come(now)), ~_booked(to_maintain(now)))


def requirements(now: Instant,
                 hosts: bool) -> list[tuple[str, Condition]]:
    """Return the conditions under which a node can be reserved now.

    The equivalent is ``pick.why_not``, which has the same order.

    :param hosts: whether nodes that are hosts of leases may be used.
    :returns: each with the reason code of a refusal if it is not met.
    """
    there = tables.hosts.c.node_uuid == _n.uuid
    sent = tables.in_flight_requests.c.node_uuid == _n.uuid
    return [
        (reasons.NOT_RESERVABLE, _n.reservable),
        *([] if hosts else [
            (reasons.RESERVATION_REQUIRED, ~sa.exists().where(there))]),
        (reasons.PART_OF_NODE, _n.parent_node.is_(None)),
        (reasons.RETIRED, sa.not_(_n.retired)),
        (reasons.MAINTENANCE, sa.and_(sa.not_(_n.maintenance),
                                      ~_booked(maintained(now)))),
        (reasons.RESERVED, ~_booked(live(now))),
        (reasons.LEASED, ~_booked(has_node(now))),
        (reasons.INSTANCE_BOUND, _n.instance_uuid.is_(None)),
        (reasons.WRONG_STATE,
         _is(_n.provision_state, node_condition.AVAILABLE)),
        (reasons.BUSY, ~sa.exists().where(sent))]


def obstacle(now: Instant, hosts: bool,
             unheld: Mapping[str, str],
             full: Mapping[str, str]) -> sa.ColumnElement[str | None]:
    """Return an expression for the reason why a node cannot be picked.

    It is NULL if the node can be picked. The equivalent is ``pick.pick``:
    lasting reasons come first, and a booking of a lease comes last, since it
    could be moved.

    :param hosts: whether nodes that are hosts of leases may be used.
    :param unheld: reason codes by the uuids of nodes that could not be held in
        Placement.
    :param full: reason codes by resource classes that may not be used.
    """
    # CASE WHEN NOT reservable THEN 'not_reservable' ... END
    # A condition that is NULL is not met.
    return sa.case(
        *((condition.is_not(sa.true()), code)
          for code, condition in requirements(now, hosts)),
        *((_n.uuid.in_([uuid for uuid, each in unheld.items()
                        if each == code]), code)
          for code in sorted(set(unheld.values()))),
        *((_n.resource_class == name, code)
          for name, code in sorted(full.items())),
        (sa.not_(unbooked(now)), reasons.PROMISED))


def _booked(condition: Condition) -> sa.Exists:
    return sa.exists().where(_r.node_uuid == _n.uuid, condition)
