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

"""The limits of a caller, and the limits of reservations.

Limits of leases are applied in :mod:`.leases.limits`.
"""

from __future__ import annotations

from collections.abc import Collection
from collections.abc import Mapping
import dataclasses
import datetime

from oslo_config import cfg
import sqlalchemy as sa

from ironic_reservations import errors
from ironic_reservations.db import connection as db_connection
from ironic_reservations.db import reservations as db_reservations
from ironic_reservations.model import count_text
from ironic_reservations.model import node_reservation
from ironic_reservations.model import time_text

#: The origins of a value that is not configured.
_DEFAULTS = (cfg.Locations.opt_default, cfg.Locations.set_default)


def _no_class() -> Mapping[str, int]:
    field: Mapping[str, int] = dataclasses.field(default_factory=dict)
    return field


@dataclasses.dataclass(frozen=True)
class Limits:
    """The limits of a caller, named after their options.

    0 means no limit.  Limits by class are mappings by resource class.
    """

    max_duration: int = 0
    max_horizon: int = 0
    max_leases_per_project: int = 0
    max_hosts_per_project: int = 0
    max_host_hours_per_project: int = 0
    max_instances_per_project: int = 0
    max_instance_hours_per_project: int = 0
    max_per_project: int = 0
    max_lifetime: int = 0
    extension_notice: int = 0
    max_extensions: int = 0
    max_hosts_per_class: Mapping[str, int] = _no_class()
    max_host_hours_per_class: Mapping[str, int] = _no_class()
    max_per_class: Mapping[str, int] = _no_class()

    @property
    def counted(self) -> bool:
        """Whether any limit depends on the leases that a project has."""
        return any(getattr(self, name) for name in _COUNTED)

    @property
    def counts_reservations(self) -> bool:
        """Whether any limit depends on the reservations that a project has."""
        return bool(self.max_per_project or self.max_per_class)

    @property
    def classes(self) -> list[str]:
        """The resource classes that have limits of their own, sorted."""
        return sorted({*self.max_hosts_per_class,
                       *self.max_host_hours_per_class})


@dataclasses.dataclass(frozen=True)
class FullClasses:
    """The resource classes with a limit that was reached at the plan."""

    names: Collection[str]


#: The limits on extensions of leases that have started.
EXTENSIONS = ('extension_notice', 'max_extensions')
#: The limits in each group of options.
BY_GROUP = {
    'leases': ('max_leases_per_project', 'max_hosts_per_project',
               'max_host_hours_per_project', 'max_instances_per_project',
               'max_instance_hours_per_project', 'max_duration',
               'max_horizon', *EXTENSIONS),
    'reservations': ('max_per_project', 'max_lifetime')}
#: The limits by resource class.
BY_CLASS = {'leases': ('max_hosts_per_class', 'max_host_hours_per_class'),
            'reservations': ('max_per_class',)}
_COUNTED = (*BY_GROUP['leases'][:5], *BY_CLASS['leases'])
NONE = Limits()


def of(conf: cfg.ConfigOpts, group: str, exempt: bool = False,
       projects: bool = True) -> Limits:
    """Return the limits of a caller from a group of options.

    :param group: a key of :data:`BY_GROUP`.
    :param exempt: whether the caller may exceed limits.
    :param projects: whether there are projects.  Without them, all callers
        count as one project, and since the defaults are meant for one project
        of many, only limits that the operator has set apply.
    """
    if exempt or not conf.leases.project_limits:
        return NONE
    options = conf[group]
    # The value is compared first, since get_location of oslo.config is slow.
    return Limits(**{
        name: value for name in (*BY_GROUP[group], *BY_CLASS[group])
        if (value := options[name])
        and (projects or _is_set(conf, group, name))})


def _is_set(conf: cfg.ConfigOpts, group: str, name: str) -> bool:
    there = conf.get_location(name, group)
    return there is not None and there.location not in _DEFAULTS


#: The kind of lock of the projects whose reservations are counted.
RESERVATIONS = 'reservations'


def check_made(allowed: Limits, connection: sa.Connection,
               made: node_reservation.Reservation,
               resource_class: str | None = None,
               full: Collection[str] = ()) -> None:
    """Check the limits for a reservation that was just written.

    The transaction holds the lock of the project.

    :param resource_class: the class of the node.
    :param full: the classes whose limit was reached when the node was chosen.
    :raises ReservationLimit: the limit of reservations is reached.
    :raises Conflict: the limit of the class has been reached meanwhile.
    """
    most, now = allowed.max_per_project, made.created_at
    there = read_full(allowed, connection, made.project_id, now, made.uuid)
    if resource_class in there:
        # The mirror may have got the node or its class after that read.
        if resource_class in full:
            raise class_limit(allowed, there)
        raise db_connection.Conflict(
            f'the project has got other nodes of {resource_class}')
    used = db_reservations.count_waiting(connection, made.project_id, now,
                                         made.uuid)
    if most and used >= most:
        raise errors.ReservationLimit(
            f'The project has {count_text.counted(used, "reservation")} that '
            f'{"has" if used == 1 else "have"} not been used yet, and '
            f'[reservations] max_per_project allows {most}. Use or delete '
            'one of them first.', limit='max_per_project', allowed=most,
            used=used, asked=1)


def read_full(allowed: Limits, connection: sa.Connection,
              project_id: str | None, now: datetime.datetime,
              but: str = '') -> dict[str, int]:
    """Read the resource classes whose limit a project has reached.

    :param but: the uuid of a reservation that is not counted.
    :returns: the number of its unused reservations by class.
    """
    if not allowed.max_per_class:
        return {}
    used = db_reservations.count_waiting_by_class(connection, project_id, now,
                                                  but)
    return {name: used[name] for name, most in allowed.max_per_class.items()
            if used.get(name, 0) >= most}


def class_limit(allowed: Limits,
                full: Mapping[str, int]) -> errors.ReservationLimit:
    """Return the error for a project that may not reserve more of a class.

    :param full: as :func:`read_full` returns it.
    """
    name, used = min(full.items())
    most = allowed.max_per_class[name]
    return errors.ReservationLimit(
        'The project may reserve no more nodes of some classes '
        '([reservations] max_per_class), and no other node can be reserved. '
        'Unused reservations: '
        + ', '.join(f'{count} of {each}' for each, count in sorted(
            full.items()))
        + '. Use or delete one of them first, or ask for nodes of other '
        'classes.', limit='max_per_class', resource_class=name, allowed=most,
        used=used, asked=1)


def check_lifetime(allowed: Limits, held: node_reservation.Reservation,
                   end: datetime.datetime) -> None:
    """Check that a renewal does not exceed the longest lifetime.

    :param end: the new end.
    :raises ReservationLimit: the renewal exceeds it.
    """
    most = allowed.max_lifetime
    latest = held.created_at + datetime.timedelta(seconds=most)
    if (most and held.state is node_reservation.State.RESERVED
            and end > max(latest, held.expires_at)):
        raise errors.ReservationLimit(
            f'The reservation began at {time_text.moment(held.created_at)} '
            f'and can be renewed until {time_text.moment(latest)}, '
            f'{time_text.duration(most)} later '
            '([reservations] max_lifetime). Renew it until that time at most, '
            'use it, or lease a node.', limit='max_lifetime', allowed=most,
            used=int((held.expires_at - held.created_at).total_seconds()),
            asked=int((end - held.created_at).total_seconds()),
            latest=latest.isoformat())
