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
from ironic_reservations_client import resources
from ironic_reservations_client import times
from ironic_reservations_client.charts import availability as chart
from ironic_reservations_client.osc import options
from ironic_reservations_client.osc import typed
from ironic_reservations_client.osc import zone

#: The largest number of slots.
_MOST = 20


class ShowAvailability(zone.ChartCommand):
    """Show how many hosts are free for leases over time"""

    arguments = (
        *options.SELECTION,
        *options.of(resources.AVAILABILITY, 'create', 'start', 'end'),
        options.Option(
            '--hosts', 'Also find the earliest start for this number of '
            'hosts, with --duration.', metavar='<number>',
            type=typed.number('a number of hosts')),
        *options.of(resources.AVAILABILITY, 'create', 'duration'),
        options.Option(
            '--slots', 'With --hosts and --duration, also list this number '
            'of starts, 20 at most: the earliest ones at which a lease that '
            'ends by --until would be accepted.', metavar='<number>',
            type=typed.number(f'a number from 1 to {_MOST}', _MOST)))

    def take_action(self, parsed_args: argparse.Namespace) -> Any:
        if (parsed_args.hosts is None) != (parsed_args.duration is None):
            raise exc.CommandError(
                'The earliest start depends on the number of hosts and on the '
                'duration: use both --hosts and --duration, or neither.')
        if parsed_args.slots is not None and parsed_args.hosts is None:
            raise exc.CommandError(
                'Slots depend on the number of hosts and on the duration: use '
                '--hosts and --duration, too.')
        found = availability.AvailabilityManager(self.client).get(
            start=parsed_args.start, end=parsed_args.end,
            hosts=parsed_args.hosts, duration=parsed_args.duration,
            slots=parsed_args.slots, **options.selected(parsed_args))
        return self.dict2columns(found.to_dict())

    def chart(self, parsed_args: argparse.Namespace,
              shown: dict[str, Any]) -> chart.AvailabilityChart:
        """Return the chart of free hosts."""
        asked = None
        if parsed_args.hosts is not None:
            length = times.shown_duration(
                datetime.timedelta(seconds=parsed_args.duration))
            hosts = counted.counted(parsed_args.hosts, 'host')
            asked = f'Earliest start for {hosts} for {length}'
        return chart.AvailabilityChart(shown, asked, parsed_args.local)
