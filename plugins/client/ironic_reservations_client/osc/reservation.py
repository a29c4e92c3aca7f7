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


"""The commands ``baremetal reservation ...``."""

from __future__ import annotations

import argparse
from collections.abc import Iterable
from collections.abc import Mapping
from collections.abc import Sequence
import itertools
import json
import sys
from typing import Any
import uuid

from cliff import columns
from ironicclient import exc
from ironicclient.common import utils
from ironicclient.osc.v1 import baremetal_node
from osc_lib import utils as osc_utils
from osc_lib.command import command
from oslo_utils import uuidutils

from ironic_reservations_client import deployment
from ironic_reservations_client import reservation
from ironic_reservations_client.osc import deletion
from ironic_reservations_client.osc import deployment as lease_nodes
from ironic_reservations_client.osc import flavor_file
from ironic_reservations_client.osc import json_refusals
from ironic_reservations_client.osc import named_nodes
from ironic_reservations_client.osc import options
from ironic_reservations_client.osc import zone

FIELDS = ('uuid', 'node_uuid', 'instance_uuid', 'state', 'expires_at')
DETAILED_FIELDS = (*FIELDS, 'created_at', 'updated_at', 'project_id',
                   'user_id', 'suspended', 'suspended_reason')

Columns = tuple[Sequence[str], Iterable[Any]]


class CreateReservation(zone.Zoned, command.ShowOne):
    """Reserve a bare metal node"""

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = super().get_parser(prog_name)
        parser.add_argument(
            'nodes',
            metavar='<node>',
            nargs='*',
            help='Names or UUIDs of nodes, in the order of preference: the '
                 'first node that can be reserved is taken. May be left out '
                 'with --resource-class, --trait or --flavor-file.')
        parser.add_argument(
            '--instance',
            metavar='<uuid>',
            help='UUID of the instance that the node is for. A second request '
                 'for the same instance returns the same reservation. Default '
                 'is a new random UUID.')
        parser.add_argument(
            '--uuid',
            metavar='<uuid>',
            help='UUID of the reservation. Default is set by the server.')
        _add_times(parser)
        parser.add_argument(
            '--resource-class',
            metavar='<resource-class>',
            help='Only nodes of this resource class.')
        parser.add_argument(
            '--trait',
            metavar='<trait>',
            action='append',
            dest='traits',
            help='Only nodes with this trait. Can be specified multiple '
                 'times.')
        parser.add_argument(
            '--flavor-file',
            metavar='<file>',
            help='Only nodes that match a flavor of Nova: a file with the '
                 'output of "openstack flavor show -f json", or - for the '
                 'standard input. Cannot be used with --resource-class or '
                 '--trait.')
        options.add_wait(parser, 'a node to become free')
        return parser

    def take_action(self, parsed_args: argparse.Namespace) -> Columns:
        client = self.app.client_manager.baremetal
        if not (parsed_args.nodes or parsed_args.resource_class
                or parsed_args.traits or parsed_args.flavor_file):
            raise exc.CommandError(
                'No node was named. Name at least one, or use '
                '--resource-class, --trait or --flavor-file to let the '
                'service choose.')
        options.check_wait(parsed_args)
        nodes = [named_nodes.node_uuid(client, node)
                 for node in parsed_args.nodes]
        with named_nodes.in_refusals(client):
            made = reservation.ReservationManager(client).create(
                instance_uuid=parsed_args.instance or str(uuid.uuid4()),
                node_uuid=nodes or None,
                uuid=parsed_args.uuid, ttl=parsed_args.ttl,
                expires_at=parsed_args.expires_at,
                resource_class=parsed_args.resource_class,
                traits=parsed_args.traits,
                flavor=flavor_file.read(parsed_args.flavor_file),
                wait=parsed_args.wait_timeout)
        return _shown(made, names=_names(client, parsed_args, (made,)))


