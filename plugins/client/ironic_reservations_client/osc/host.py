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

"""The commands ``baremetal reservation host ...`` except ``import``."""

from __future__ import annotations

import argparse
from typing import Any

from ironicclient import exc
from osc_lib.cli import format_columns
from osc_lib.command import command

from ironic_reservations_client import fields
from ironic_reservations_client import host
from ironic_reservations_client import resources
from ironic_reservations_client.osc import base
from ironic_reservations_client.osc import options
from ironic_reservations_client.osc import typed
from ironic_reservations_client.osc import zone

capability = typed.pair('is not a property. Write it like rack=r1')
_HOST = options.Option('host',
                       'ID of the host, or the name or UUID of its node.')


class ListHosts(zone.Listing):
    """List hosts (nodes that are open to leases)"""

    describes = resources.HOST
    arguments = (
        options.Option(
            '--resource-class', 'Only list hosts of this resource class.'),
        *options.page('host'), options.SORT,
        options.Option(
            '--long', 'Also show the UUID of the node, the sizes, and the '
            'properties that were set on the host.', **options.FLAG))

    def found(self, parsed_args: argparse.Namespace) -> list[host.Host]:
        """Return the hosts of a class, the oldest first."""
        limit, wanted = parsed_args.limit, parsed_args.resource_class
        # The service lists all classes, so a limit is for the rest.
        found = host.HostManager(self.client).list(
            limit=None if wanted else limit, marker=parsed_args.marker)
        if wanted:
            found = [each for each in found if each.resource_class == wanted]
            found = found[:limit] if limit else found
        return found

    def cell(self, one: Any, name: str) -> Any:
        """Return the value of a field; the name and the properties."""
        return _cell(one, name)


class ShowHost(zone.Zoned, command.ShowOne):
    """Show a host"""

    arguments = (_HOST,)

    def take_action(self, parsed_args: argparse.Namespace) -> base.Columns:
        return _shown(host.HostManager(self.client).get(parsed_args.host))


class SetHost(zone.Zoned, command.ShowOne):
    """Set properties of a host, or open or close it to new leases"""

    arguments = (
        _HOST,
        options.Option(
            '--property', 'Property to set, which leases can require. Can be '
            'specified multiple times.', metavar='<name>=<value>',
            type=capability, **options.MANY,
            dest='capabilities'),
        *options.of(resources.HOST, 'change'))

    def take_action(self, parsed_args: argparse.Namespace) -> base.Columns:
        if not parsed_args.capabilities and parsed_args.reservable is None:
            raise exc.CommandError(
                'No change was given. Use --property, --reservable or '
                '--not-reservable.')
        return _shown(host.HostManager(self.client).change(
            parsed_args.host, parsed_args.reservable,
            dict(parsed_args.capabilities)))


class UnsetHost(zone.Zoned, command.ShowOne):
    """Unset properties of a host"""

    arguments = (_HOST, options.Option(
        '--property', 'Property to unset. Can be specified multiple times.',
        metavar='<name>', action='append', required=True, dest='names'))

    def take_action(self, parsed_args: argparse.Namespace) -> base.Columns:
        manager = host.HostManager(self.client)
        found = manager.get(parsed_args.host)
        unknown = [name for name in parsed_args.names
                   if name not in found.capabilities]
        if unknown:
            raise exc.CommandError(
                f'The host {parsed_args.host} has no property '
                f'{", ".join(unknown)}. "reservation host show" shows its '
                'properties.')
        return _shown(manager.change(
            found.id, capabilities=dict.fromkeys(parsed_args.names)))


class DeleteHost(base.Deletion):
    """Delete hosts, so that their nodes are no longer open to leases.

    The nodes stay in Ironic.
    """

    manager = host.HostManager
    thing = 'host'
    arguments = (base.named(thing, 'IDs of the hosts to delete, or names '
                            'or UUIDs of their nodes.'),)


def _shown(found: host.Host) -> base.Columns:
    columns = resources.HOST.columns(fields.Shown.ALONE)
    return columns, [_cell(found, name) for name in columns]


def _cell(one: host.Host, name: str) -> Any:
    if name == 'properties':
        return format_columns.DictColumn(one.capabilities)
    return one.shown_name if name == 'name' else getattr(one, name)
