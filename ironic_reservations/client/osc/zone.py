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

"""Times in the zone of the user, for commands that show or take some."""

from __future__ import annotations

import argparse
from collections.abc import Iterable
from collections.abc import Sequence
import datetime
from typing import Any

from cliff import columns
from cliff import lister
from osc_lib.command import command

from ironic_reservations.client import times

#: The fields of the API that are instants, wherever they stand.
_INSTANTS = frozenset((
    'start_date', 'end_date', 'before_end_date', 'time', 'created_at',
    'updated_at', 'expires_at', 'starts_at', 'ends_at', 'until', 'earliest',
    'origin', 'since', 'latest'))


class Zoned(command.Command):
    """A command with the option ``--local``.

    Without it times are in UTC, as the service has them, and those that were
    typed without a zone are as well.
    """

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        """Add the option."""
        parser = super().get_parser(prog_name)
        parser.add_argument(
            '--local',
            action='store_true',
            help='Show times in the local time zone, and read those that '
                 'name no zone in it. Default is UTC.')
        return parser

    def run(self, parsed_args: argparse.Namespace) -> int:
        """Read the times that were typed, and do it."""
        for name, value in vars(parsed_args).items():
            if isinstance(value, datetime.datetime) and value.tzinfo is None:
                setattr(parsed_args, name, times.utc(
                    times.here(value) if parsed_args.local else value))
        return int(super().run(parsed_args) or 0)

    def produce_output(self, parsed_args: argparse.Namespace,
                       column_names: Sequence[str],
                       data: Iterable[Any]) -> int:
        """Print it, with the times where they were asked for."""
        if parsed_args.local:
            data = ([_row(column_names, row) for row in data]
                    if isinstance(self, lister.Lister)
                    else _row(column_names, data))
        return int(super().produce_output(  # type: ignore[misc]
            parsed_args, column_names, data) or 0)


def _row(names: Sequence[str], values: Iterable[Any]) -> list[Any]:
    return [_local(name, value)
            for name, value in zip(names, values, strict=True)]


def _local(name: str, value: Any) -> Any:
    """Return a field with its times in the zone of this machine."""
    if isinstance(value, columns.FormattableColumn):
        return type(value)(_local(name, value.machine_readable()))
    if isinstance(value, dict):
        return {key: _local(key, each) for key, each in value.items()}
    if isinstance(value, list):
        return [_local(name, each) for each in value]
    if name not in _INSTANTS or not isinstance(value, str):
        return value
    try:
        return times.here(times.told(value)).isoformat(timespec='seconds')
    except (ValueError, OverflowError):
        return value
