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
from collections.abc import Sequence
import time
from typing import Any

from ironicclient import exc
from keystoneauth1 import exceptions as ksa_exceptions
from rich import console
from rich import live
from rich import text

from ironic_reservations_client import calendar
from ironic_reservations_client.charts import calendar as chart
from ironic_reservations_client.osc import chart_command

#: What passes by itself: the service, or the way to it, is down.
_PASSES = (exc.ConnectionRefused, exc.InternalServerError, exc.BadGateway,
           exc.ServiceUnavailable, exc.GatewayTimeout,
           ksa_exceptions.RetriableConnectionFailure,
           ksa_exceptions.UnknownConnectionError)


@chart_command.typed
def _seconds(typed: str) -> int:
    """Read after how many seconds to look again."""
    if not typed.isdigit() or not int(typed):
        raise ValueError(f'{typed!r} is not a number of seconds')
    return int(typed)


class ShowCalendar(chart_command.ChartCommand):
    """Show when how many hosts are free, and who has which host"""

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = super().get_parser(prog_name)
        parser.add_argument(
            '--resource-class',
            metavar='<resource-class>',
            action='append',
            default=[],
            dest='resource_classes',
            help='Only hosts of this resource class. Can be specified '
                 'multiple times. Default is all.')
        chart_command.add_time(
            parser, '--from', 'start',
            'Start of the window: "2030-01-31 12:00" (UTC), ISO 8601 '
            'with a zone, or +4h, which is four hours from now. Default '
            'is the start of the present hour.')
        chart_command.add_time(
            parser, '--until', 'end',
            'End of the window. Default is 30 days after its start.')
        parser.add_argument(
            '--hosts',
            action='store_true',
            help='Also show each host, and when it is promised.')
        parser.add_argument(
            '--watch',
            metavar='<seconds>',
            type=_seconds,
            const=5,
            nargs='?',
            help='Draw the calendar again whenever something has changed, '
                 'until Ctrl-C. Optionally takes the interval of the checks '
                 '(in seconds). Default is 5.')
        return parser

    def take_action(self, parsed_args: argparse.Namespace) -> Any:
        if parsed_args.watch and (parsed_args.formatter != 'table'
                                  or parsed_args.columns):
            raise exc.CommandError('--watch draws the calendar, so it cannot '
                                   'be used with another output format.')
        found = self._look(parsed_args)
        assert found is not None
        self._tag = found.tag
        return self.dict2columns(found.to_dict())

    def _look(self, parsed_args: argparse.Namespace,
              tag: str | None = None) -> calendar.Calendar | None:
        return calendar.CalendarManager(
            self.app.client_manager.baremetal).look(
                parsed_args.start, parsed_args.end,
                parsed_args.resource_classes, parsed_args.hosts, tag)

    def chart(self, parsed_args: argparse.Namespace,
              shown: dict[str, Any]) -> chart.CalendarChart:
        """Return the bars, and the rows."""
        return chart.CalendarChart(shown, parsed_args.local)

    def produce_output(self, parsed_args: argparse.Namespace,
                       column_names: Sequence[str],
                       data: Sequence[Any]) -> int:
        """Draw it, once or until somebody has seen enough."""
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
               drawn: chart.CalendarChart) -> None:
        screen = console.Console(file=self.app.stdout, highlight=False)
        if not screen.is_terminal:
            # NOTE: one below the other, for whoever reads them.
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
               ) -> tuple[chart.CalendarChart | None, str | None]:
        """Wait, and ask again.

        :returns: what is to be drawn, if something has changed; and why the
            service could not be asked.
        """
        time.sleep(parsed_args.watch)
        try:
            found = self._look(parsed_args, self._tag)
        except _PASSES as error:
            return None, str(error)
        if found is None:
            return None, None
        self._tag = found.tag
        return self.chart(parsed_args, found.to_dict()), None
