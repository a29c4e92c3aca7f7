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

"""Apply the limits of a project to its leases."""

from __future__ import annotations

from collections.abc import Collection
from collections.abc import Iterable
from collections.abc import Iterator
from collections.abc import Mapping
from collections.abc import Sequence
import copy
import dataclasses
import datetime
import json

from ironic_reservations import errors
from ironic_reservations.engine import ceiling
from ironic_reservations.features.limits import class_admission
from ironic_reservations.features.limits import configured
from ironic_reservations.model import count_text
from ironic_reservations.model import instants
from ironic_reservations.model import leases
from ironic_reservations.model import limits
from ironic_reservations.planner import allowance

_HOUR = 3600
_TICK = datetime.timedelta(microseconds=1)
_ANY_TIME = datetime.datetime.min


@dataclasses.dataclass(frozen=True)
class _Kind:
    """A kind of booking that is counted, and the options that limit it.

    :ivar what: its name in the singular.
    :ivar at_once: the number that a project may have at the same time; 0:
        unlimited.
    :ivar hours: the hours that a project may have ahead; 0: unlimited.
    :ivar resource_class: the class of the hosts that are counted; ``None``:
        all hosts.
    """

    whole: bool
    what: str
    at_once_option: str
    hours_option: str
    at_once: int
    hours: int
    resource_class: str | None = None

    @property
    def plural(self) -> str:
        """Return its name in the plural."""
        return f'{self.what}s{self._of_class}'

    @property
    def _of_class(self) -> str:
        return ('' if self.resource_class is None
                else f' of the class {self.resource_class}')

    def text(self, number: int) -> str:
        """Return a number with its name."""
        return count_text.counted(number, self.what) + self._of_class

    def counts(self, whole: bool, classes: Collection[str]) -> bool:
        """Return whether the limit counts a booking.

        :param whole: whether it is of a whole host.
        :param classes: the resource classes that it may get.
        """
        if self.resource_class is None:
            return whole is self.whole
        return self.resource_class in classes


def _kinds(allowed: limits.Limits) -> tuple[_Kind, ...]:
    """Return the kinds for which there is a limit."""
    at_once, hours = configured.BY_CLASS['leases']
    return tuple(kind for kind in (
        *(_Kind(*each, *(getattr(allowed, option) for option in each[2:]))
          for each in configured.PER_PROJECT),
        *(_Kind(True, 'host', at_once, hours,
                allowed.max_hosts_per_class.get(name, 0),
                allowed.max_host_hours_per_class.get(name, 0), name)
          for name in allowed.classes)) if kind.at_once or kind.hours)


@dataclasses.dataclass(frozen=True)
class _Room:
    """The rest of a limit.

    :ivar left: the number of hosts, or instances, over the whole window.
    """

    option: str
    allowed: int
    used: int
    left: int
    sentence: str


