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

"""The page of a run, in reStructuredText."""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Iterable
from collections.abc import Iterator
from collections.abc import Mapping
from collections.abc import Sequence
import statistics
from typing import Any

from benchmarks.proof import better
from benchmarks.proof import headlines
from benchmarks.proof import promises
from benchmarks.proof import rows
from benchmarks.proof import sections

_TITLE = 'The proof'
_WRAP = 90


def write(run: rows.Run) -> str:
    """Return the page."""
    return '\n'.join(_page(run)).rstrip() + '\n'


def _page(run: rows.Run) -> Iterator[str]:
    yield from ('.. Written by python -m benchmarks proof, from proof.json.',
                '', '.. _proof:', '', '=' * len(_TITLE), _TITLE,
                '=' * len(_TITLE), '')
    yield from _paragraph(
        'Every figure on this page was measured in one run, on one machine, '
        'beside a real Ironic and a real Blazar. Absolute times depend on '
        'the machine, so compare only figures of this page. The raw data is '
        'in ``proof.json``, beside this page.')
    yield from ('.. code-block:: console', '', f'   $ {run.command}', '')
    if run.quick:
        yield from _paragraph('**This run was a quick one: its sizes are too '
                              'small to mean anything.**')
    yield from _table((30, 70), None, run.machine.items())
    yield from _verdict(run)
    yield from _heading('The claims', 'proof-claims-of-readme')
    for line in headlines.headlines(run):
        yield from (f'.. _proof-{line.label}:', '')
        yield from _paragraph(line.told.format(f'**{line.figure}**'))
    yield from _peers(run)
    for section in run.sections:
        yield from _section(section)


def _verdict(run: rows.Run) -> Iterator[str]:
    yield from _heading('The verdict', 'proof-verdict')
    broken = promises.broken(run)
    if broken:
        yield from _paragraph('**Promises were broken in this run:**')
        yield from _bullets(broken)
    else:
        yield from _paragraph('No promise was broken in this run. It has '
                              'looked for:')
        yield from _bullets(promises.looked_for(run))
    unfinished = promises.unfinished(run)
    if unfinished:
        yield from _paragraph('These sections are not complete:')
        yield from _bullets(unfinished)


def _peers(run: rows.Run) -> Iterator[str]:
    yield from _heading('Where a peer is better', 'proof-peers')
    compared = better.comparisons(run)
    there = [each for each in compared if each.peer_is_better]
    if not there:
        yield from _paragraph(
            f'In none of the {len(compared)} comparisons of this run.')
        return
    yield from _paragraph(
        f'In {len(there)} of the {len(compared)} comparisons of this run, '
        'the value of the peer is the smaller, and so the better one:')
    yield from _table((52, 18, 15, 15), ('', 'Peer', 'Of the peer',
                                         'Of this service'), (
        (f'{each.what} (`{each.section} <proof-section-{each.section}_>`__)',
         each.peer, _value(each.theirs, each.unit),
         _value(each.ours, each.unit)) for each in there))


def _value(value: float, unit: str) -> str:
    return f'{headlines.number(value)} {unit}' if unit else f'{value:,.0f}'


def _section(section: rows.Section) -> Iterator[str]:
    known = sections.BY_NAME[section.name]
    yield from _heading(known.title, f'proof-section-{section.name}')
    yield from _paragraph(known.told)
    for note in section.notes:
        yield from _paragraph(note)
    if section.failure:
        yield from _paragraph(f'**Not complete:** {section.failure}')
    for kind, table in _TABLES.items():
        there = [row for row in section.rows if isinstance(row, kind)]
        if there:
            yield from table(there)
    yield from _paragraph(
        f'This section took {section.seconds:.0f} seconds; the load average '
        f'before it was {section.load:.1f}. This repeats it alone:')
    yield from ('.. code-block:: console', '',
                f'   $ python -m benchmarks proof --only {section.name}', '')


def _times(there: Sequence[rows.Times]) -> Iterator[str]:
    yield from _table(
        (26, 26, 8, 8, 8, 8, 8, 8),
        ('', '', 'Hosts', 'Leases', 'Clients', 'Median, ms', '95 %, ms',
         'Per second'),
        ((row.what + (f'; {row.failed} not served' if row.failed else ''),
          row.who, f'{row.hosts:,}', f'{row.leases:,}', str(row.clients),
          *((headlines.number(1000 * row.median),
             headlines.number(1000 * row.p95)) if row.seconds
            else ('--', '--')), headlines.number(row.rate))
         for row in there))


def _amounts(there: Sequence[rows.Amount]) -> Iterator[str]:
    yield from _table(
        (40, 30, 10, 10, 10), ('', '', 'Hosts', 'Leases', 'Value'),
        ((row.what, row.who, f'{row.hosts:,}', f'{row.leases:,}',
          f'{row.value:,.0f} {row.unit}') for row in there))


