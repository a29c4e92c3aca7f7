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

"""What the planner answers for the pool: a whole plan, or why there is none.
"""

from __future__ import annotations

import dataclasses

from ironic_reservations.planner import plans
from ironic_reservations.planner.pool import instances
from ironic_reservations.planner.pool import pool
from ironic_reservations.planner.pool import shares


@dataclasses.dataclass(frozen=True)
class PoolMove:
    """What has not started goes to another host.

    :ivar promise: as it is then.
    """

    promise: instances.Promise
    node: int


@dataclasses.dataclass(frozen=True)
class PoolPlan:
    """The complete assignment of all bookings and instances, old and new.

    :ivar granted: for each demand, what is promised for it.
    :ivar moves: what changes for what was promised before.
    :ivar most: whether it is proved that no demand can get more than it
        gets here, given what those before it get.
    """

    pool: pool.Pool
    granted: tuple[tuple[instances.Promise, ...], ...]
    moves: tuple[PoolMove, ...] = ()
    most: bool = True


@dataclasses.dataclass(frozen=True)
class HostShortage:
    """What a host lacks for more of a demand than it has room for.

    :ivar room: how many of the instances, or of the hosts, asked for there
        is room for.
    :ivar spells: what is short for one more, and from when to when, within
        the window.
    """

    node: int
    room: int
    spells: tuple[shares.Spell, ...]


@dataclasses.dataclass(frozen=True)
class PoolRefusal:
    """Not all demands can be served, so none is.

    :ivar demand: a demand that cannot be, together with the others.
    :ivar short: for how many of its hosts or instances there is no room.
    :ivar at: the first instant of a shortage.
    :ivar hosts: for each eligible host what it lacks, as the others' plans
        stand; at most :data:`MOST_HOSTS`, those with the most room first.
    :ivar blockers: what is in the way there, by its start.
    """

    cause: plans.Cause
    demand: instances.Wish
    short: int
    at: int | None = None
    hosts: tuple[HostShortage, ...] = ()
    blockers: tuple[instances.Promise, ...] = ()


#: How many hosts, and how many of what is in the way, a refusal tells.
MOST_HOSTS = 100
