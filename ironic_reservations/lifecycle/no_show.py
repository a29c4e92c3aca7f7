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

"""When a lease that uses none of its nodes is warned, and loses them."""

from __future__ import annotations

from collections.abc import Collection
from collections.abc import Mapping
import dataclasses
import datetime

#: Stands for all classes that are not named.
OTHERS = '*'


@dataclasses.dataclass(frozen=True)
class Terms:
    """What the operator has set.

    :ivar after: the time to deploy a node, in seconds, by its class.
    :ivar warn_before: how long before the release it is told, in seconds.
    :ivar whole: whether the lease is released, or each node by itself.
    """

    after: Mapping[str, int]
    warn_before: int
    whole: bool

    def time(self, resource_class: str | None) -> int | None:
        """Return how long there is time to deploy a node, in seconds.

        :returns: ``None``: until the end of the lease.
        """
        return self.after.get(resource_class or '', self.after.get(OTHERS))

    def notice(self, time: int) -> int:
        """Return how long before the release of a node it is told.

        :param time: how long there is time to deploy the node.
        """
        return min(self.warn_before, time)


@dataclasses.dataclass(frozen=True)
class Seat:
    """A node of a lease, and what is known of its use.

    :ivar booking_uuid: of its row.
    :ivar usable_since: since when it is the lease's and can be deployed
        without a break; ``None``: it is not so, or nobody knows.
    :ivar warned_at: when it was told that it is released.
    :ivar used: whether it has been deployed since.
    :ivar deployable: whether it could be now: it is neither broken nor busy.
    :ivar arrived_at: when whoever is to get the warning had it; ``None``: not
        yet.
    """

    booking_uuid: str
    node_uuid: str
    resource_class: str | None
    usable_since: datetime.datetime | None
    warned_at: datetime.datetime | None
    used: bool
    deployable: bool
    arrived_at: datetime.datetime | None

    @property
    def told_at(self) -> datetime.datetime | None:
        """When it was told, if that still counts.

        NOTE: a warning is none if the node could not be deployed since.
        """
        if (self.warned_at is None or self.usable_since is None
                or self.warned_at < self.usable_since):
            return None
        return self.warned_at


@dataclasses.dataclass(frozen=True)
class Verdict:
    """What becomes of nodes, by the uuids of their bookings.

    :ivar warn: it is told that they are released.
    :ivar release: they are.
    """

    warn: frozenset[str] = frozenset()
    release: frozenset[str] = frozenset()


NOTHING = Verdict()


def judge(seats: Collection[Seat], terms: Terms,
          now: datetime.datetime) -> Verdict:
    """Return which nodes of a lease are warned about, or released, now.

    :param seats: all nodes that the lease has.
    """
    warned = frozenset(each.booking_uuid for each in seats
                       if _warned(each, terms, now))
    released = frozenset(each.booking_uuid for each in seats
                         if _released(each, terms, now))
    if terms.whole:
        every = {each.booking_uuid for each in seats}
        if released >= every:
            return Verdict(release=released)
        # NOTE: nobody is warned of what a node that is used, or that cannot
        # be used, keeps from happening.
        told = {each.booking_uuid for each in seats
                if each.told_at is not None and _idle(each, terms)}
        return Verdict(warn=warned) if warned and (
            warned | told >= every) else NOTHING
    return Verdict(warned, released)


def _idle(seat: Seat, terms: Terms) -> bool:
    """Return whether a node may be taken for one that nobody wants."""
    return (not seat.used and seat.deployable
            and seat.usable_since is not None
            and terms.time(seat.resource_class) is not None)


def _warned(seat: Seat, terms: Terms, now: datetime.datetime) -> bool:
    time = terms.time(seat.resource_class)
    if not _idle(seat, terms) or time is None or seat.usable_since is None:
        return False
    notice = terms.notice(time)
    return (bool(notice) and seat.told_at is None
            and seat.usable_since + datetime.timedelta(
                seconds=time - notice) <= now)


def _released(seat: Seat, terms: Terms, now: datetime.datetime) -> bool:
    at = release_at(seat, terms)
    return at is not None and at <= now


def release_at(seat: Seat, terms: Terms) -> datetime.datetime | None:
    """Return when a node is released, as things are.

    :returns: ``None``: not at all, or not before it has been told.
    """
    time = terms.time(seat.resource_class)
    if not _idle(seat, terms) or time is None or seat.usable_since is None:
        return None
    at = seat.usable_since + datetime.timedelta(seconds=time)
    notice = terms.notice(time)
    if not notice:
        return at
    # NOTE: whoever was told late has the whole of the notice all the same.
    return None if seat.told_at is None or seat.arrived_at is None else max(
        at, seat.arrived_at + datetime.timedelta(seconds=notice))
