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

"""Decides on warnings about unused nodes, and on their release."""

from __future__ import annotations

from collections.abc import Collection
from collections.abc import Mapping
import dataclasses
import datetime

#: The key for all classes that are not named.
OTHERS = '*'


@dataclasses.dataclass(frozen=True)
class Terms:
    """The options of the operator.

    :ivar after: the time to deploy a node, in seconds, by class.
    :ivar warn_before: the time between the warning and the release, in
        seconds.
    :ivar whole: whether the whole lease is released instead of single nodes.
    """

    after: Mapping[str, int]
    warn_before: int
    whole: bool

    def time(self, resource_class: str | None) -> int | None:
        """Return the time to deploy a node of a class, in seconds.

        :returns: ``None``: until the end of the lease.
        """
        return self.after.get(resource_class or '', self.after.get(OTHERS))

    def notice(self, time: int) -> int:
        """Return the time between the warning and the release, in seconds.

        :param time: the time to deploy the node, in seconds.
        """
        return min(self.warn_before, time)


@dataclasses.dataclass(frozen=True)
class Seat:
    """A node of a lease, and its use.

    :ivar usable_since: the time since which the lease has been able to deploy
        it without a break; ``None``: it cannot deploy it, or this is not
        known.
    :ivar warned_at: the time at which the warning was written.
    :ivar used: whether the node has been deployed.
    :ivar deployable: whether it can be deployed now: it is not broken or busy.
    :ivar arrived_at: the time at which the warning was delivered; ``None``:
        not yet.
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
    def warning_at(self) -> datetime.datetime | None:
        """The time of the warning, if it is still valid.

        A warning is void if the node could not be deployed at some time after
        it.
        """
        if (self.warned_at is None or self.usable_since is None
                or self.warned_at < self.usable_since):
            return None
        return self.warned_at


@dataclasses.dataclass(frozen=True)
class Verdict:
    """The next steps for nodes, by the uuids of their bookings.

    :ivar warn: the nodes to warn about.
    :ivar release: the nodes to release.
    """

    warn: frozenset[str] = frozenset()
    release: frozenset[str] = frozenset()


NOTHING = Verdict()


def judge(seats: Collection[Seat], terms: Terms,
          now: datetime.datetime) -> Verdict:
    """Return the nodes of a lease to warn about or release now.

    :param seats: all nodes of the lease.
    """
    warned = frozenset(each.booking_uuid for each in seats
                       if _warned(each, terms, now))
    released = frozenset(each.booking_uuid for each in seats
                         if _released(each, terms, now))
    if terms.whole:
        every = {each.booking_uuid for each in seats}
        if released >= every:
            return Verdict(release=released)
        # No warning while another node prevents the release of the lease.
        notified = {each.booking_uuid for each in seats
                    if each.warning_at is not None and _idle(each, terms)}
        return Verdict(warn=warned) if warned and (
            warned | notified >= every) else NOTHING
    return Verdict(warned, released)


def _idle(seat: Seat, terms: Terms) -> bool:
    """Return whether a node is deployable and unused."""
    return (not seat.used and seat.deployable
            and seat.usable_since is not None
            and terms.time(seat.resource_class) is not None)


def _warned(seat: Seat, terms: Terms, now: datetime.datetime) -> bool:
    time = terms.time(seat.resource_class)
    if not _idle(seat, terms) or time is None or seat.usable_since is None:
        return False
    notice = terms.notice(time)
    return (bool(notice) and seat.warning_at is None
            and seat.usable_since + datetime.timedelta(
                seconds=time - notice) <= now)


def _released(seat: Seat, terms: Terms, now: datetime.datetime) -> bool:
    at = release_at(seat, terms)
    return at is not None and at <= now


def release_at(seat: Seat, terms: Terms) -> datetime.datetime | None:
    """Return the time at which a node is released, if nothing changes.

    :returns: ``None``: it is not released, or only after the delivery of the
        warning.
    """
    time = terms.time(seat.resource_class)
    if not _idle(seat, terms) or time is None or seat.usable_since is None:
        return None
    at = seat.usable_since + datetime.timedelta(seconds=time)
    notice = terms.notice(time)
    if not notice:
        return at
    # After a late delivery of the warning, the release is later, too.
    return None if seat.warning_at is None or seat.arrived_at is None else max(
        at, seat.arrived_at + datetime.timedelta(seconds=notice))
