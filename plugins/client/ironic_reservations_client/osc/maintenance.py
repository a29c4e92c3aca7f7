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

"""The commands ``baremetal reservation maintenance ...``."""

from __future__ import annotations

import argparse
from collections.abc import Iterable
from collections.abc import Sequence
import datetime
from typing import Any

from cliff import columns as formats
from ironicclient import exc
from osc_lib.command import command

from ironic_reservations_client import maintenance
from ironic_reservations_client import times
from ironic_reservations_client.osc import chart_command
from ironic_reservations_client.osc import deletion
from ironic_reservations_client.osc import lease_plan
from ironic_reservations_client.osc import named_nodes
from ironic_reservations_client.osc import selection
from ironic_reservations_client.osc import zone

_COLUMNS = ('uuid', 'name', 'state', 'starts_at', 'ends_at')
_LONG = (*_COLUMNS, 'reason', 'drain', 'nodes', 'created_at', 'updated_at')
_EFFECT = ('bound', 'moves', 'slides', 'cannot_move')
_TRIED = ('accepted', 'reasons')
_TIMES = '"2030-01-31 12:00" (UTC), or +4h'

Columns = tuple[Sequence[str], Iterable[Any]]


class CreateMaintenance(zone.Zoned, command.ShowOne):
    """Book nodes for maintenance.

    Bookings of leases that have not started move to other nodes; leases
    with open dates slide if there are not enough. With --dry-run the effect
    is shown, and nothing is booked.
    """

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = super().get_parser(prog_name)
        parser.add_argument(
            'name', metavar='<name>', help='Name of the maintenance window.')
        parser.add_argument(
            '--node',
            metavar='<node>',
            action='append',
            default=[],
            dest='nodes',
            help='Name or UUID of a node. Can be specified multiple times. '
                 'Default is all nodes that match the other options.')
        selection.add(parser)
        parser.add_argument(
            '--reason',
            metavar='<reason>',
            help='Reason to show in Ironic. Default is the name.')
        chart_command.add_time(
            parser, '--start-date', 'start',
            f'Start of the maintenance: {_TIMES}. Default is now.')
        end = parser.add_mutually_exclusive_group(required=True)
        chart_command.add_time(
            # NOTE: not --end, in which the shell sees its own --endpoint.
            end, '--end-date', 'end',
            f'End of the maintenance: {_TIMES}.')
        chart_command.add_duration(
            end, '--duration',
            'Duration of the maintenance, for example 4h.')
        parser.add_argument(
            '--drain',
            action='store_true',
            help='Wait for the users of nodes: the maintenance of a node '
                 'begins when its lease has ended, and has the requested '
                 'duration.')
        parser.add_argument(
            '--force',
            action='store_true',
            help='Book the nodes even if others have them.')
        parser.add_argument(
            '--dry-run',
            action='store_true',
            help='Only show the bookings that would move, those that cannot, '
                 'and the users of nodes.')
        return parser

    def take_action(self, parsed_args: argparse.Namespace) -> Columns:
        wanted = selection.read(parsed_args)
        if not (parsed_args.nodes or any(wanted.values())):
            raise exc.CommandError(
                'No nodes were chosen. Use --node, --resource-class, '
                '--property or --trait.')
        start, end = parsed_args.start, parsed_args.end
        if end is None:
            begins = (start if isinstance(start, datetime.datetime)
                      else chart_command.now())
            end = begins + datetime.timedelta(seconds=parsed_args.duration)
        client = self.app.client_manager.baremetal
        with named_nodes.in_refusals(client):
            made = maintenance.MaintenanceManager(client).create(
                parsed_args.name, end, start, parsed_args.reason,
                parsed_args.nodes, drain=parsed_args.drain,
                force=parsed_args.force, dry_run=parsed_args.dry_run,
                **wanted)
        columns = (*_LONG, *_EFFECT, *(_TRIED if parsed_args.dry_run
                                       else ()))
        _name_nodes(client, [made])
        return columns, _values(made, columns)


class ListMaintenances(zone.Zoned, command.Lister):
    """List maintenance windows"""

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = super().get_parser(prog_name)
        parser.add_argument(
            '--long',
            action='store_true',
            help='Show the nodes and the reason, too.')
        return parser

    def take_action(self, parsed_args: argparse.Namespace) -> Columns:
        columns = _LONG if parsed_args.long else _COLUMNS
        client = self.app.client_manager.baremetal
        found = maintenance.MaintenanceManager(client).list()
        if parsed_args.long:
            _name_nodes(client, found)
        return columns, [_values(each, columns) for each in found]


