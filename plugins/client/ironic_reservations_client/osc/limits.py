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

"""The command ``baremetal reservation limits``."""

from __future__ import annotations

import argparse
from collections.abc import Iterable
from collections.abc import Sequence
import datetime
from typing import Any

from osc_lib.command import command

from ironic_reservations_client import limits
from ironic_reservations_client import resources
from ironic_reservations_client import times
from ironic_reservations_client.osc import base
from ironic_reservations_client.osc import options

_SECONDS = 'seconds'


class ListLimits(base.Command, command.Lister):
    """Show your project's limits and usage"""

    arguments = (options.Option(
        '--project', 'Show the limits of this project (ID), as they apply to '
        'its members. For administrators.'),)

    def take_action(self, parsed_args: argparse.Namespace) -> base.Columns:
        found = limits.LimitsManager(self.client).get(parsed_args.project)
        rows = [[each[field.name] for field in resources.LIMITS.fields]
                for each in found.absolute]
        if parsed_args.formatter != 'table':
            return [field.name for field in resources.LIMITS.fields], rows
        return ([field.title.capitalize()
                 for field in resources.LIMITS.fields], _in_table(rows))


def _in_table(rows: Sequence[Sequence[Any]]) -> Iterable[Sequence[str]]:
    """Return limits for a table, with aligned numbers."""
    cells = [(limit, _number(used, unit, '-'),
              _number(allowed, unit, 'unlimited'),
              'time' if unit == _SECONDS else unit, of_class or '-')
             for limit, used, allowed, unit, of_class in rows]
    most, all_of_it = (max((len(cell[column]) for cell in cells), default=0)
                       for column in (1, 2))
    for limit, used, allowed, unit, of_class in cells:
        yield (limit, used.rjust(most), allowed.rjust(all_of_it), unit,
               of_class)


def _number(value: int | None, unit: str, none: str) -> str:
    if value is None:
        return none
    return (times.shown_duration(datetime.timedelta(seconds=value))
            if unit == _SECONDS else str(value))
