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

"""What leases have had: host hours promised, bound, deployed and unused."""

from __future__ import annotations

import dataclasses
import datetime
import enum


class Group(enum.StrEnum):
    """What usage is told apart by."""

    DAY = 'day'
    PROJECT = 'project'
    CLASS = 'class'


@dataclasses.dataclass(frozen=True)
class Spell:
    """So many hosts, from when until when.

    :ivar resource_class: of the hosts; empty: none.
    :ivar promised: whether they were promised, from the start to the end.
    :ivar bound_until: until when of that they were the lease's;
        ``None``: not at all.
    :ivar deployed: whether this is of what was deployed, and of nothing
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
    """What leases have had, in microseconds of one host.

    :ivar day: in UTC; ``None`` where days are not told apart, and likewise
        ``project_id`` and ``resource_class``.
    :ivar promised: from the start of each promise to its end.
    :ivar bound: of that, what has passed while the hosts were the lease's.
    :ivar deployed: of that, what they were deployed for.
    """

    day: datetime.date | None
    project_id: str | None
    resource_class: str | None
    promised: int
    bound: int
    deployed: int

    @property
    def unused(self) -> int:
        """Return for how long hosts were bound and not deployed."""
        return self.bound - self.deployed
