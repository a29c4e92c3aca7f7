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

"""The commands ``baremetal reservation host ...`` but ``import``."""

from __future__ import annotations

import argparse
from collections.abc import Iterable
from collections.abc import Sequence
from typing import Any

from ironicclient import exc
from osc_lib.cli import format_columns
from osc_lib.command import command

from ironic_reservations_client import host
from ironic_reservations_client.osc import chart_command
from ironic_reservations_client.osc import deletion
from ironic_reservations_client.osc import options
from ironic_reservations_client.osc import zone

_COLUMNS = ('id', 'name', 'resource_class', 'status', 'reservable')
_LONG = (*_COLUMNS, 'node_uuid', 'hypervisor_hostname', 'vcpus', 'memory_mb',
         'local_gb', 'properties', 'created_at', 'updated_at')
_DETAILS = (*_COLUMNS, 'node_uuid', 'hypervisor_hostname', 'hypervisor_type',
            'vcpus', 'memory_mb', 'local_gb', 'cpu_info', 'properties',
            'created_at', 'updated_at')

Columns = tuple[Sequence[str], Iterable[Any]]


@chart_command.typed
def capability(text: str) -> tuple[str, str]:
    """Read ``name=value``."""
    name, equals, value = text.partition('=')
    if not (name and equals):
        raise ValueError(f'{text!r} is not a property. Write it like rack=r1')
    return name, value


class ListHosts(zone.Zoned, command.Lister):
    """List hosts, which are the nodes that are open to leases"""

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = super().get_parser(prog_name)
        parser.add_argument(
            '--resource-class',
            metavar='<resource-class>',
            help='Only list hosts of this resource class.')
        options.add_page(parser, 'host')
        parser.add_argument(
            '--long',
            action='store_true',
            help='Also show the UUID of the node, the sizes, and the '
                 'properties that were set on the host.')
        return parser

    def take_action(self, parsed_args: argparse.Namespace) -> Columns:
        limit, wanted = parsed_args.limit, parsed_args.resource_class
        options.check_page(parsed_args)
        # NOTE: the service lists all classes, so a limit is for what is left.
        found = host.HostManager(self.app.client_manager.baremetal).list(
            limit=None if wanted else limit, marker=parsed_args.marker)
        if wanted:
            found = [each for each in found if each.resource_class == wanted]
            found = found[:limit] if limit else found
        columns = _LONG if parsed_args.long else _COLUMNS
        return columns, [_values(each, columns) for each in found]


class ShowHost(zone.Zoned, command.ShowOne):
    """Show a host"""

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = super().get_parser(prog_name)
        _add_host(parser)
        return parser

    def take_action(self, parsed_args: argparse.Namespace) -> Columns:
        return _shown(host.HostManager(
            self.app.client_manager.baremetal).get(parsed_args.host))


class SetHost(zone.Zoned, command.ShowOne):
    """Set properties of a host, or open or close it to new leases"""

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = super().get_parser(prog_name)
        _add_host(parser)
        parser.add_argument(
            '--property',
            metavar='<name>=<value>',
            type=capability,
            action='append',
            default=[],
            dest='capabilities',
            help='Property to set, that leases can ask for. Can be specified '
                 'multiple times.')
        switch = parser.add_mutually_exclusive_group()
        switch.add_argument(
            '--reservable',
            action='store_true',
            default=None,
            help='Open the host to new leases.')
        switch.add_argument(
            '--not-reservable',
            action='store_false',
            dest='reservable',
            help='Close the host to new leases. Leases that have not started '
                 'get other hosts where that is possible; those that have '
                 'started keep it.')
        return parser

    def take_action(self, parsed_args: argparse.Namespace) -> Columns:
        if not parsed_args.capabilities and parsed_args.reservable is None:
            raise exc.CommandError(
                'No change was given. Use --property, --reservable or '
                '--not-reservable.')
        return _shown(host.HostManager(
            self.app.client_manager.baremetal).change(
                parsed_args.host, parsed_args.reservable,
                dict(parsed_args.capabilities)))


class UnsetHost(zone.Zoned, command.ShowOne):
    """Unset properties of a host"""

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = super().get_parser(prog_name)
        _add_host(parser)
        parser.add_argument(
            '--property',
            metavar='<name>',
            action='append',
            required=True,
            dest='names',
            help='Property to unset. Can be specified multiple times.')
        return parser

    def take_action(self, parsed_args: argparse.Namespace) -> Columns:
        manager = host.HostManager(self.app.client_manager.baremetal)
        found = manager.get(parsed_args.host)
        unknown = [name for name in parsed_args.names
                   if name not in found.capabilities]
        if unknown:
            raise exc.CommandError(
                f'Nobody has set {", ".join(unknown)} on the host '
                f'{parsed_args.host}. "reservation host show" shows its '
                'properties.')
        return _shown(manager.change(
            found.id, capabilities=dict.fromkeys(parsed_args.names)))


class DeleteHost(deletion.Deletion):
    """Take hosts back from leases.

    The nodes stay in Ironic.
    """

    thing = 'host'
    named = 'IDs of the hosts to delete, or names or UUIDs of their nodes.'

    def delete(self, client: Any, ident: str) -> None:
        """Take one back."""
        host.HostManager(client).delete(ident)


def _add_host(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        'host', metavar='<host>',
        help='ID of the host, or the name or UUID of its node.')


def _shown(found: host.Host) -> Columns:
    return _DETAILS, _values(found, _DETAILS)


def _values(found: host.Host, columns: Sequence[str]) -> list[Any]:
    computed = {'properties': format_columns.DictColumn(found.capabilities),
                'name': found.shown_name}
    return [computed[name] if name in computed else getattr(found, name)
            for name in columns]
