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

from osc_lib.command import command

from ironic_reservations_client import fields
from ironic_reservations_client import resources
from ironic_reservations_client import usage
from ironic_reservations_client.osc import base
from ironic_reservations_client.osc import options

_HOURS = resources.USAGE.columns(fields.Shown.ALWAYS)
_BY = {field.title.lower(): field.name for field in resources.USAGE.fields
       if field.name not in _HOURS}


class ListUsage(base.Command, command.Lister):
    """List the host hours of leases, day by day.

    Days are in UTC. "Promised": hours from the start to the end of each lease,
    past and future; "bound": hours that have passed with hosts handed over;
    "deployed": the part of them with a deployed host; "unused": the rest of
    the bound hours.
    """

    arguments = (
        options.Option(
            '--first-day', 'First day, such as 2026-03-01. Default is 30 days '
            'in total; the maximum is 366.', metavar='<day>'),
        options.Option('--last-day', 'Last day. Default is today.',
                       metavar='<day>'),
        options.Option(
            '--by', 'Group the hours by day, project or class. Can be '
            'specified multiple times. Default is all three.',
            metavar='<group>', action='append', choices=tuple(_BY)),
        options.OneOf(
            options.Option(
                '--project', 'List the hours of this project (ID). For '
                'administrators.'),
            options.Option(
                '--all-projects', 'List the hours of all projects. For '
                'administrators.', **options.FLAG)))

    def take_action(self, parsed_args: argparse.Namespace) -> base.Columns:
        by = [name for name in _BY if name in (parsed_args.by or _BY)]
        found = usage.UsageManager(self.client).get(
            parsed_args.first_day, parsed_args.last_day, by,
            parsed_args.project, parsed_args.all_projects)
        shown = [field for field in resources.USAGE.fields
                 if field.name in (*_HOURS, *(_BY[name] for name in by))]
        if parsed_args.formatter != 'table':
            return ([field.name for field in shown],
                    [[row[field.name] for field in shown]
                     for row in found.hours])
        return ([field.title for field in shown],
                [[_in_table(field, row[field.name]) for field in shown]
                 for row in found.hours])


def _in_table(field: fields.Field, value: object) -> object:
    """Return a value for a table: hours with two decimals, aligned."""
    if field.name in _HOURS:
        return f'{value:.2f}'.rjust(len(field.title))
    # Without Keystone there are no projects.
    return '-' if value is None else value