def _races(there: Sequence[rows.Races]) -> Iterator[str]:
    yield from _table(
        (30, 25, 15, 15, 15),
        ('', '', 'Races', 'Double bookings', 'Won by no client'),
        ((row.what, row.who, str(len(row.owners)), str(row.double),
          str(row.without)) for row in there))


def _refusals(there: Sequence[rows.Refusals]) -> Iterator[str]:
    yield from _table(
        (34, 11, 11, 11, 11, 11, 11),
        ('', 'Hosts', 'Refused, of them proved', 'Offers', 'CPU ms, median',
         'CPU ms, longest', 'Others late, ms'),
        ((row.what, f'{row.hosts:,}',
          f'{row.refused} of {row.asked}, {row.proved}', str(row.offers),
          headlines.number(1000 * statistics.median(row.cpu)),
          headlines.number(1000 * max(row.cpu)),
          headlines.number(1000 * row.late)) for row in there))


def _replayed(there: Sequence[rows.Replayed]) -> Iterator[str]:
    ordered = sorted(there, key=lambda row: (row.log, row.policy))
    yield from _table(
        (34, 12, 10, 15, 17, 12),
        ('Log', 'Binding', 'Nodes', 'Leases, refused',
         'Extensions, refused', 'Seconds'),
        ((f'``{row.log}``, {row.selection}', row.policy, f'{row.hosts:,}',
          f'{row.requests:,}, {row.refused:,}',
          f'{row.extensions:,}, {row.refused_extensions:,}',
          headlines.number(row.seconds)) for row in ordered))


def _packed(there: Sequence[rows.Packed]) -> Iterator[str]:
    yield from _table(
        (36, 10, 12, 18, 12, 12),
        ('', 'Binding', 'Requests', 'Refused, of them proved',
         'CP-SAT: place, no place, not known', 'CPU seconds'),
        ((f'{row.family}; {row.packings} packing'
          + ('s' if row.packings > 1 else ''), row.policy,
          f'{row.requests:,}',
          f'{row.refused:,} ({100 * row.share:.1f} %), {row.proved}',
          f'{row.place}, {row.no_place}, {row.unknown}',
          headlines.number(row.cpu)) for row in there))


def _storms(there: Sequence[rows.Storm]) -> Iterator[str]:
    yield from _table(
        (25, 15, 20, 20, 20),
        ('Database', 'Seconds', 'Exchanges', 'Faults', 'Findings'),
        ((row.database, f'{row.seconds:.0f}', f'{row.exchanges:,}',
          f'{row.faults:,}', str(len(row.found))) for row in there))
    yield from _bullets(f'{row.database}: {found}' for row in there
                        for found in row.found)
    yield from _paragraph('How often each rule could have found something:')
    rules = sorted({rule for row in there for rule in row.judged})
    yield from _table((40, *(60 // len(there) for _ in there)),
                      ('', *(row.database for row in there)),
                      ((rule, *(f'{row.judged.get(rule, 0):,}'
                                for row in there)) for rule in rules))


_TABLES: Mapping[type[rows.Row], Callable[[Any], Iterator[str]]] = {
    rows.Times: _times, rows.Amount: _amounts, rows.Races: _races,
    rows.Refusals: _refusals, rows.Replayed: _replayed,
    rows.Packed: _packed, rows.Storm: _storms}


def _heading(title: str, label: str) -> Iterator[str]:
    yield from (f'.. _{label}:', '', title, '=' * len(title), '')


def _paragraph(text: str) -> Iterator[str]:
    yield from _wrapped(text)
    yield ''


def _bullets(texts: Iterable[str]) -> Iterator[str]:
    for text in texts:
        first, *more = _wrapped(text)
        yield f'* {first}'
        yield from (f'  {line}' for line in more)
    yield ''


def _wrapped(text: str) -> list[str]:
    lines = ['']
    for word in text.split(' '):
        if lines[-1] and len(lines[-1]) + 1 + len(word) > _WRAP:
            lines.append(word)
        else:
            lines[-1] += f' {word}' if lines[-1] else word
    return lines


def _table(widths: Sequence[int], header: Sequence[str] | None,
           cells: Iterable[Sequence[str]]) -> Iterator[str]:
    yield '.. list-table::'
    if header is not None:
        yield '   :header-rows: 1'
    yield f'   :widths: {" ".join(map(str, widths))}'
    yield ''
    for row in ([header] if header is not None else []) + list(cells):
        for place, cell in enumerate(row):
            yield f'   {"* -" if not place else "  -"} {cell}'.rstrip()
    yield ''
