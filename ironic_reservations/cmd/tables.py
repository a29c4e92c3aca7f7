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

"""Tables on the terminal."""

from __future__ import annotations

from collections.abc import Sequence

import rich.console
import rich.table


def show(names: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Print a table, unless it has no rows.

    Owners of nodes choose names, classes and lessees: nothing in them is an
    instruction for rich or for the terminal.
    """
    if not rows:
        return
    table = rich.table.Table()
    for name in names:
        table.add_column(name, overflow='fold')
    for row in rows:
        table.add_row(*map(_plain, row))
    rich.console.Console(markup=False, emoji=False).print(table)


def _plain(text: str) -> str:
    return ''.join(each if each.isprintable()
                   else '\N{REPLACEMENT CHARACTER}' for each in text)
