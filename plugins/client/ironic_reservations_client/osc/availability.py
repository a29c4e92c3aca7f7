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

"""The command ``baremetal reservation availability``."""

from __future__ import annotations

import argparse
import datetime
from typing import Any

from ironicclient import exc

from ironic_reservations_client import availability
from ironic_reservations_client import counted
from ironic_reservations_client import times
from ironic_reservations_client.charts import availability as chart
from ironic_reservations_client.osc import chart_command
from ironic_reservations_client.osc import selection

#: No more slots than this are told.
_MOST = 20


@chart_command.typed
def slot_count(text: str) -> int:
    """Read a number of slots."""
    if not text.isdigit() or not 1 <= int(text) <= _MOST:
        raise ValueError(f'{text!r} is not a number from 1 to {_MOST}')
    return int(text)


class ShowAvailability(chart_command.ChartCommand):
    """Show how many hosts leases could have, when"""

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = super().get_parser(prog_name)
        selection.add(parser)
        chart_command.add_time(
            parser, '--from', 'start',
            'Start of the period: "2030-01-31 12:00" (UTC), ISO 8601 '
            'with a zone, or +4h, which is four hours from now. Default '
            'is now.')
        chart_command.add_time(
            parser, '--until', 'end',
            'End of the period. Default is set by the service: 30 days '
            'after the start.')
        parser.add_argument(
            '--hosts',
            metavar='<number>',
            type=chart_command.positive,
            help='Also find the earliest start for this number of hosts, with '
                 '--duration.')
        chart_command.add_duration(
            parser, '--duration',
            'Duration for --hosts: 30m, 4h, 1h30m, 7d, 2w.')
        parser.add_argument(
            '--slots',
            metavar='<number>',
            type=slot_count,
            help='With --hosts and --duration, also list this number of '
                 'starts, 20 at most: the earliest ones at which a lease that '
                 'ends by --until would be accepted.')
        return parser

    def take_action(self, parsed_args: argparse.Namespace) -> Any:
        if (parsed_args.hosts is None) != (parsed_args.duration is None):
            raise exc.CommandError(
                'The earliest start depends on the number of hosts and on the '
                'duration: use both --hosts and --duration, or neither.')
        if parsed_args.slots is not None and parsed_args.hosts is None:
            raise exc.CommandError(
                'Slots depend on the number of hosts and on the duration: use '
                '--hosts and --duration, too.')
        found = availability.AvailabilityManager(
            self.app.client_manager.baremetal).look(
                start=parsed_args.start, end=parsed_args.end,
                hosts=parsed_args.hosts, duration=parsed_args.duration,
                slots=parsed_args.slots,
                **selection.read(parsed_args))
        return self.dict2columns(found.to_dict())

    def chart(self, parsed_args: argparse.Namespace,
              shown: dict[str, Any]) -> chart.AvailabilityChart:
        """Return the bars."""
        asked = None
        if parsed_args.hosts is not None:
            length = times.shown_duration(
                datetime.timedelta(seconds=parsed_args.duration))
            hosts = counted.counted(parsed_args.hosts, 'host')
            asked = f'Earliest start for {hosts} for {length}'
        return chart.AvailabilityChart(shown, asked, parsed_args.local)
