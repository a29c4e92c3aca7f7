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

"""What the planner says of rows, said in SQL: each condition once.

Each names its twin in Python. ``tests/inprocess/db/test_conditions``
holds the two together, on random rows and on each database.
"""

from __future__ import annotations

from collections.abc import Collection
from collections.abc import Mapping
import datetime

import sqlalchemy as sa

from ironic_reservations.db import tables
from ironic_reservations.lifecycle.placement import holds
from ironic_reservations.model import facts
from ironic_reservations.model import leases
from ironic_reservations.model import maintenance
from ironic_reservations.model import node_condition
from ironic_reservations.model import reasons

_n = tables.nodes.c
_r = tables.reservations.c
_m = tables.maintenance_nodes.c
_h = tables.holds.c

Condition = sa.ColumnElement[bool]
#: An instant, or what stands for one in a statement that is made once.
Instant = datetime.datetime | sa.BindParameter[datetime.datetime]
#: Stands for the present.
NOW = sa.bindparam('now', type_=tables.UTCDateTime())


def live(now: Instant) -> Condition:
    """Return whether a row of ``reservations`` is a live reservation.

    The twin is ``facts.Reservation.live``.
    """
    return sa.and_(_r.immediate == 1, sa.or_(
        _r.state.in_((facts.State.STARTING.value, facts.State.IN_USE.value)),
        sa.and_(_r.state == facts.State.RESERVED.value, _r.expires_at > now)))


def being_made() -> Condition:
    """Return whether a row of ``reservations`` may come to nothing yet.

    Its hold is still being written, and it ends where that cannot be had.
    """
    # EXISTS (SELECT ... FROM holds
    #   WHERE owner = reservations.uuid AND state = 'promising')
    return sa.exists().where(
        _h.owner == _r.uuid,
        _h.state == holds.HoldState.PROMISING.value)


def has_node(now: Instant) -> Condition:
    """Return whether a row of ``reservations`` has its node for a lease.

    The twin is ``leases.NodeBooking.has_node``.
    """
    return sa.and_(_r.immediate.is_(None), sa.or_(
        _r.state.in_((leases.BookingState.BOUND.value,
                      leases.BookingState.ENDING.value)),
        _r.lessee.is_not(None),
        sa.and_(_r.state == leases.BookingState.PLANNED.value,
                _r.starts_at <= now, _r.expires_at > now)))


def over(now: Instant) -> Condition:
    """Return whether a booking that has its node is over.

    The twin is ``leases.NodeBooking.over``.
    """
    return sa.or_(_r.state == leases.BookingState.ENDING.value,
                  _r.expires_at <= now)


def to_come(now: Instant) -> Condition:
    """Return whether a row of ``reservations`` is for a lease to come.

    The twin is ``leases.NodeBooking.to_come``.
    """
    return sa.and_(_r.immediate.is_(None),
                   _r.state == leases.BookingState.PLANNED.value,
                   _r.starts_at > now)


def maintained(now: Instant) -> Condition:
    """Return whether a row of ``maintenance_nodes`` has its node.

    The twin is ``maintenance.NodeWindow.has_node``.
    """
    return sa.or_(
        _m.state.in_([each.value for each in maintenance.WRITTEN]),
        sa.and_(_m.state != maintenance.State.OVER.value,
                _m.starts_at <= now, _m.ends_at > now))


def to_maintain(now: Instant) -> Condition:
    """Return whether a row of ``maintenance_nodes`` has its node later.

    The twin is ``maintenance.of_node``.
    """
    return sa.and_(
        _m.state.not_in([each.value for each in (
            *maintenance.WRITTEN, maintenance.State.OVER)]),
        _m.starts_at > now, _m.ends_at > now)


def suspended() -> sa.ColumnElement[str | None]:
    """Return why a row of ``nodes`` cannot be used by who has reserved it.

    The twin is ``node_condition.suspends``.
    """
    return sa.case(*((_n[name], name) for name in node_condition.SUSPENDED))


