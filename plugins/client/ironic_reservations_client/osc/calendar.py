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

"""The command ``baremetal reservation calendar``."""

from __future__ import annotations

import argparse
from collections.abc import Iterable
from collections.abc import Sequence
import time
from typing import Any

from ironicclient import exc
from keystoneauth1 import exceptions as ksa_exceptions
from rich import console
from rich import live
from rich import text

from ironic_reservations_client import calendar
from ironic_reservations_client import errors
from ironic_reservations_client import resources
from ironic_reservations_client.charts import calendar as calendar_chart
from ironic_reservations_client.osc import options
from ironic_reservations_client.osc import typed
from ironic_reservations_client.osc import zone

#: Errors that pass by themselves: the service, or the way to it, is down, or a
#: proxy answers in its place.
_PASSES = (exc.ConnectionRefused, exc.InternalServerError, exc.BadGateway,
           exc.ServiceUnavailable, exc.GatewayTimeout, errors.ForeignAnswer,
           ksa_exceptions.RetriableConnectionFailure,
           ksa_exceptions.UnknownConnectionError)


class ShowCalendar(zone.ChartCommand):
    """Show free hosts over time, and who has each host"""

    arguments = (
        *options.of(resources.CALENDAR, 'create', 'resource_classes',
                    'start', 'end', 'rows'),
        options.Option(
            '--watch', 'Draw the calendar again whenever something has '
            'changed, until Ctrl-C. Optionally takes the interval of the '
            'checks (in seconds). Default is 5.', metavar='<seconds>',
            type=typed.number('a number of seconds'), const=5, nargs='?'))

    def take_action(self, parsed_args: argparse.Namespace) -> Any:
        if parsed_args.watch and (parsed_args.formatter != 'table'
                                  or parsed_args.columns):
            raise exc.CommandError('--watch draws the calendar, so it cannot '
                                   'be used with another output format.')
        found = self._read_calendar(parsed_args)
        assert found is not None
        self._tag = found.tag
        return self.dict2columns(found.to_dict())

    def _read_calendar(self, parsed_args: argparse.Namespace,
                       tag: str | None = None) -> calendar.Calendar | None:
        found: calendar.Calendar | None = calendar.CalendarManager(
            self.client).get(**resources.CALENDAR.read(
                vars(parsed_args), 'create'), tag=tag)
        return found

    def chart(self, parsed_args: argparse.Namespace,
              shown: dict[str, Any]) -> calendar_chart.CalendarChart:
        """Return the chart of the calendar."""
        return calendar_chart.CalendarChart(shown, parsed_args.local)

    def produce_output(self, parsed_args: argparse.Namespace,
                       column_names: Sequence[str],
                       data: Iterable[Any]) -> int:
        """Draw the calendar, once or until Ctrl-C."""
        if not parsed_args.watch:
            return super().produce_output(parsed_args, column_names, data)
        drawn = self.chart(parsed_args, dict(zip(column_names, data,
                                                 strict=True)))
        try:
            self._watch(parsed_args, drawn)
        except KeyboardInterrupt:
            pass
        return 0

    def _watch(self, parsed_args: argparse.Namespace,
               drawn: calendar_chart.CalendarChart) -> None:
        screen = zone.screen(self.app.stdout)
        if not screen.is_terminal:
            # One below the other, for the reader of a file.
            screen.print(drawn)
            while True:
                again, _trouble = self._again(parsed_args)
                if again is not None:
                    screen.print(again)
        with live.Live(drawn, console=screen, screen=True,
                       auto_refresh=False) as picture:
            while True:
                again, trouble = self._again(parsed_args)
                drawn = again or drawn
                picture.update(
                    drawn if trouble is None else console.Group(
                        text.Text(f'Not up to date: {trouble}', 'bold red'),
                        drawn), refresh=True)

    def _again(self, parsed_args: argparse.Namespace
               ) -> tuple[calendar_chart.CalendarChart | None, str | None]:
        """Wait, and request the calendar again.

        :returns: the chart, if the calendar has changed; and the error, if the
            request has failed.
        """
        time.sleep(parsed_args.watch)
        try:
            found = self._read_calendar(parsed_args, self._tag)
        except _PASSES as error:
            return None, str(error)
        if found is None:
            return None, None
        self._tag = found.tag
        return self.chart(parsed_args, found.to_dict()), None
