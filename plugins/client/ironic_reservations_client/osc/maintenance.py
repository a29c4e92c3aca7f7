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
from collections.abc import Callable
from collections.abc import Iterable
from typing import Any

from ironicclient import exc
from osc_lib.command import command

from ironic_reservations_client import fields
from ironic_reservations_client import maintenance
from ironic_reservations_client import nodes
from ironic_reservations_client import resources
from ironic_reservations_client import times
from ironic_reservations_client.osc import base
from ironic_reservations_client.osc import cells
from ironic_reservations_client.osc import hints
from ironic_reservations_client.osc import options
from ironic_reservations_client.osc import zone

_LONG = resources.MAINTENANCE.columns(fields.Shown.LONG)
_MADE = resources.MAINTENANCE.columns(fields.Shown.ALONE)
#: The columns of a dry run beside these.
_TRIED = ('accepted', 'reasons')


class CreateMaintenance(zone.Zoned, command.ShowOne):
    """Book nodes for maintenance.

    Leases that have not started move to other nodes; if there are not
    enough, leases with open dates move to other times. With --dry-run the
    effect is shown, and nothing is booked.
    """

    arguments = (
        *options.of(resources.MAINTENANCE, 'create', 'name', 'nodes'),
        *options.SELECTION,
        *options.of(resources.MAINTENANCE, 'create', 'reason', 'start'),
        options.OneOf(
            *options.of(resources.MAINTENANCE, 'create', 'end', 'duration'),
            required=True),
        *options.of(resources.MAINTENANCE, 'create', 'drain', 'force'),
        options.Option(
            '--dry-run', 'Only show the bookings that would move, the '
            'bookings that cannot move, and the users of nodes.',
            **options.FLAG))

    def take_action(self, parsed_args: argparse.Namespace) -> base.Columns:
        chosen = options.selected(parsed_args)
        given = resources.MAINTENANCE.read(vars(parsed_args), 'create')
        if not (given['nodes'] or any(chosen.values())):
            raise exc.CommandError(
                'No nodes were chosen. Use --node, --resource-class, '
                '--property or --trait.')
        with (hints.if_unknown(
                None if parsed_args.dry_run else
                'It is not known whether the maintenance window was made: '
                '"reservation maintenance list" lists it.'),
              nodes.named_in_refusals(self.client)):
            made = maintenance.MaintenanceManager(self.client).create(
                dry_run=parsed_args.dry_run, **given, **chosen)
        columns = (*_MADE, *(_TRIED if parsed_args.dry_run else ()))
        _name_nodes(self.client, [made])
        return columns, [_cell(made, name) for name in columns]


class ListMaintenances(zone.Listing):
    """List maintenance windows"""

    describes = resources.MAINTENANCE
    arguments = (options.SORT, options.Option(
        '--long', 'Also show the nodes and the reason.', **options.FLAG))

    def found(self, parsed_args: argparse.Namespace
              ) -> list[maintenance.Maintenance]:
        """Return the windows, ordered by start."""
        found = maintenance.MaintenanceManager(self.client).list()
        if parsed_args.long:
            _name_nodes(self.client, found)
        return found

    def cell(self, one: Any, name: str) -> Any:
        """Return the value of a field, with a line for each node."""
        return _cell(one, name)


class ShowMaintenance(zone.Zoned, command.ShowOne):
    """Show a maintenance window"""

    arguments = (options.Option(
        'maintenance', 'Name or UUID of the maintenance window.'),)

    def take_action(self, parsed_args: argparse.Namespace) -> base.Columns:
        manager = maintenance.MaintenanceManager(self.client)
        # The list, in which names are found, has fewer fields.
        found = manager.get(manager.find(parsed_args.maintenance).uuid)
        _name_nodes(self.client, [found])
        waiting = [
            {'node_uuid': each['node_uuid'],
             'node_name': each['node_name'], **each['waiting'],
             'latest': each['ends_at']}
            for each in found.nodes if each.get('waiting')]
        for each in found.nodes:
            each.pop('waiting', None)
        return (*_LONG, 'waiting'), [
            *(_cell(found, name) for name in _LONG),
            cells.lines(waiting_lines, waiting, '\n\n')]


class DeleteMaintenance(base.Deletion):
    """End maintenance windows, or cancel them before they start"""

    manager = maintenance.MaintenanceManager
    thing = 'maintenance'
    arguments = (base.named(
        thing, 'Names or UUIDs of the maintenance windows.'),)
    verbs = ('end', 'Ended')

    def delete(self, ident: str) -> None:
        """End one window, by its name or UUID."""
        super().delete(self.manager(self.client).find(ident).uuid)


def waiting_lines(each: dict[str, Any]) -> str:
    """Return a node that the window waits for, its holder, and the times."""
    return (f'{_name(each)}: {each["for"]}\n'
            f'since: {each["since"]}\n'
            f'until: {each["until"] or "not known"}\n'
            f'at the latest until: {each["latest"]}')


def _node(each: dict[str, Any]) -> str:
    return f'{_name(each)}: {each["state"]}, {_window(each)}'


def _bound(each: dict[str, Any]) -> str:
    """Return a node with its holder and the end of its use."""
    lease = f' {each["lease_id"]}' if each.get('lease_id') else ''
    until = each['until'] or 'nobody knows when'
    return f'{_name(each)}: {each["kind"]}{lease}, until {until}'


def _move(each: dict[str, Any]) -> str:
    """Return a booking with its new node, if it has one."""
    to = each.get('to_name') or each.get('to')
    return (f'{_name(each)}{f" to {to}" if to else ""}: lease '
            f'{each["lease_id"]}, {_window(each)}')


def _moved_lease(each: dict[str, Any]) -> str:
    """Return a lease whose dates change, with its new dates."""
    return (f'lease {each["lease_name"]} ({each["lease_id"]}): '
            f'{_window(each)}, {times.shown_shift(each["shift"])}')


def _reason(each: dict[str, Any]) -> str:
    return f'{_name(each)}: {each["detail"]} [{each["code"]}]'


_LINES: dict[str, Callable[[dict[str, Any]], str]] = {
    'nodes': _node, 'bound': _bound, 'moves': _move,
    'rescheduled': _moved_lease, 'cannot_move': _move, 'reasons': _reason}
#: The key with the name of a node, by the key with its UUID.
_NODES = {'node_uuid': 'node_name', 'to': 'to_name'}


def _name(each: dict[str, Any]) -> str:
    return str(each.get('node_name') or each['node_uuid'])


def _window(each: dict[str, Any]) -> str:
    return f'{each["starts_at"]} until {each["ends_at"]}'


def _name_nodes(client: Any,
                found: Iterable[maintenance.Maintenance]) -> None:
    """Add the names of nodes, as far as Ironic shows them."""
    rows = [row for one in found for name in _LINES
            for row in getattr(one, name, None) or ()]
    known = nodes.read(client, {
        row[key] for row in rows for key in _NODES if row.get(key)})
    for row in rows:
        for key, name in _NODES.items():
            if key in row:
                row[name] = getattr(known.get(row[key]), 'name', None)


def _cell(one: maintenance.Maintenance, name: str) -> Any:
    value = getattr(one, name)
    return cells.lines(_LINES[name], value) if name in _LINES else value
