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

"""The claims of README: a figure each, computed from the rows of a run."""

from __future__ import annotations

from collections.abc import Iterator
from collections.abc import Sequence
import dataclasses
import re

from benchmarks.proof import rows
from benchmarks.proof import sections


@dataclasses.dataclass(frozen=True)
class Headline:
    """A claim.

    :ivar label: its target on the page is ``proof-`` and this.
    :ivar figure: its value, as README shows it.
    :ivar told: a sentence, with the figure in the place of ``{}``.
    """

    label: str
    figure: str
    told: str


def headlines(run: rows.Run) -> list[Headline]:
    """Return the claims that the rows of a run allow."""
    return [found for each in (_claims, _leases, _races, _replay, _packings,
                               _storm)
            for found in each(run)]


def _claims(run: rows.Run) -> Iterator[Headline]:
    for row in run.rows('claims'):
        assert isinstance(row, rows.Times)
        label = {rows.IRONIC: 'ironic', rows.OURS: 'ours',
                 sections.UNCONFIRMED: 'unconfirmed'}[row.who]
        if row.clients > 1 and row.what == sections.OF_CLASS:
            yield Headline(
                f'claims-{label}', number(row.rate),
                f'Claims a second, {row.clients} clients at once, any of '
                f'{row.hosts:,} nodes of a class, {row.who}: {{}}.')


def _leases(run: rows.Run) -> Iterator[Headline]:
    there = [row for row in run.rows('leases')
             if isinstance(row, rows.Times) and row.what == sections.LEASE]
    sizes = sorted({(row.hosts, row.leases) for row in there})
    for row in there:
        label = 'blazar' if row.who == rows.BLAZAR else 'ours'
        size = sizes.index((row.hosts, row.leases))
        place = 'smallest' if not size else (
            'largest' if size == len(sizes) - 1 else str(size))
        leases = f' that have {row.leases:,} leases' if row.leases else ''
        yield Headline(
            f'lease-{label}-{place}', f'{number(1000 * row.median)} ms',
            f'A lease of one of {row.hosts:,} hosts{leases}, median of '
            f'{len(row.seconds)}, {row.who}: {{}}.')


def _races(run: rows.Run) -> Iterator[Headline]:
    for row in run.rows('races'):
        assert isinstance(row, rows.Races)
        label = {rows.IRONIC: 'ironic', rows.BLAZAR: 'blazar'}.get(
            row.who, 'ours-lease' if 'lease' in row.what else 'ours-node')
        yield Headline(
            f'races-{label}', f'{row.double} of {len(row.owners)}',
            f'Races of two clients for {row.what} that both have won, '
            f'{row.who}: {{}}.')


def _replay(run: rows.Run) -> Iterator[Headline]:
    for policy in (rows.PINNED, rows.LATE):
        there = [row for row in run.rows('replay')
                 if isinstance(row, rows.Replayed) and row.policy == policy]
        if there:
            yield Headline(
                f'replay-{policy}',
                f'{sum(row.refused_extensions for row in there):,} of '
                f'{sum(row.extensions for row in there):,}',
                f'Extensions refused in the replay of {_logs(there)}, '
                f'{policy} binding: {{}}.')


def _logs(there: Sequence[rows.Replayed]) -> str:
    names = sorted(row.log for row in there)
    return f'{len(names)} logs ({", ".join(names)})' if len(
        names) > 1 else names[0]


def _packings(run: rows.Run) -> Iterator[Headline]:
    for row in run.rows('packings'):
        assert isinstance(row, rows.Packed)
        words = re.findall(r'\w+', row.family.replace(' used', ''))
        yield Headline(
            f'packings-{"-".join(words)}-{row.policy}',
            f'{100 * row.share:.1f} %',
            f'Wrong refusals of {row.requests:,} requests, {row.family}, '
            f'{row.policy} binding: {{}}.')


def _storm(run: rows.Run) -> Iterator[Headline]:
    there = [row for row in run.rows('storm') if isinstance(row, rows.Storm)]
    if there:
        yield Headline(
            'storm', str(sum(len(row.found) for row in there)),
            f'Findings of storms over {len(there)} databases, in '
            f'{sum(row.exchanges for row in there):,} exchanges and '
            f'{sum(row.faults for row in there):,} faults that hit '
            'something: {}.')


def number(value: float) -> str:
    """Return a value with two significant digits below 100."""
    if value >= 99.5:
        return f'{value:,.0f}'
    return f'{value:.0f}' if value >= 9.95 else f'{value:.1f}'