class ListReservations(zone.Zoned, command.Lister):
    """List reservations of bare metal nodes"""

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = super().get_parser(prog_name)
        parser.add_argument(
            '--node',
            metavar='<node>',
            help='Only list the reservation of this node (name or UUID).')
        parser.add_argument(
            '--instance',
            metavar='<uuid>',
            help='Only list the reservation for this instance.')
        parser.add_argument(
            '--project',
            metavar='<project>',
            help='Only list reservations of this project (ID).')
        options.add_page(parser, 'reservation', 'UUID', (
            ', 0 for no limit. Default is the maximum number used by the '
            'service.'))
        parser.add_argument(
            '--sort',
            metavar='<key>[:<direction>]',
            help='Sort output by specified reservation fields and directions '
                 '(asc or desc) (default: asc). Multiple fields and '
                 'directions can be specified, separated by comma.')
        display_group = parser.add_mutually_exclusive_group(required=False)
        display_group.add_argument(
            '--long',
            default=False,
            help='Show detailed information about the reservations.',
            action='store_true')
        _add_fields(display_group, "Cannot be used with '--long'.")
        return parser

    def take_action(self, parsed_args: argparse.Namespace) -> Columns:
        client = self.app.client_manager.baremetal
        options.check_page(parsed_args)
        sorting = [key.partition(':')
                   for key in (parsed_args.sort or '').split(',') if key]
        shown = (DETAILED_FIELDS if parsed_args.long
                 else _fields(parsed_args) or FIELDS)
        # NOTE: what is sorted by is fetched too, else it cannot be sorted by.
        fetched = (list(dict.fromkeys([*shown, *(k for k, _, _ in sorting)]))
                   if parsed_args.fields else None)
        found = reservation.ReservationManager(client).list(
            node=(named_nodes.node_uuid(client, parsed_args.node)
                  if parsed_args.node else None),
            instance=parsed_args.instance, project=parsed_args.project,
            limit=parsed_args.limit, marker=parsed_args.marker,
            sort_key=sorting[0][0] if sorting else None,
            sort_dir=(sorting[0][2] or None) if sorting else None,
            fields=fetched)
        # NOTE: the service sorts by one field, so that pages fit together;
        # the other fields order what it has given.
        if len(sorting) > 1:
            found = osc_utils.sort_items(found, parsed_args.sort)
        names = (_names(client, parsed_args, found)
                 if 'node_uuid' in shown else {})
        return shown, (
            [_cell(names, column, value) for column, value in zip(
                shown, osc_utils.get_item_properties(item, shown),
                strict=True)] for item in found)


class ShowReservation(zone.Zoned, command.ShowOne):
    """Show a reservation of a bare metal node"""

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = super().get_parser(prog_name)
        _add_reservation(parser)
        _add_fields(parser)
        return parser

    def take_action(self, parsed_args: argparse.Namespace) -> Columns:
        client = self.app.client_manager.baremetal
        fields = _fields(parsed_args)
        found = reservation.ReservationManager(client).get(
            parsed_args.reservation, fields=fields)
        return _shown(found, fields, _names(client, parsed_args, (found,)))


class RenewReservation(zone.Zoned, command.ShowOne):
    """Set anew when a reservation expires"""

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = super().get_parser(prog_name)
        _add_reservation(parser)
        _add_times(parser, required=True)
        return parser

    def take_action(self, parsed_args: argparse.Namespace) -> Columns:
        client = self.app.client_manager.baremetal
        renewed = reservation.ReservationManager(client).renew(
            parsed_args.reservation, ttl=parsed_args.ttl,
            expires_at=parsed_args.expires_at)
        return _shown(renewed,
                      names=_names(client, parsed_args, (renewed,)))


class DeleteReservation(deletion.Deletion):
    """Give reserved bare metal nodes back"""

    thing = 'reservation'
    named = 'UUIDs of the reservations to delete.'

    def delete(self, client: Any, ident: str) -> None:
        """Delete one reservation."""
        reservation.ReservationManager(client).delete(ident)


