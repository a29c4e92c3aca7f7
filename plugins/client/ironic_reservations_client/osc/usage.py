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

"""The command ``baremetal reservation usage``."""

from __future__ import annotations

import argparse
from collections.abc import Iterable
from collections.abc import Sequence
from typing import Any

from osc_lib.command import command

from ironic_reservations_client import usage
from ironic_reservations_client.osc import json_refusals

_GROUPS = ('day', 'project', 'class')
_KEYS = {'day': ('Day', 'day'), 'project': ('Project', 'project_id'),
         'class': ('Class', 'resource_class')}
_HOURS = {name: f'{name.capitalize()} host hours'
          for name in ('promised', 'bound', 'deployed', 'unused')}


class ListUsage(json_refusals.JsonRefusals, command.Lister):
    """List the host hours that leases had, day by day.

    Days are in UTC. "Promised" counts from the start of each lease to its end,
    also what is to come; "bound" what of it has passed while the hosts were
    the lease's; "deployed" what of that they were deployed for, and "unused"
    the rest.
    """

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = super().get_parser(prog_name)
        parser.add_argument(
            '--first-day', metavar='<day>',
            help='First day, such as 2026-03-01. Default is 30 days in total; '
                 'the maximum is 366.')
        parser.add_argument(
            '--last-day', metavar='<day>',
            help='Last day. Default is today.')
        parser.add_argument(
            '--by', metavar='<group>', action='append', choices=_GROUPS,
            help='Group the hours by day, project or class. Can be specified '
                 'multiple times. Default is all three.')
        whose = parser.add_mutually_exclusive_group()
        whose.add_argument(
            '--project', metavar='<project>',
            help='List the hours of this project (ID). For administrators.')
        whose.add_argument(
            '--all-projects', action='store_true',
            help='List the hours of all projects. For administrators.')
        return parser

    def take_action(self, parsed_args: argparse.Namespace
                    ) -> tuple[Sequence[str], Iterable[Any]]:
        by = [name for name in _GROUPS
              if name in (parsed_args.by or _GROUPS)]
        found = usage.UsageManager(self.app.client_manager.baremetal).get(
            parsed_args.first_day, parsed_args.last_day, by,
            parsed_args.project, parsed_args.all_projects)
        titles, keys = zip(*(_KEYS[name] for name in by), strict=True)
        groups = [[row[key] for key in keys] for row in found.hours]
        hours = [[row[key] for key in _HOURS] for row in found.hours]
        if parsed_args.formatter == 'table':
            # NOTE: without Keystone there are no projects.
            groups = [['-' if each is None else each for each in group]
                      for group in groups]
            hours = [_in_table(each) for each in hours]
        return ([*titles, *_HOURS.values()],
                [(*group, *each)
                 for group, each in zip(groups, hours, strict=True)])


def _in_table(hours: Iterable[float]) -> list[str]:
    """Return hours to the hundredth, each as wide as its title."""
    return [f'{each:.2f}'.rjust(len(title))
            for each, title in zip(hours, _HOURS.values(), strict=True)]
