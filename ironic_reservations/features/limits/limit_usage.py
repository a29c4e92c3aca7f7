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

"""The limits of a project, and the usage of each."""

from __future__ import annotations

from collections.abc import Mapping
from collections.abc import Sequence
import dataclasses
import datetime

from ironic_reservations.db import bookings as db_bookings
from ironic_reservations.db import leases as db_leases
from ironic_reservations.db import reservations as db_reservations
from ironic_reservations.engine import Engine
from ironic_reservations.features.limits import class_admission
from ironic_reservations.features.limits import configured
from ironic_reservations.model import limits
from ironic_reservations.planner import allowance

_HOUR = 3600
#: The unit of each limit.
UNITS = {
    'max_leases_per_project': 'leases',
    'max_hosts_per_project': 'hosts',
    'max_host_hours_per_project': 'hours',
    'max_hosts_per_class': 'hosts',
    'max_host_hours_per_class': 'hours',
    'max_per_class': 'reservations',
    'max_instances_per_project': 'instances',
    'max_instance_hours_per_project': 'hours',
    'max_duration': 'seconds',
    'max_horizon': 'seconds',
    'extension_notice': 'seconds',
    'max_extensions': 'extensions',
    'max_per_project': 'reservations',
    'max_lifetime': 'seconds',
}


@dataclasses.dataclass(frozen=True)
class LimitUsage:
    """One limit and its use.

    :ivar limit: the name of its option, as in refusals.
    :ivar allowed: the limit; ``None``: unlimited.
    :ivar used: the amount that is used; ``None`` if the limit applies to each
        request alone.
    :ivar unit: the unit of the limit and of the usage.
    :ivar resource_class: the class that it applies to; ``None``: all.
    """

    limit: str
    allowed: int | None
    used: int | None
    unit: str
    resource_class: str | None = None


def read(engine: Engine, project_id: str | None,
         allowed: Mapping[str, limits.Limits]) -> list[LimitUsage]:
    """Read the usage of the limits of a project.

    :param project_id: the project; ``None``: use without a project.
    :param allowed: its limits, by the group of their options.
    """
    now = engine.clock()
    with engine.database.snapshot() as connection:
        held = [allowance.Held(*row) for row in db_bookings.read_of_project(
            connection, project_id, now,
            texts=bool(allowed['leases'].classes))]
        used = {
            'max_leases_per_project': db_leases.count_live(connection,
                                                           project_id),
            'max_per_project': db_reservations.count_waiting(
                connection, project_id, now)}
        waiting = db_reservations.count_waiting_by_class(
            connection, project_id, now)
    for whole, _, at_once, hours in configured.PER_PROJECT:
        kind = [each for each in held if each.whole is whole]
        used[at_once] = _most_at_once(kind, now)
        used[hours] = round(allowance.seconds_ahead(kind, now) / _HOUR)
    return [LimitUsage(name, getattr(allowed[group], name) or None,
                       used.get(name), UNITS[name])
            for group, names in configured.BY_GROUP.items() for name in names
            ] + _by_class(held, allowed['leases'], now) + [
                LimitUsage('max_per_class', most, waiting.get(name, 0),
                           UNITS['max_per_class'], name) for name, most
                in sorted(allowed['reservations'].max_per_class.items())]


def _by_class(held: Sequence[allowance.Held], allowed: limits.Limits,
              now: datetime.datetime) -> list[LimitUsage]:
    found = []
    classes = tuple(allowed.classes)
    of = [class_admission.of_held(each, classes) for each in held]
    for resource_class in classes:
        kind = [each for each, names in zip(held, of, strict=True)
                if resource_class in names]
        used = {'max_hosts_per_class': _most_at_once(kind, now),
                'max_host_hours_per_class': round(
                    allowance.seconds_ahead(kind, now) / _HOUR)}
        found += [LimitUsage(name, getattr(allowed, name).get(resource_class),
                             used[name], UNITS[name], resource_class)
                  for name in configured.BY_CLASS['leases']]
    return found


def _most_at_once(held: Sequence[allowance.Held],
                  now: datetime.datetime) -> int:
    """Return the largest number at any instant from now on."""
    return allowance.most_at_once(
        held, now, max((each.end for each in held), default=now))