class DeployReservation(json_refusals.JsonRefusals, command.ShowOne):
    """Deploy the nodes of a reservation or lease, which is the proof"""

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = super().get_parser(prog_name)
        parser.add_argument(
            'reservation',
            metavar='<reservation>',
            help='UUID of the reservation, or name or ID of a lease, or ID of '
                 'a reservation of a lease.')
        which = parser.add_mutually_exclusive_group()
        which.add_argument(
            '--node',
            metavar='<node>',
            action='append',
            default=[],
            help='Name or UUID of a node of the lease, if not all of its '
                 'nodes are to be deployed. Can be specified multiple times.')
        which.add_argument(
            '--all',
            action='store_true',
            help='All nodes of the lease. Nodes that are active stay as they '
                 'are.')
        parser.add_argument(
            '--image',
            metavar='<image>',
            help='Image to deploy: a URL, or the ID of an image of the image '
                 'service (image_source in instance_info of the node).')
        parser.add_argument(
            '--image-checksum',
            metavar='<checksum>',
            help='Checksum of the image, or the URL of a file with checksums '
                 '(image_checksum in instance_info of the node).')
        parser.add_argument(
            '--instance-info',
            metavar='<key>=<value>',
            action='append',
            default=[],
            type=_key_and_value,
            help='Another value in instance_info of the node, for example '
                 'kernel=<URL>. Can be specified multiple times.')
        parser.add_argument(
            '--config-drive',
            metavar='<config-drive>',
            default=None,
            help=baremetal_node.CONFIG_DRIVE_ARG_HELP)
        parser.add_argument(
            '--deploy-steps',
            metavar='<deploy-steps>',
            default=None,
            help='The deploy steps. May be the path to a YAML file '
                 "containing the deploy steps; OR '-', with the deploy steps "
                 'being read from standard input; OR a JSON string. The '
                 'value should be a list of deploy-step dictionaries; each '
                 "dictionary should have keys 'interface' and 'step', and "
                 "optional key 'args'.")
        options.add_wait(parser,
                         'the nodes to reach the desired state, active')
        return parser

    def take_action(self, parsed_args: argparse.Namespace) -> Columns:
        client = self.app.client_manager.baremetal
        options.check_wait(parsed_args)
        wanted = _wanted(parsed_args)
        ident, nodes = parsed_args.reservation, parsed_args.node
        try:
            of = deployment.promised(client, ident)
        except exc.NotFound:
            # NOTE: the proof of a lease of another project, which this
            # caller does not see, opens a node that is named with it.
            if len(nodes) != 1 or not uuidutils.is_uuid_like(ident):
                raise
            uuid = named_nodes.node_uuid(client, nodes[0])
            of = deployment.Promised(ident, {uuid: ident})
        if of.lease is not None:
            return self.dict2columns(lease_nodes.deploy(
                client, lease_nodes.chosen(client, of, nodes,
                                           parsed_args.all),
                wanted, parsed_args.wait_timeout))
        return self._one(client, of, wanted, parsed_args)

    def _one(self, client: Any, of: deployment.Promised,
             wanted: deployment.Wanted, parsed_args: argparse.Namespace
             ) -> Columns:
        (reserved, proof), = of.proofs.items()
        for ident in parsed_args.node:
            if named_nodes.node_uuid(client, ident) != reserved:
                raise exc.CommandError(
                    f'Node {ident} is not the one of the {of.title}, which '
                    f'is {reserved}.')
        timeout = parsed_args.wait_timeout
        if timeout is not None:
            # NOTE: not on stdout, which a program may read.
            print('Waiting for provision state active on the node of '
                  f'{of.title}', file=sys.stderr)
        reservation.ReservationManager(client).deploy(
            proof, configdrive=wanted.configdrive,
            deploysteps=wanted.deploysteps, wait=timeout, node=reserved,
            instance_info=wanted.instance_info)
        node = client.node.get(reserved, fields=[
            'uuid', 'name', 'provision_state', 'target_provision_state',
            'instance_uuid'])
        return self.dict2columns({
            'reservation_uuid': proof, 'node_uuid': node.uuid,
            'node_name': node.name, 'instance_uuid': node.instance_uuid,
            'provision_state': node.provision_state,
            'target_provision_state': node.target_provision_state})


