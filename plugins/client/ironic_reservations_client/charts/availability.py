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

"""A chart of the number of free hosts over time."""

from __future__ import annotations

from collections.abc import Iterator
from collections.abc import Mapping
from collections.abc import Sequence
from typing import Any

from rich import console
from rich import text

from ironic_reservations_client import counted
from ironic_reservations_client import times
from ironic_reservations_client.charts import timescale

#: A cell of a bar, from nothing to full, in eighths.
_CELLS = ' ▁▂▃▄▅▆▇█'
_ASCII_CELLS = '    ....#'
_FULL = len(_CELLS) - 1
#: How high the bars of a class are; lower, where there are many classes.
_HEIGHT = 4
_MANY = 6


class AvailabilityChart:
    """The free hosts of each class, a bar for each column of time.

    A bar is as high as the number of hosts that are free over all of the
    time of its column, so that a lease of these hosts is possible.

    :param found: the answer of the API.
    :param asked: a description of the lease whose earliest start was
        requested.
    :param local: whether times are in the zone of this machine.
    """

    def __init__(self, found: Mapping[str, Any],
                 asked: str | None = None, local: bool = False) -> None:
        self._found = found
        self._local = local
        self._asked = asked

    def __rich_console__(self, _console: console.Console,
                         options: console.ConsoleOptions
                         ) -> Iterator[text.Text]:
        found = self._found
        start, end = (times.parsed(found['start_date']),
                      times.parsed(found['end_date']))
        classes = found['classes']
        yield text.Text(f'Free hosts from {times.shown(start, self._local)} '
                        f'until {times.shown(end, self._local)}')
        if not classes:
            yield text.Text('No host matches.')
            yield text.Text('"reservation host list --long" shows the hosts.')
        indent = margin(classes)
        scale = timescale.Timescale.within(
            options.max_width - indent - 1, start, end, self._local)
        cells = drawn_with(options)
        for each in classes:
            yield text.Text()
            yield title(each, self._local)
            yield from bars(each, scale, indent, cells, height(len(classes)))
        if classes:
            yield scale.labels(indent)
        if self._asked is not None:
            yield text.Text()
            yield self._earliest()
            yield from self._slots()

    def _earliest(self) -> text.Text:
        if self._found['earliest'] is None:
            return text.Text(f'{self._asked}: not within a year', 'red')
        return text.Text.assemble(f'{self._asked}: ', (
            times.shown(times.parsed(self._found['earliest']), self._local),
            'bold green'))

    def _slots(self) -> Iterator[text.Text]:
        """Return the requested starts, one in each line."""
        slots = self._found.get('slots')
        if slots is None:
            return
        yield text.Text()
        if not slots:
            yield text.Text('No start is possible in this period.', 'red')
            return
        yield text.Text('The first possible starts in this period:')
        for each in slots:
            start, end = (
                times.shown(times.parsed(each[key]), self._local)
                for key in ('start_date', 'end_date'))
            yield text.Text.assemble('  ', (start, 'bold green'),
                                     f' until {end}')


def margin(classes: Sequence[Mapping[str, Any]]) -> int:
    """Return the width of the numbers left of the bars."""
    return 2 + max((len(str(each['hosts'])) for each in classes), default=0)


def height(classes: int) -> int:
    """Return the number of lines of the bars of each class."""
    return _HEIGHT if classes < _MANY else 1


def drawn_with(options: console.ConsoleOptions) -> str:
    """Return the characters for bars that a terminal can show."""
    return _ASCII_CELLS if options.ascii_only else _CELLS


def title(found: Mapping[str, Any], local: bool) -> text.Text:
    """Return the line above the bars of a class.

    :param local: whether times are in the zone of this machine.
    """
    spans = found['spans']
    line = text.Text.assemble(
        (found['resource_class'] or '(no resource class)', 'bold'),
        f'  {counted.counted(found["hosts"], "host")}')
    if spans:
        lowest = min(spans, key=lambda span: span['free'])
        line.append(f", at least {lowest['free']} free")
        if lowest['free'] < max(span['free'] for span in spans):
            end = times.parsed(lowest['end_date'])
            line.append(f' (from {times.shown(_start(lowest), local)} until '
                        f'{times.shown(end, local)})')
    return line


def bars(found: Mapping[str, Any], scale: timescale.Timescale, indent: int,
         cells: str, height: int) -> Iterator[text.Text]:
    """Return the bars of a class, line by line.

    :param indent: the width of the numbers left of the bars.
    :param cells: the characters for the bars, from empty to full.
    :param height: the number of lines.
    """
    hosts = found['hosts']
    free = lowest(found['spans'], scale)
    levels = [_level(each, hosts, height) for each in free]
    for row in reversed(range(height)):
        label = str(hosts) if row == height - 1 else (
            '0' if row == 0 else '')
        line = text.Text(f'{label:>{indent - 2}} ' + (
            '|' if cells is _ASCII_CELLS else '│'), 'dim')
        for level, number in zip(levels, free, strict=True):
            filled = min(max(level - row * _FULL, 0), _FULL)
            line.append(cells[filled], _colour(number, hosts))
        line.rstrip()
        yield line


def lowest(spans: Sequence[Mapping[str, Any]],
           scale: timescale.Timescale) -> list[int]:
    """Return the number of hosts that are free throughout each column.

    :param spans: one after the other, without gaps.
    """
    free: dict[int, int] = {}
    for span in spans:
        for column in scale.between(_start(span),
                                    times.parsed(span['end_date'])):
            free[column] = min(free.get(column, span['free']), span['free'])
    return [free.get(column, 0) for column in range(scale.columns)]


def _start(span: Mapping[str, Any]) -> Any:
    return times.parsed(span['start_date'])


def _level(free: int, hosts: int, height: int) -> int:
    """Return the height of a bar in eighths: 0 for none, full for all."""
    full = height * _FULL
    if not 0 < free < hosts:
        return full if free else 0
    return min(max(round(full * free / hosts), 1), full - 1)


def _colour(free: int, hosts: int) -> str:
    if free * 4 <= hosts:
        return 'red'
    return 'yellow' if free * 2 <= hosts else 'green'