class Project(ceiling.Ceiling):
    """The holdings of a project, and the rest of its limits.

    :param allowed: the limits of the caller.
    :param held: the bookings of the project that are not over.
    :param count: the number of its leases that are not over.
    """

    def __init__(self, allowed: limits.Limits,
                 held: Sequence[allowance.Held], count: int,
                 now: datetime.datetime) -> None:
        self._limits = allowed
        self._kinds = _kinds(allowed)
        self._count = count
        self._now = now
        self._classes = tuple(allowed.classes)
        self._admitted: dict[tuple[bool, str, str], frozenset[str]] = {}
        self._held: dict[_Kind, list[allowance.Held]] = {
            kind: [] for kind in self._kinds}
        self._ahead = dict.fromkeys(self._kinds, 0.0)
        self._add(held)

    def beside(self, held: Iterable[allowance.Held]) -> Project:
        """See the base class."""
        project = copy.copy(self)
        project._held = {kind: [*there] for kind, there in self._held.items()}
        project._ahead = dict(self._ahead)
        project._add(held)
        return project

    def of_class(self, resource_class: str) -> Project:
        """See the base class."""
        project = copy.copy(self)
        try:
            # Counted as for a lease of the class, so "4" is the same as "4.0".
            counted = class_admission.of('', json.dumps(
                ['==', '$resource_class', resource_class]), self._classes)
        except ValueError:
            # No lease can request a name that begins with "$".
            counted = frozenset({resource_class})
        project._kinds = tuple(kind for kind in self._kinds if (
            kind.resource_class is None or kind.resource_class in counted))
        return project

    def check_one_more(self) -> None:
        """See the base class."""
        most = self._limits.max_leases_per_project
        if most and self._count >= most:
            raise errors.LeaseLimit(
                'The project has '
                f'{count_text.counted(self._count, "lease")}, and [leases] '
                f'max_leases_per_project allows {most}. End one of them '
                'first.', limit='max_leases_per_project', allowed=most,
                used=self._count, asked=1)

    def check_request(self, request: leases.LeaseRequest) -> None:
        """See the base class."""
        for kind in self._kinds:
            self._check(kind, self._least(kind, request),
                        request.start or self._now, request.end)

    def mosts_of(self, lease: leases.Lease, before: leases.Lease,
                 counts: Mapping[str, int]) -> dict[str, int]:
        """See the base class."""
        more = {each.id: max(0, each.most - counts[each.id])
                for each in lease.reservations}
        for kind in self._kinds:
            counted = [each.id for each in lease.reservations
                       if self._counts(kind, each)]
            least = sum(counts[ident] for ident in counted)
            had = self._taken(kind, before)
            for room in self._rooms(kind, lease.start, lease.end):
                # A lease keeps its previous amounts, as in check_lease.
                left = room.left
                if room.option == kind.hours_option:
                    kept = _lasts(before, self._now) * had
                    left = max(left, kept // max(_lasts(lease, self._now),
                                                 _TICK))
                elif _is_within(lease, before):
                    left = max(left, had)
                spare = max(0, left - least)
                for ident in counted:
                    more[ident] = min(more[ident], spare)
                    spare -= more[ident]
        return {ident: count + more[ident]
                for ident, count in counts.items()}

    def check_lease(self, lease: leases.Lease,
                    before: leases.Lease | None = None) -> None:
        """See the base class."""
        for kind in self._kinds:
            asked = self._taken(kind, lease)
            kept = set()
            if before is not None:
                had = self._taken(kind, before)
                if asked <= had and _is_within(lease, before):
                    kept.add(kind.at_once_option)
                if asked * _lasts(lease, self._now) <= (
                        had * _lasts(before, self._now)):
                    kept.add(kind.hours_option)
            self._check(kind, asked, lease.start, lease.end, kept)

    def opens(self) -> set[int]:
        """See the base class."""
        return {instants.instant(each.end) for kind in self._kinds
                for each in self._held[kind]}

    def next_start(self,
                   request: leases.LeaseRequest) -> datetime.datetime | None:
        """See the base class."""
        begin = start = request.start or self._now
        for kind in self._kinds:
            asked = self._least(kind, request)
            if not (asked and kind.at_once):
                continue
            full = allowance.beyond(self._held[kind], begin, request.end,
                                    kind.at_once - asked)
            if full is not None:
                start = max(start, full[1])
        return start if start > begin else None

    def latest_end(self, lease: leases.Lease,
                   end: datetime.datetime) -> datetime.datetime:
        """See the base class."""
        begin = max(lease.start, self._now)
        for kind in self._kinds:
            count = self._taken(kind, lease)
            if not count:
                continue
            full = allowance.beyond(
                self._held[kind], begin, end, kind.at_once - count
            ) if kind.at_once else None
            if full is not None:
                end = full[0]
            if kind.hours:
                left = max(0, (kind.hours * _HOUR - self._ahead[kind])
                           // count)
                if left < (end - begin).total_seconds():
                    end = begin + datetime.timedelta(seconds=left)
        return end

    def alternatives(
            self, request: leases.LeaseRequest, begin: datetime.datetime
    ) -> Iterator[tuple[str, leases.LeaseRequest]]:
        """See the base class."""
        seconds = [(request.end - begin).total_seconds()]
        if self._limits.max_duration:
            seconds.append(self._limits.max_duration)
        if self._limits.max_horizon:
            seconds.append(self._limits.max_horizon
                           - (begin - self._now).total_seconds())
        longest = min(seconds)
        for kind in self._kinds:
            least = self._least(kind, request)
            if kind.hours and least:
                seconds.append((kind.hours * _HOUR - self._ahead[kind])
                               // least)
        for length in sorted({longest, min(seconds)}, reverse=True):
            if length < 1:
                continue
            end = begin + datetime.timedelta(seconds=length)
            requests = self._fewer(request.reservations, begin, end)
            if requests is None:
                continue
            within = _ending(request, end, requests)
            if within != request:
                yield ('shorter' if requests == request.reservations
                       else 'fewer'), within

    def _fewer(self, requests: tuple[leases.LeaseReservationRequest, ...],
               begin: datetime.datetime, end: datetime.datetime
               ) -> tuple[leases.LeaseReservationRequest, ...] | None:
        """Return smaller requests that are allowed, or ``None``."""
        reduced = list(requests)
        for kind in self._kinds:
            places = self._places(kind, requests)
            for room in self._rooms(kind, begin, end):
                left, others = room.left, len(places)
                if left < others:
                    return None
                for place in places:
                    others -= 1
                    requested = reduced[place]
                    least = min(requested.least, left - others)
                    left -= least
                    if least < requested.least:
                        reduced[place] = dataclasses.replace(
                            requested, least=least, most=least)
        return tuple(reduced)

    def _check(self, kind: _Kind, asked: int, begin: datetime.datetime,
               end: datetime.datetime, kept: Collection[str] = ()) -> None:
        """Check the limits of one kind."""
        for room in self._rooms(kind, begin, end):
            if asked and asked > room.left and room.option not in kept:
                of_class = {} if kind.resource_class is None else {
                    'resource_class': kind.resource_class}
                raise errors.LeaseLimit(
                    f'{room.sentence} This request needs {asked}. '
                    + _instead(kind), limit=room.option, allowed=room.allowed,
                    used=room.used, asked=asked, **of_class)

    def _rooms(self, kind: _Kind, begin: datetime.datetime,
               end: datetime.datetime) -> Iterator[_Room]:
        if kind.at_once:
            used = allowance.most_at_once(self._held[kind],
                                          max(begin, self._now), end)
            yield _Room(
                kind.at_once_option, kind.at_once, used,
                max(0, kind.at_once - used),
                f'The project may have {kind.text(kind.at_once)} at the same '
                f'time ([leases] {kind.at_once_option}), and has {used} of '
                'them in that window.')
        if kind.hours:
            ahead = self._ahead[kind]
            length = (end - max(begin, self._now)).total_seconds()
            left = max(0, int((kind.hours * _HOUR - ahead) // max(1, length)))
            yield _Room(
                kind.hours_option, kind.hours, round(ahead / _HOUR), left,
                'The project may have '
                f'{count_text.counted(kind.hours, "hour")} of {kind.plural} '
                'ahead in all of its leases together ([leases] '
                f'{kind.hours_option}), and has {ahead / _HOUR:.0f}; for '
                f'{length / _HOUR:.1f} hours it can have {left} more.')

    def _add(self, held: Iterable[allowance.Held]) -> None:
        """Count bookings by kind."""
        for each in held:
            classes = self._may_be_of(each)
            seconds = allowance.seconds_ahead((each,), self._now)
            for kind, there in self._held.items():
                if kind.counts(each.whole, classes):
                    there.append(each)
                    self._ahead[kind] += seconds

    def _may_be_of(self, held: allowance.Held) -> frozenset[str]:
        """Return the possible classes of the host of a booking."""
        key = (held.whole, held.hypervisor_properties,
               held.resource_properties)
        found = self._admitted.get(key)
        if found is None:
            found = self._admitted[key] = class_admission.of_held(
                held, self._classes)
        return found

    def _places(
            self, kind: _Kind,
            requests: Sequence[leases.LeaseReservationRequest]) -> list[int]:
        return [place for place, requested in enumerate(requests)
                if self._counts(kind, requested)]

    def _least(self, kind: _Kind, request: leases.LeaseRequest) -> int:
        return sum(request.reservations[place].least
                   for place in self._places(kind, request.reservations))

    def _taken(self, kind: _Kind, lease: leases.Lease) -> int:
        return sum(allowance.booked(each) for each in lease.reservations
                   if self._counts(kind, each))

    def _counts(
        self, kind: _Kind,
        asked: leases.LeaseReservationRequest | leases.LeaseReservation
    ) -> bool:
        one = allowance.one_of(asked, _ANY_TIME, _ANY_TIME)
        return kind.counts(one.whole, self._may_be_of(one))


def _instead(kind: _Kind) -> str:
    """Return the advice for a request that exceeds a limit of this kind."""
    if kind.resource_class is None:
        return 'Ask for less, or end leases that are not needed any more.'
    return ('Ask for less, or for hosts of another class with ["!=", '
            f'"$resource_class", {json.dumps(kind.resource_class)}] in '
            'resource_properties: a reservation counts for each class that '
            'its properties do not exclude. Or end leases that are not needed '
            'any more.')


def _lasts(lease: leases.Lease, now: datetime.datetime) -> datetime.timedelta:
    return lease.end - max(lease.start, now)


def _is_within(lease: leases.Lease, before: leases.Lease) -> bool:
    return before.start <= lease.start and lease.end <= before.end


def _ending(
    request: leases.LeaseRequest, end: datetime.datetime,
    requests: tuple[leases.LeaseReservationRequest,
                    ...]) -> leases.LeaseRequest:
    before = request.before_end
    return dataclasses.replace(
        request, end=end, reservations=requests, key=None,
        before_end=None if before is None or before > end else before)