def _add_reservation(parser: argparse.ArgumentParser) -> None:
    parser.add_argument('reservation', metavar='<reservation>',
                        help='UUID of the reservation.')


def _add_times(parser: argparse.ArgumentParser,
               required: bool = False) -> None:
    group = parser.add_mutually_exclusive_group(required=required)
    default = '' if required else ' Default is set by the service.'
    group.add_argument(
        '--ttl', metavar='<seconds>', type=int,
        help=f'Seconds from now until the reservation expires.{default}')
    group.add_argument(
        '--expires-at', metavar='<time>',
        help='Time at which the reservation expires, in ISO 8601 with a zone '
             '(2030-01-31T12:00:00Z).')


def _add_fields(parser: Any, remark: str = '') -> None:
    parser.add_argument(
        '--fields',
        nargs='+',
        dest='fields',
        metavar='<field>',
        action='append',
        choices=DETAILED_FIELDS,
        default=[],
        help='One or more reservation fields. Only these fields will be '
             f'fetched from the server. {remark}'.rstrip())


def _fields(parsed_args: argparse.Namespace) -> list[str] | None:
    return list(dict.fromkeys(
        itertools.chain.from_iterable(parsed_args.fields))) or None


class NodeName(columns.FormattableColumn[str]):
    """The UUID of a node, with its name in a table.

    :param name: of the node.
    """

    def __init__(self, value: str, name: str) -> None:
        super().__init__(value)
        self._name = name

    def with_value(self, value: str) -> NodeName:
        """Return a column with another value, and the same name."""
        return NodeName(value, self._name)

    def human_readable(self) -> str:
        """Return both."""
        return f'{self._name} ({self._value})'


def _names(client: Any, parsed_args: argparse.Namespace,
           found: Iterable[reservation.Reservation]) -> dict[str, str]:
    """Return the names of the nodes of reservations, if a table is shown."""
    if parsed_args.formatter != 'table':
        return {}
    return named_nodes.names(client, {
        each.node_uuid for each in found
        if getattr(each, 'node_uuid', None)})


def _cell(names: Mapping[str, str], column: str, value: Any) -> Any:
    return (NodeName(value, names[value])
            if column == 'node_uuid' and value in names else value)


def _shown(item: reservation.Reservation,
           fields: Sequence[str] | None = None,
           names: Mapping[str, str] | None = None) -> Columns:
    # NOTE: what an older server does not tell is left out, not shown empty.
    told = item.to_dict()
    shown = [name for name in fields or DETAILED_FIELDS if name in told]
    return shown, [_cell(names or {}, name, told[name]) for name in shown]


def _key_and_value(text: str) -> tuple[str, str]:
    key, equals, value = text.partition('=')
    if not key or not equals:
        raise argparse.ArgumentTypeError(
            f'{text!r} is not written as <key>=<value>')
    return key, value


def _wanted(parsed_args: argparse.Namespace) -> deployment.Wanted:
    info = dict(parsed_args.instance_info)
    for name, value in (('image_source', parsed_args.image),
                        ('image_checksum', parsed_args.image_checksum)):
        if value is not None:
            info[name] = value
    return deployment.Wanted(
        instance_info=info,
        configdrive=_config_drive(parsed_args.config_drive),
        deploysteps=utils.handle_json_arg(parsed_args.deploy_steps,
                                          'deploy steps'))


def _config_drive(text: str | None) -> Any:
    try:
        drive = json.loads(text or '')
    except ValueError:
        return text
    return drive if isinstance(drive, dict) else text
