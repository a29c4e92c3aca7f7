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

"""Values with one form for tables and another one for JSON."""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Iterable
from typing import Any

from cliff import columns

_REPEATED = ('lease_id', 'created_at', 'updated_at')


class Cell(columns.FormattableColumn[Any]):
    """A value with its text for tables.

    :param words: returns the text for a table.
    """

    def __init__(self, value: Any, words: Callable[[Any], str]) -> None:
        super().__init__(value)
        self._words = words

    def with_value(self, value: Any) -> Cell:
        """Return a cell with another value, and the same text function."""
        return Cell(value, self._words)

    def human_readable(self) -> str:
        """Return the text for a table."""
        return self._words(self._value)


def lines(line: Callable[[Any], str], values: Iterable[Any],
          between: str = '\n') -> Cell:
    """Return a cell with a list, whose entries are lines in a table."""
    return Cell(values, lambda found: between.join(map(line, found)))


def window(value: list[str]) -> Cell:
    """Return a cell with two times, which are one line in a table."""
    return Cell(value, ' until '.join)


def blocks(value: list[dict[str, Any]]) -> Cell:
    """Return a cell with objects, each with its own lines in a table.

    The table omits fields that only repeat the lease.
    """
    return lines(lambda each: '\n'.join(
        f'{name}: {text(held)}' for name, held in each.items()
        if held not in (None, '') and name not in _REPEATED), value, '\n\n')


def text(value: Any) -> str:
    """Return a value in one line."""
    if isinstance(value, list):
        return ', '.join(text(each) for each in value)
    if isinstance(value, dict):
        return ' '.join(str(each) for each in value.values()
                        if each is not None)
    return str(value)
