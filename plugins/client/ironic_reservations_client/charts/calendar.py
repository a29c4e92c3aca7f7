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

"""A chart of the calendar: the free hosts of each class, and all hosts."""

from __future__ import annotations

from collections.abc import Iterator
from collections.abc import Mapping
from collections.abc import Sequence
from typing import Any

from rich import cells as rich_cells
from rich import console
from rich import text

from ironic_reservations_client import calendar
from ironic_reservations_client import times
from ironic_reservations_client.charts import availability
from ironic_reservations_client.charts import timescale

#: Bookings by kind: the sign, the one in ASCII, the style, the words.
_HAD = (
    ('▒', '=', 'yellow', 'planned'),
    ('█', '#', 'green', 'leased'),
    ('▓', '@', 'cyan', 'reserved'),
)
#: Maintenance windows, before they start and then.
_WINDOW = (
    ('┆', ':', 'magenta', 'maintenance window'),
    ('╫', '%', 'magenta', 'maintenance window under way'),
)
#: A host that has no booking, by its condition.
_LEFT = {
    'usable': ('·', '.', 'dim', 'free'),
    'in transition': ('~', '~', 'yellow', 'in transition'),
    'cleaning': ('~', '~', 'yellow', 'in cleaning'),
    'deployed': ('+', '+', 'cyan', 'deployed without a lease'),
    'broken': ('×', 'x', 'red', 'broken'),
    'closed': ('-', '-', 'dim', 'closed'),
}
#: Stands between the pairs of the legend.
_BETWEEN = '   '
#: A name takes no more than this part of the width.
_NAMES = 3


class CalendarChart:
    """The free hosts of each class over time, and the bookings of hosts.

    :param found: the answer of the API, with all pages combined.
    :param local: whether times are in the zone of this machine.
    """

    def __init__(self, found: Mapping[str, Any],
                 local: bool = False) -> None:
        self._found = found
        self._local = local

    def __rich_console__(self, _console: console.Console,
                         options: console.ConsoleOptions
                         ) -> Iterator[text.Text]:
        found = self._found
        start, end = (calendar.moment(found, second)
                      for second in (0, found['end']))
        yield text.Text(f'Hosts from {times.shown(start, self._local)} until '
                        f'{times.shown(end, self._local)}')
        classes = found['classes']
        if not classes:
            yield text.Text('No node is open to leases here.')
            yield text.Text('"reservation host list" shows the hosts.')
        hosts = found.get('hosts') or ()
        names = {host['id']: _name(host, options) for host in hosts}
        indent = max([availability.margin(classes), *(
            2 + rich_cells.cell_len(name) for name in names.values())])
        scale = timescale.Timescale.within(
            options.max_width - indent - 1, start, end, self._local)
        for each in classes:
            yield text.Text()
            spans = {**each, 'spans': self._spans(each['steps'])}
            yield availability.title(spans, self._local)
            conditions = _conditions(each['conditions'])
            if conditions is not None:
                yield conditions
            yield from availability.bars(
                spans, scale, indent, availability.drawn_with(options),
                availability.height(len(classes) + len(hosts)))
            for host in hosts:
                if host['resource_class'] == each['resource_class']:
                    yield self._row(host, names[host['id']], scale, indent,
                                    options)
        if classes:
            yield scale.labels(indent)
        if hosts:
            yield text.Text()
            yield from _legend(hosts, options)

    def _spans(self, steps: Sequence[Sequence[int]]) -> list[dict[str, Any]]:
        ends = [*(second for second, _ in steps[1:]), self._found['end']]
        return [{'start_date': self._written(begin),
                 'end_date': self._written(end), 'free': free}
                for (begin, free), end in zip(steps, ends, strict=True)]

    def _written(self, second: int) -> str:
        return calendar.moment(self._found, second).isoformat()

    def _row(self, host: Mapping[str, Any], name: str,
             scale: timescale.Timescale, indent: int,
             options: console.ConsoleOptions) -> text.Text:
        """Return the line of a host: a character for each column of time."""
        columns = [_left(host)] * scale.columns
        drawn = [(begin, end, _WINDOW[under_way], False)
                 for begin, end, under_way, _window
                 in host['maintenances']]
        drawn.extend(
            (begin, end, _HAD[had],
             lease >= 0 and self._found['leases'][lease]['own'])
            for begin, end, had, lease, _amount in sorted(
                host['bookings'], key=lambda each: each[2]))
        for begin, end, (sign, ascii_sign, style, words), own in drawn:
            for column in scale.between(calendar.moment(self._found, begin),
                                        calendar.moment(self._found, end)):
                columns[column] = (sign, ascii_sign,
                                   f'bold {style}' if own else style, words)
        line = text.Text(name + ' ' * (
            indent - 2 - rich_cells.cell_len(name)))
        line.append(' |' if options.ascii_only else ' │', 'dim')
        for sign, ascii_sign, style, _words in columns:
            line.append(ascii_sign if options.ascii_only else sign, style)
        return line


def _left(host: Mapping[str, Any]) -> tuple[str, str, str, str]:
    """Return the characters for a host without a booking."""
    # Such maintenance passes with its window, which is drawn.
    condition = ('usable' if host['condition'] == 'maintenance'
                 else host['condition'])
    return _LEFT.get(condition, _LEFT['broken'])


def _name(host: Mapping[str, Any], options: console.ConsoleOptions) -> str:
    """Return the name of a host, shortened to the available width."""
    name = host['name'] or f'host {host["id"]}'
    most = max(options.max_width // _NAMES, 8)
    if rich_cells.cell_len(name) <= most:
        return str(name)
    return rich_cells.set_cell_size(name, most - 1) + (
        '>' if options.ascii_only else '…')


def _conditions(conditions: Mapping[str, int]) -> text.Text | None:
    """Return the number of hosts in each condition that is not usable."""
    shown = [text.Text(f'{number} {name}',
                       _LEFT.get(name, _LEFT['broken'])[2])
             for name, number in conditions.items()
             if number and name != 'usable']
    return text.Text('  ') + text.Text(', ').join(shown) if shown else None


def _legend(hosts: Sequence[Mapping[str, Any]],
            options: console.ConsoleOptions) -> Iterator[text.Text]:
    """Yield the lines of the legend of the characters in the chart."""
    left = [_left(host) for host in hosts]
    signs = [sign for sign in _LEFT.values() if sign in left]
    signs.extend(_WINDOW[under_way] for under_way in range(len(_WINDOW))
                 if any(each[2] == under_way for host in hosts
                        for each in host['maintenances']))
    signs.extend(_HAD[had] for had in range(len(_HAD)) if any(
        booking[2] == had for host in hosts for booking in host['bookings']))
    line = text.Text()
    for sign, ascii_sign, style, words in signs:
        pair = text.Text.assemble(
            (ascii_sign if options.ascii_only else sign, style), f' {words}')
        # A line never ends between a character and its words.
        if line and (line.cell_len + len(_BETWEEN) + pair.cell_len
                     > options.max_width):
            yield line
            line = text.Text()
        line.append(_BETWEEN if line else '')
        line.append_text(pair)
    yield line
