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

"""Commands that draw in a terminal what others print as a table."""

from __future__ import annotations

import abc
import argparse
from collections.abc import Iterable
from collections.abc import Sequence
from typing import Any

from osc_lib.command import command
from rich import console

from ironic_reservations_client.osc import zone


class ChartCommand(zone.Zoned, command.ShowOne, metaclass=abc.ABCMeta):
    """Shows one thing, as a chart unless a format or columns are asked for.

    Colours and the width are those of the terminal; rich leaves the colours
    out where the output is none, and where ``NO_COLOR`` is set.
    """

    @abc.abstractmethod
    def chart(self, parsed_args: argparse.Namespace,
              shown: dict[str, Any]) -> console.RenderableType:
        """Return the chart.

        :param shown: the columns that ``take_action`` returned.
        """

    def produce_output(self, parsed_args: argparse.Namespace,
                       column_names: Sequence[str],
                       data: Iterable[Any]) -> int:
        """Draw it, or print what was asked for."""
        if parsed_args.formatter != 'table' or parsed_args.columns:
            return super().produce_output(parsed_args, column_names, data)
        console.Console(file=self.app.stdout, highlight=False).print(
            self.chart(parsed_args, dict(zip(column_names, data,
                                             strict=True))))
        return 0