class ShowMaintenance(zone.Zoned, command.ShowOne):
    """Show a maintenance window"""

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = super().get_parser(prog_name)
        parser.add_argument(
            'maintenance', metavar='<maintenance>',
            help='Name or UUID of the maintenance window.')
        return parser

    def take_action(self, parsed_args: argparse.Namespace) -> Columns:
        manager = maintenance.MaintenanceManager(
            self.app.client_manager.baremetal)
        # NOTE: the list, in which names are found, tells less.
        found = manager.get(manager.find(parsed_args.maintenance).uuid)
        _name_nodes(self.app.client_manager.baremetal, [found])
        waiting = [
            {'node_uuid': each['node_uuid'],
             'node_name': each['node_name'], **each['waiting'],
             'latest': each['ends_at']}
            for each in found.nodes if each.get('waiting')]
        for each in found.nodes:
            each.pop('waiting', None)
        return (*_LONG, 'waiting'), [*_values(found, _LONG),
                                     _Waiting(waiting)]


class _Waiting(formats.FormattableColumn[list[dict[str, Any]]]):
    """The nodes that are waited for, each in lines of its own."""

    def human_readable(self) -> str:
        """Return for whom, since when, and until when at the latest."""
        return '\n\n'.join(
            f'{_name(each)}: {each["for"]}\n'
            f'since: {each["since"]}\n'
            f'until: {each["until"] or "not known"}\n'
            f'at the latest until: {each["latest"]}'
            for each in self._value)


class DeleteMaintenance(deletion.Deletion):
    """End maintenance windows, or take them back before they start"""

    thing = 'maintenance'
    named = 'Names or UUIDs of the maintenance windows.'
    verbs = ('end', 'Ended')

    def delete(self, client: Any, ident: str) -> None:
        """End one, which is named by either."""
        manager = maintenance.MaintenanceManager(client)
        manager.delete(manager.find(ident).uuid)


class _Lines(formats.FormattableColumn[list[dict[str, Any]]]):
    """A list of nodes, each of which is a line in a table."""

    def human_readable(self) -> str:
        """Return the lines."""
        return '\n'.join(map(self.line, self._value))

    def line(self, each: dict[str, Any]) -> str:
        """Return what a node is in maintenance for, and when."""
        return f'{_name(each)}: {each["state"]}, {_window(each)}'


class _Bound(_Lines):

    def line(self, each: dict[str, Any]) -> str:
        """Return who has a node, and until when."""
        lease = f' {each["lease_id"]}' if each.get('lease_id') else ''
        until = each['until'] or 'nobody knows when'
        return f'{_name(each)}: {each["kind"]}{lease}, until {until}'


class _Moves(_Lines):

    def line(self, each: dict[str, Any]) -> str:
        """Return what moves where, or cannot move."""
        to = each.get('to_name') or each.get('to')
        return (f'{_name(each)}{f" to {to}" if to else ""}: lease '
                f'{each["lease_id"]}, {_window(each)}')


class _Slides(_Lines):

    def line(self, each: dict[str, Any]) -> str:
        """Return which lease starts at another time, and when."""
        by = each['seconds']
        duration = times.shown_duration(datetime.timedelta(seconds=abs(by)))
        return (f'lease {each["lease_name"]} ({each["lease_id"]}): '
                f'{_window(each)}, {duration} '
                f'{"later" if by > 0 else "earlier"}')


class _Reasons(_Lines):

    def line(self, each: dict[str, Any]) -> str:
        """Return why a node cannot be booked."""
        return f'{_name(each)}: {each["detail"]} [{each["code"]}]'


_IN_LINES = {'nodes': _Lines, 'bound': _Bound, 'moves': _Moves,
             'slides': _Slides, 'cannot_move': _Moves, 'reasons': _Reasons}
#: Of these keys, which one has the name.
_NODES = {'node_uuid': 'node_name', 'to': 'to_name'}


def _name(each: dict[str, Any]) -> str:
    return str(each.get('node_name') or each['node_uuid'])


def _window(each: dict[str, Any]) -> str:
    return f'{each["starts_at"]} until {each["ends_at"]}'


def _name_nodes(client: Any,
                found: Iterable[maintenance.Maintenance]) -> None:
    """Add the names of nodes, where Ironic shows them."""
    rows = [row for one in found for name in _IN_LINES
            for row in getattr(one, name, None) or ()]
    known = lease_plan.known_nodes(client, {
        row[key] for row in rows for key in _NODES if row.get(key)})
    for row in rows:
        for key, name in _NODES.items():
            if key in row:
                row[name] = known.get(row[key], {}).get('name')


def _values(found: maintenance.Maintenance,
            columns: Sequence[str]) -> list[Any]:
    # NOTE: services before API version 1.25 send no slides.
    return [_IN_LINES[name](getattr(found, name, []))
            if name in _IN_LINES else getattr(found, name)
            for name in columns]
