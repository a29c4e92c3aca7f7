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

"""A line of time, as wide as the terminal allows."""

from __future__ import annotations

import dataclasses
import datetime

from rich import text

from ironic_reservations_client import times

_SHORT = datetime.timedelta(minutes=10)
_NARROWEST = 20
_DAYS = datetime.timedelta(days=1)
_YEAR = datetime.timedelta(days=365)


@dataclasses.dataclass(frozen=True)
class Timescale:
    """The columns of a line, and their instants.

    :ivar columns: their number.
    :ivar local: whether the labels are in the zone of this machine.
    """

    start: datetime.datetime
    end: datetime.datetime
    columns: int
    local: bool = False

    @classmethod
    def within(cls, width: int, start: datetime.datetime,
               end: datetime.datetime, local: bool) -> Timescale:
        """Return a line with a width, but not narrower than is readable."""
        return cls(start, end, max(width, _NARROWEST), local)

    def column(self, moment: datetime.datetime) -> int:
        """Return the column of an instant, or the nearest column."""
        share = (moment - self.start) / (self.end - self.start)
        return min(max(int(share * self.columns), 0), self.columns - 1)

    def edge(self, column: int) -> datetime.datetime:
        """Return the instant at which a column begins."""
        return self.start + (self.end - self.start) * column / self.columns

    def between(self, start: datetime.datetime,
                end: datetime.datetime) -> range:
        """Return the columns of a time.

        A time that ends where a column begins is not in that column.
        """
        first, last = self.column(start), self.column(end)
        if last > first and self.edge(last) >= end:
            last -= 1
        return range(first, last + 1)

    def labels(self, indent: int = 0) -> text.Text:
        """Return the line with the first instant, the last, and the middle."""
        shown = [self._label(self.edge(column)) for column in (
            0, self.columns // 2, self.columns)]
        line = [' '] * self.columns
        _write(line, 0, shown[0])
        _write(line, self.columns - len(shown[2]), shown[2])
        middle = self.columns // 2
        if middle > len(shown[0]) + 1 and (
                middle + len(shown[1]) + 1 < self.columns - len(shown[2])):
            _write(line, middle, shown[1])
        return text.Text(' ' * indent + ''.join(line).rstrip(), 'dim')

    def _label(self, moment: datetime.datetime) -> str:
        length = self.end - self.start
        if self.local:
            moment = times.here(moment)
        if length >= _YEAR:
            return f'{moment:%Y-%m-%d}'
        if length < _SHORT:
            return f'{moment:%H:%M:%S}'
        return (f'{moment:%H:%M}' if length < _DAYS
                else f'{moment:%m-%d %H:%M}')


def _write(line: list[str], column: int, label: str) -> None:
    if column >= 0:
        line[column:column + len(label)] = label[:len(line) - column]
