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

"""Rows of raw data, and their form as JSON."""

from __future__ import annotations

from collections.abc import Mapping
from collections.abc import Sequence
import dataclasses
import statistics
from typing import Any

OURS, IRONIC, BLAZAR = 'ironic-reservations', 'Ironic', 'Blazar'
#: Policies of binding hosts.
LATE, PINNED = 'late', 'pinned'
#: Digits after the point of a time in seconds.
_DIGITS = 5


@dataclasses.dataclass(frozen=True)
class Times:
    """The times of requests of one kind.

    :ivar who: the service that answered.
    :ivar what: the kind; the same name for each service.
    :ivar seconds: the time of each request that was served.
    :ivar wall: the time of all of them together.
    :ivar failed: the number of requests that were not served.
    """

    who: str
    what: str
    seconds: tuple[float, ...]
    wall: float
    clients: int = 1
    hosts: int = 0
    leases: int = 0
    failed: int = 0

    @property
    def median(self) -> float:
        """Return the median in seconds."""
        return statistics.median(self.seconds)

    @property
    def p95(self) -> float:
        """Return the 95th percentile in seconds."""
        ordered = sorted(self.seconds)
        return ordered[min(len(ordered) - 1, int(len(ordered) * 0.95))]

    @property
    def rate(self) -> float:
        """Return the number of requests that were served in a second."""
        return len(self.seconds) / self.wall if self.wall else 0.0


@dataclasses.dataclass(frozen=True)
class Amount:
    """A quantity that is no time, such as memory."""

    who: str
    what: str
    value: float
    unit: str
    hosts: int = 0
    leases: int = 0


@dataclasses.dataclass(frozen=True)
class Races:
    """Races of clients that asked for one host at the same moment.

    :ivar owners: for each race, the number of clients that got the host.
    """

    who: str
    what: str
    clients: int
    owners: tuple[int, ...]

    @property
    def double(self) -> int:
        """Return the number of races with more than one owner."""
        return sum(each > 1 for each in self.owners)

    @property
    def without(self) -> int:
        """Return the number of races that no client won."""
        return self.owners.count(0)


@dataclasses.dataclass(frozen=True)
class Refusals:
    """Requests of one kind that are mostly refused.

    :ivar proved: the number of refusals that are called proved.
    :ivar offers: the number of offers in all refusals together.
    :ivar cpu: the processor time of each request, in seconds.
    :ivar late: the longest wait of another thread, in seconds.
    """

    what: str
    hosts: int
    leases: int
    asked: int
    refused: int
    proved: int
    offers: int
    cpu: tuple[float, ...]
    late: float


@dataclasses.dataclass(frozen=True)
class Replayed:
    """A log, replayed with one policy of binding hosts.

    :ivar selection: the jobs of the log that were replayed.
    """

    log: str
    selection: str
    policy: str
    hosts: int
    requests: int
    refused: int
    extensions: int
    refused_extensions: int
    seconds: float


@dataclasses.dataclass(frozen=True)
class Packed:
    """Requests that can all be served, with one policy of binding hosts.

    :ivar proved: the number of refusals that are called proved.
    :ivar place, no_place, unknown: the answers of CP-SAT for the refused
        requests that were judged.
    :ivar falsely_proved: the number of refusals that were called proved, and
        for which CP-SAT has found a place.
    """

    family: str
    policy: str
    packings: int
    requests: int
    refused: int
    proved: int
    place: int
    no_place: int
    unknown: int
    falsely_proved: int
    cpu: float

    @property
    def share(self) -> float:
        """Return the share of refused requests."""
        return self.refused / self.requests if self.requests else 0.0


@dataclasses.dataclass(frozen=True)
class Storm:
    """A storm of faults over one kind of database.

    :ivar found: the findings, one line each.
    :ivar judged: by the rule, how often it could have found something.
    """

    database: str
    seed: str
    seconds: float
    exchanges: int
    faults: int
    found: tuple[str, ...]
    judged: Mapping[str, int]


Row = Times | Amount | Races | Refusals | Replayed | Packed | Storm
_KINDS: Mapping[str, type[Row]] = {
    each.__name__: each for each in (Times, Amount, Races, Refusals, Replayed,
                                     Packed, Storm)}


@dataclasses.dataclass(frozen=True)
class Section:
    """A section of a run.

    :ivar rows: in the order in which they were measured.
    :ivar seconds: the time that it took.
    :ivar load: the load average of the machine before it began.
    :ivar failure: why it has not ended by itself; empty: it has.
    :ivar notes: sentences about the conditions.
    """

    name: str
    rows: tuple[Row, ...] = ()
    seconds: float = 0.0
    load: float = 0.0
    failure: str = ''
    notes: tuple[str, ...] = ()


@dataclasses.dataclass(frozen=True)
class Run:
    """A whole run.

    :ivar machine: names and values, in the order of the page.
    :ivar command: the command line.
    """

    machine: Mapping[str, str]
    command: str
    sections: tuple[Section, ...]

    @property
    def quick(self) -> bool:
        """Return whether its sizes are too small to mean anything."""
        return '--quick' in self.command.split()

    def rows(self, name: str) -> Sequence[Row]:
        """Return the rows of a section."""
        return [row for each in self.sections if each.name == name
                for row in each.rows]


def to_json(row: Row) -> dict[str, Any]:
    """Return a row as JSON."""
    return {'kind': type(row).__name__,
            **{name: _rounded(value)
               for name, value in dataclasses.asdict(row).items()}}


def _rounded(value: Any) -> Any:
    if isinstance(value, float):
        return round(value, _DIGITS)
    if isinstance(value, (list, tuple)):
        return [_rounded(each) for each in value]
    return value


def of_json(raw: Mapping[str, Any]) -> Row:
    """Return the row that JSON describes."""
    values: dict[str, Any] = {
        name: tuple(value) if isinstance(value, list) else value
        for name, value in raw.items() if name != 'kind'}
    return _KINDS[raw['kind']](**values)


def run_to_json(run: Run) -> dict[str, Any]:
    """Return a run as JSON."""
    return {'machine': dict(run.machine), 'command': run.command,
            'sections': [{
                'name': each.name, 'seconds': round(each.seconds, 1),
                'load': round(each.load, 2), 'failure': each.failure,
                'notes': list(each.notes),
                'rows': [to_json(row) for row in each.rows]}
                for each in run.sections]}


def run_of_json(raw: Mapping[str, Any]) -> Run:
    """Return the run that JSON describes."""
    return Run(raw['machine'], raw['command'], tuple(
        Section(each['name'], tuple(of_json(row) for row in each['rows']),
                each['seconds'], each['load'], each['failure'],
                tuple(each['notes']))
        for each in raw['sections']))
