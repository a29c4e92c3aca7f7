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

"""Comparisons of this service with its peers, and where a peer is better."""

from __future__ import annotations

from collections.abc import Iterator
import dataclasses

from benchmarks.proof import rows


@dataclasses.dataclass(frozen=True)
class Comparison:
    """One quantity of this service and of a peer; the smaller is the better.

    :ivar section: the name of the section that has it.
    """

    section: str
    what: str
    peer: str
    theirs: float
    ours: float
    unit: str

    @property
    def peer_is_better(self) -> bool:
        """Return whether the peer's value is the smaller one."""
        return self.theirs < self.ours


def comparisons(run: rows.Run) -> list[Comparison]:
    """Return all comparisons that the rows of a run allow."""
    return [found for section in run.sections
            for found in _of(section)]


def _of(section: rows.Section) -> Iterator[Comparison]:
    ours = {_key(row): row for row in section.rows
            if getattr(row, 'who', '') == rows.OURS}
    late = {_key(row): row for row in section.rows
            if getattr(row, 'policy', '') == rows.LATE}
    for row in section.rows:
        if isinstance(row, rows.Times | rows.Amount | rows.Races):
            mine = ours.get(_key(row))
            if row.who in (rows.IRONIC, rows.BLAZAR) and mine is not None:
                yield from _both(section.name, row.who, row, mine)
        elif isinstance(row, rows.Replayed | rows.Packed):
            mine = late.get(_key(row))
            if row.policy == rows.PINNED and mine is not None:
                yield from _both(section.name, 'pinned hosts', row, mine)


def _key(row: rows.Row) -> tuple[object, ...]:
    """Return what two rows have in common that can be compared."""
    match row:
        case rows.Times():
            return row.what, row.clients, row.hosts, row.leases
        case rows.Amount():
            return row.what, row.hosts, row.leases
        case rows.Races():
            return row.what, row.clients
        case rows.Replayed():
            return row.log, row.selection
        case rows.Packed():
            return (row.family,)
    return ()


def _both(section: str, peer: str, theirs: rows.Row,
          ours: rows.Row) -> Iterator[Comparison]:
    match theirs, ours:
        case rows.Times(), rows.Times():
            if theirs.seconds and ours.seconds:
                yield Comparison(section, _sized(theirs) + _clients(theirs),
                                 peer, 1000 * theirs.median,
                                 1000 * ours.median, 'ms')
        case rows.Amount(), rows.Amount():
            yield Comparison(section, _sized(theirs), peer, theirs.value,
                             ours.value, theirs.unit)
        case rows.Races(), rows.Races():
            yield Comparison(section, f'double bookings of {theirs.what}',
                             peer, theirs.double, ours.double, '')
        case rows.Replayed(), rows.Replayed():
            for what, name in (('refused leases', 'refused'),
                               ('refused extensions', 'refused_extensions')):
                yield Comparison(section, f'{what} of {theirs.log}', peer,
                                 getattr(theirs, name), getattr(ours, name),
                                 '')
            yield Comparison(section, f'the replay of {theirs.log}', peer,
                             theirs.seconds, ours.seconds, 's')
        case rows.Packed(), rows.Packed():
            yield Comparison(section, f'wrong refusals, {theirs.family}',
                             peer, theirs.refused, ours.refused, '')
            yield Comparison(section, f'processor time, {theirs.family}',
                             peer, theirs.cpu, ours.cpu, 's')


def _sized(row: rows.Times | rows.Amount) -> str:
    leases = f' and {row.leases:,} leases' if row.leases else ''
    return f'{row.what}, with {row.hosts:,} hosts{leases}'


def _clients(row: rows.Times) -> str:
    return f', {row.clients} clients at once' if row.clients > 1 else ''
