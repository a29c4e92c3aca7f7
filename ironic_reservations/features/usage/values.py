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

"""Usage of leases: host hours promised, bound, deployed and unused."""

from __future__ import annotations

import dataclasses
import datetime
import enum


class Group(enum.StrEnum):
    """The properties by which usage is grouped."""

    DAY = 'day'
    PROJECT = 'project'
    CLASS = 'class'


@dataclasses.dataclass(frozen=True)
class Spell:
    """A number of hosts over a period.

    :ivar resource_class: the class of the hosts; empty: none.
    :ivar promised: whether they were promised over the whole period.
    :ivar bound_until: the end of the time for which they were bound; ``None``:
        never.
    :ivar deployed: whether this is a period of deployed hosts, and nothing
        else.
    """

    project_id: str | None
    resource_class: str
    start: datetime.datetime
    end: datetime.datetime
    hosts: int
    promised: bool = False
    bound_until: datetime.datetime | None = None
    deployed: bool = False


@dataclasses.dataclass(frozen=True)
class Usage:
    """The usage of leases, in host microseconds.

    :ivar day: in UTC; ``None`` if days are not distinguished, like
        ``project_id`` and ``resource_class``.
    :ivar promised: the durations of the bookings.
    :ivar bound: the part of that in which the leases had the hosts, until now.
    :ivar deployed: the part of that in which the hosts were deployed.
    """

    day: datetime.date | None
    project_id: str | None
    resource_class: str | None
    promised: int
    bound: int
    deployed: int

    @property
    def unused(self) -> int:
        """The time for which hosts were bound but not deployed."""
        return self.bound - self.deployed