def occupied() -> Condition:
    """Return whether somebody may have something on a row of ``nodes``.

    The twin is ``node_condition.occupied``.
    """
    # NOTE: a state that is not known is none of these.
    return sa.or_(_n.instance_uuid.is_not(None), sa.func.coalesce(
        _n.provision_state, '').in_(node_condition.OCCUPIED))


def of_project(project_id: str | sa.BindParameter[str]) -> Condition:
    """Return whether a project may know of a row of ``nodes``.

    The twin is ``facts.Visibility.sees``.
    """
    return sa.or_(_n.owner == project_id, _n.lessee == project_id)


def closed(names: Collection[str], traits: Collection[str]) -> Condition:
    """Return whether a row of ``nodes`` is closed to leases by configuration.

    The twin is ``leasable.Rules.close``.

    :param names: names and uuids of nodes.
    :param traits: of which one is enough.
    """
    has = tables.node_traits.c
    return sa.or_(
        # NOTE: a name that is NULL would make the whole of it NULL.
        sa.func.coalesce(_n.name, '').in_(names) if names else sa.false(),
        _n.uuid.in_(names) if names else sa.false(),
        sa.exists().where(has.node_uuid == _n.uuid, has.trait.in_(traits))
        if traits else sa.false())


def unbooked(now: Instant) -> Condition:
    """Return whether a row of ``nodes`` is promised to nobody to come.

    The twins are ``pick.promise`` and ``pick.maintenance``.
    """
    return sa.and_(~_booked(to_come(now)), ~_windowed(to_maintain(now)))


def requirements(now: Instant,
                 hosts: bool) -> list[tuple[str, Condition]]:
    """Return what of a row of ``nodes`` has to be so that it can be had now.

    The twin is ``pick.why_not``, whose order this is.

    :param hosts: whether hosts of leases will do.
    :returns: each with the code of the refusal where it is not so.
    """
    there = tables.hosts.c.node_uuid == _n.uuid
    sent = tables.passages.c.node_uuid == _n.uuid
    return [
        (reasons.NOT_RESERVABLE, _n.reservable),
        *([] if hosts else [
            (reasons.RESERVATION_REQUIRED, ~sa.exists().where(there))]),
        (reasons.RETIRED, sa.not_(_n.retired)),
        (reasons.MAINTENANCE, sa.and_(sa.not_(_n.maintenance),
                                      ~_windowed(maintained(now)))),
        (reasons.RESERVED, ~_booked(live(now))),
        (reasons.LEASED, ~_booked(has_node(now))),
        (reasons.INSTANCE_BOUND, _n.instance_uuid.is_(None)),
        (reasons.WRONG_STATE, _n.provision_state == facts.AVAILABLE),
        (reasons.BUSY, ~sa.exists().where(sent))]


def obstacle(now: Instant, hosts: bool,
             unheld: Mapping[str, str],
             full: Mapping[str, str]) -> sa.ColumnElement[str | None]:
    """Return what keeps a row of ``nodes`` from being picked.

    The twin is ``pick.pick``: what will not pass by itself comes first, and a
    promise to a lease last, since that might go elsewhere.

    :param hosts: whether hosts of leases will do.
    :param unheld: nodes that could not be held in Placement, and the cause.
    :param full: resource classes that may not be had, and the cause.
    """
    # CASE WHEN NOT reservable THEN 'not_reservable' ... END
    # NOTE: a state that is not known is no state to be had in.
    return sa.case(
        *((condition.is_not(sa.true()), code)
          for code, condition in requirements(now, hosts)),
        *((_n.uuid.in_([uuid for uuid, each in unheld.items()
                        if each == code]), code)
          for code in sorted(set(unheld.values()))),
        *((_n.resource_class == name, code)
          for name, code in sorted(full.items())),
        (sa.not_(unbooked(now)), reasons.PROMISED))


def _windowed(condition: Condition) -> sa.Exists:
    return sa.exists().where(_m.node_uuid == _n.uuid, condition)


def _booked(condition: Condition) -> sa.Exists:
    return sa.exists().where(_r.node_uuid == _n.uuid, condition)
