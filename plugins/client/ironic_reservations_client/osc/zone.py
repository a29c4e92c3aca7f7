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

"""Base classes of commands that show times or charts."""

from __future__ import annotations

import abc
import argparse
from collections.abc import Callable
from collections.abc import Iterable
from collections.abc import Sequence
import datetime
import functools
from typing import Any
from typing import ClassVar

from cliff import columns
from cliff import lister
from osc_lib.command import command
from rich import console

from ironic_reservations_client import fields
from ironic_reservations_client import plain
from ironic_reservations_client import resources
from ironic_reservations_client import times
from ironic_reservations_client.osc import base
from ironic_reservations_client.osc import options


def _fields_of(*kinds: fields.Kind) -> frozenset[str]:
    return frozenset(field.name for each in resources.ALL
                     for field in each.every()
                     if field.answered and field.kind in kinds)


#: The fields of the API that are instants, at any place.
_INSTANTS = _fields_of(fields.Kind.INSTANT, fields.Kind.WINDOW)
#: In seconds.
_DURATIONS = _fields_of(fields.Kind.SECONDS)

#: The width for a name of a host and a line of time.
_NARROWEST = 40

#: Takes the name of a field and its value.
_Conversion = Callable[[str, Any], Any]


class Zoned(base.Command):
    """A command with the option ``--local``.

    Without the option, times are in UTC, including typed times without a zone.
    Tables show whole seconds and the zone. All other output formats have times
    in ISO 8601 with a zone, regardless of the format in the API.
    """

    common = (options.Option(
        '--local', 'Show times in the local time zone, and read typed times '
        'without a zone as local times. Default is UTC.', **options.FLAG),)

    def run(self, parsed_args: argparse.Namespace) -> int:
        """Add the zone to typed times, and run the command."""
        for name, value in vars(parsed_args).items():
            setattr(parsed_args, name, _read(value, parsed_args.local))
        return int(super().run(parsed_args) or 0)

    def produce_output(self, parsed_args: argparse.Namespace,
                       column_names: Sequence[str],
                       data: Iterable[Any]) -> int:
        """Print the output, with its times in the chosen zone."""
        convert = functools.partial(
            _for_people if parsed_args.formatter == 'table'
            else _for_programs, parsed_args.local)
        data = ([_row(convert, column_names, row) for row in data]
                if isinstance(self, lister.Lister)
                else _row(convert, column_names, data))
        return int(super().produce_output(  # type: ignore[misc]
            parsed_args, column_names, data) or 0)


class Listing(Zoned, command.Lister, metaclass=abc.ABCMeta):
    """Lists resources, with ``--sort`` and ``--long``.

    :cvar describes: the fields of the resources.
    """

    describes: ClassVar[fields.Resource]

    @abc.abstractmethod
    def found(self, parsed_args: argparse.Namespace) -> Sequence[Any]:
        """Return the resources that the service lists."""

    def cell(self, one: Any, name: str) -> Any:
        """Return the value of a field of a resource."""
        return getattr(one, name)

    def take_action(self, parsed_args: argparse.Namespace) -> base.Columns:
        columns = self.describes.columns(
            fields.Shown.LONG if parsed_args.long else fields.Shown.ALWAYS)
        return columns, [
            [self.cell(each, name) for name in columns]
            for each in options.in_order(
                self.found(parsed_args), parsed_args.sort,
                self.describes.sortable(), self.cell)]


class ChartCommand(Zoned, command.ShowOne, metaclass=abc.ABCMeta):
    """Shows a chart, unless a format or columns are requested.

    Colours and the width are those of the terminal; rich omits the colours
    if the output is no terminal, or if ``NO_COLOR`` is set.
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
        """Draw a chart, or print the chosen format."""
        if parsed_args.formatter != 'table' or parsed_args.columns:
            return super().produce_output(parsed_args, column_names, data)
        screen(self.app.stdout).print(
            self.chart(parsed_args, dict(zip(column_names, data,
                                             strict=True))))
        return 0


def screen(out: Any) -> console.Console:
    """Return a console that is wide enough for the rows of charts.

    :param out: the file to which it prints.
    """
    made = console.Console(file=out, highlight=False)
    if made.width < _NARROWEST:
        made.width = _NARROWEST
    return made


def _read(typed: Any, local: bool) -> Any:
    """Return a typed value, with a zone if it is a time."""
    if isinstance(typed, list):
        return [_read(each, local) for each in typed]
    if not isinstance(typed, datetime.datetime) or typed.tzinfo is not None:
        return typed
    return times.utc(times.here(typed) if local else typed)


def _row(convert: _Conversion, names: Sequence[str],
         values: Iterable[Any]) -> list[Any]:
    return [_walk(convert, name, value)
            for name, value in zip(names, values, strict=True)]


def _walk(convert: _Conversion, name: str, value: Any) -> Any:
    """Return the value of a field, converted at any depth."""
    if isinstance(value, columns.FormattableColumn):
        walked = _walk(convert, name, value.machine_readable())
        with_value = getattr(value, 'with_value', type(value))
        return with_value(walked)
    if isinstance(value, dict):
        return {key: _walk(convert, key, each) for key, each in value.items()}
    if isinstance(value, list):
        return [_walk(convert, name, each) for each in value]
    return convert(name, value)


def _for_programs(local: bool, name: str, value: Any) -> Any:
    """Return the value of a field, with a time in ISO 8601 with a zone."""
    moment = _moment(name, value)
    if moment is None:
        return value
    return (times.here(moment) if local else moment).isoformat()


def _for_people(local: bool, name: str, value: Any) -> Any:
    """Return the value of a field for a table."""
    if name in _DURATIONS and isinstance(value, int):
        return times.shown_duration(datetime.timedelta(seconds=value))
    moment = _moment(name, value)
    if moment is not None:
        return times.shown(moment, local)
    return plain.plain(value) if isinstance(value, str) else value


def _moment(name: str, value: Any) -> datetime.datetime | None:
    """Return the value of a field as a time, or ``None``."""
    if name not in _INSTANTS or not isinstance(value, str):
        return None
    try:
        return times.parsed(value)
    except (ValueError, OverflowError):
        return None
