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
from collections.abc import Callable
from collections.abc import Sequence
import datetime
from typing import Any

from osc_lib.command import command
from rich import console

from ironic_reservations_client import times
from ironic_reservations_client.osc import zone


class Drawing(command.ShowOne, metaclass=abc.ABCMeta):
    """Shows one thing, as a chart unless a format or columns are asked for.

    NOTE: colours and the width are those of the terminal; rich leaves the
    colours out where the output is none, and where ``NO_COLOR`` is set.
    """

    @abc.abstractmethod
    def chart(self, parsed_args: argparse.Namespace,
              shown: dict[str, Any]) -> console.RenderableType:
        """Return what is drawn.

        :param shown: what ``take_action`` gave.
        """

    def is_drawn(self, parsed_args: argparse.Namespace) -> bool:
        """Return whether a chart is asked for."""
        return bool(parsed_args.formatter == 'table'
                    and not parsed_args.columns)

    def produce_output(self, parsed_args: argparse.Namespace,
                       column_names: Sequence[str],
                       data: Sequence[Any]) -> int:
        """Draw it, or print what was asked for."""
        if not self.is_drawn(parsed_args):
            return int(super().produce_output(
                parsed_args, column_names, data) or 0)
        console.Console(file=self.app.stdout, highlight=False).print(
            self.chart(parsed_args, dict(zip(column_names, data,
                                             strict=True))))
        return 0


class ChartCommand(zone.Zoned, Drawing, metaclass=abc.ABCMeta):
    """Shows one thing with its times, as a chart or as data."""

    def is_table(self, parsed_args: argparse.Namespace) -> bool:
        """Return whether a table is printed; a chart reads the times."""
        return (super().is_table(parsed_args)
                and not self.is_drawn(parsed_args))


def typed(read: Callable[[str], Any]) -> Callable[[str], Any]:
    """Have argparse show why something that was typed cannot be read.

    :param read: raises ``ValueError``.
    """
    def reading(text: str) -> Any:
        try:
            return read(text)
        except ValueError as exc:
            raise argparse.ArgumentTypeError(str(exc)) from exc
    return reading


duration = typed(times.seconds)


@typed
def instant(text: str) -> times.Instant:
    """Read an instant as it is typed; ``+4h`` counts from now.

    It has no zone where none was typed, which :mod:`zone` looks after.
    """
    return times.instant(text, now())


def add_time(parser: Any, option: str, dest: str, text: str) -> None:
    """Add an option that takes an instant."""
    parser.add_argument(option, metavar='<time>', type=instant, dest=dest,
                        help=text)


def add_duration(parser: Any, option: str, text: str) -> None:
    """Add an option that takes a duration."""
    parser.add_argument(option, metavar='<duration>', type=duration,
                        help=text)


def now() -> datetime.datetime:
    """Return the time in whole seconds, in which people think."""
    return datetime.datetime.now(datetime.UTC).replace(microsecond=0)


@typed
def positive(text: str) -> int:
    """Read a number of hosts."""
    if not text.isdigit() or not int(text):
        raise ValueError(f'{text!r} is not a number of hosts')
    return int(text)
