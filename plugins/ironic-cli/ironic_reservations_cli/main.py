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


"""``ironic reservation-create``, ``-list``, ``-show`` and ``-delete``."""

from __future__ import annotations

import argparse
from collections.abc import Iterable
import json
import sys
from typing import Any

from ironicclient import exc
from keystoneauth1 import exceptions as ksa_exceptions
from openstack import exceptions as sdk_exceptions
import prettytable

from ironic_reservations_cli import options
from ironic_reservations_client import errors
from ironic_reservations_client import reservation

COLUMNS = ('uuid', 'node_uuid', 'instance_uuid', 'created_at', 'updated_at',
           'expires_at', 'state')
_HEADINGS = ('UUID', 'Node UUID', 'Instance UUID', 'Expires At')
_LISTED = ('uuid', 'node_uuid', 'instance_uuid', 'expires_at')


def create(manager: reservation.ReservationManager,
           given: argparse.Namespace) -> None:
    """Reserve a node for an instance."""
    _print_one(manager.create(given.instance, given.node), given.json)


def list_all(manager: reservation.ReservationManager,
             given: argparse.Namespace) -> None:
    """List the reservations."""
    rows = [_row(item) for item in manager.list(limit=0)]
    if given.json:
        _print_json(rows)
    else:
        _print_table(_HEADINGS, [[row.get(name, '') for name in _LISTED]
                                 for row in rows])


def show(manager: reservation.ReservationManager,
         given: argparse.Namespace) -> None:
    """Show a reservation."""
    _print_one(manager.get(given.reservation), given.json)


def delete(manager: reservation.ReservationManager,
           given: argparse.Namespace) -> None:
    """Delete a reservation."""
    manager.delete(given.reservation)
    if given.json:
        _print_json({'deleted': given.reservation})
    else:
        print(f'Deleted reservation {given.reservation}')


def build_parser() -> argparse.ArgumentParser:
    """Return the parser of the whole command."""
    parser = argparse.ArgumentParser(
        prog='ironic', description='Reservations of bare metal nodes. The '
        'commands "baremetal reservation ..." can do more.')
    options.add(parser)
    commands = parser.add_subparsers(metavar='<subcommand>', dest='command',
                                     required=True)
    for name, function, arguments in (
            ('reservation-create', create, {
                'node': ('<node uuid>', 'UUID of the node.'),
                'instance': ('<instance uuid>',
                             'UUID of the instance that it is for.')}),
            ('reservation-list', list_all, {}),
            ('reservation-show', show, {
                'reservation': ('<uuid>', 'UUID of the reservation.')}),
            ('reservation-delete', delete, {
                'reservation': ('<uuid>', 'UUID of the reservation.')})):
        summary = (function.__doc__ or '').rstrip('.')
        command = commands.add_parser(name, help=summary,
                                      description=f'{summary}.')
        for argument, (metavar, text) in arguments.items():
            command.add_argument(argument, metavar=metavar, help=text)
        command.set_defaults(function=function)
    shown = commands.add_parser(
        'help', help='Show this text, or the one of a subcommand')
    shown.add_argument('topic', metavar='<subcommand>', nargs='?',
                       choices=sorted(commands.choices),
                       help='Subcommand to explain.')
    shown.set_defaults(function=None,
                       parsers={None: parser, **commands.choices})
    return parser


def main(argv: list[str] | None = None) -> int:
    """Run the command, and return the exit status."""
    parser = build_parser()
    given = parser.parse_args(argv)
    if given.function is None:
        given.parsers[given.topic].print_help()
        return 0
    try:
        with errors.reaching():
            given.function(
                reservation.ReservationManager(options.connect(given)), given)
    except (exc.ClientException, ksa_exceptions.ClientException,
            sdk_exceptions.SDKException, OSError, ValueError) as error:
        print(_one_line(error), file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 130
    return 0


def _row(item: reservation.Reservation) -> dict[str, Any]:
    row = item.to_dict()
    return {name: row[name] for name in COLUMNS if name in row}


def _print_one(item: reservation.Reservation, as_json: bool) -> None:
    row = _row(item)
    if as_json:
        _print_json(row)
    else:
        _print_table(('Property', 'Value'), sorted(row.items()))


def _print_json(what: Any) -> None:
    print(json.dumps(what, indent=2))


def _print_table(headings: Iterable[str],
                 rows: Iterable[Iterable[Any]]) -> None:
    table = prettytable.PrettyTable(list(headings))
    table.align = 'l'
    for row in rows:
        table.add_row(['' if cell is None else cell for cell in row])
    print(table)


def _one_line(error: Exception) -> str:
    return '; '.join(line.strip() for line in str(error).splitlines()
                     if line.strip()) or type(error).__name__
