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
from typing import Any
import uuid

from ironicclient import exc
from ironicclient.common import utils
from ironicclient.osc.v1 import baremetal_node
from osc_lib.command import command
from oslo_utils import uuidutils

from ironic_reservations_client import deployment
from ironic_reservations_client import fields
from ironic_reservations_client import nodes
from ironic_reservations_client import reservation
from ironic_reservations_client import resources
from ironic_reservations_client.osc import base
from ironic_reservations_client.osc import cells
from ironic_reservations_client.osc import deployment as deploying
from ironic_reservations_client.osc import hints
from ironic_reservations_client.osc import options
from ironic_reservations_client.osc import typed
from ironic_reservations_client.osc import zone

FIELDS = resources.RESERVATION.columns(fields.Shown.ALWAYS)
DETAILED_FIELDS = resources.RESERVATION.columns(fields.Shown.LONG)
#: The fields of which one has to choose a node.
_CHOOSING = ('node_uuid', 'resource_class', 'traits', 'flavor')

_RESERVATION = options.Option('reservation', 'UUID of the reservation.')
_FIELDS = {'nargs': '+', 'metavar': '<field>', 'action': 'append',
           'choices': DETAILED_FIELDS, 'default': []}
_ONLY = ('One or more reservation fields. Only these fields will be fetched '
         'from the server.')


class CreateReservation(zone.Zoned, command.ShowOne):
    """Reserve a bare metal node"""

    arguments = (
        *options.of(resources.RESERVATION, 'create', 'node_uuid',
                    'instance_uuid', 'uuid'),
        options.OneOf(*options.of(resources.RESERVATION, 'create', 'ttl',
                                  'expires_at')),
        *options.of(resources.RESERVATION, 'create', 'resource_class',
                    'traits', 'flavor'),
        options.wait('a node to become free'))

    def take_action(self, parsed_args: argparse.Namespace) -> base.Columns:
        given = resources.RESERVATION.read(vars(parsed_args), 'create')
        if not any(given[name] for name in _CHOOSING):
            raise exc.CommandError(
                'No node was named. Name at least one, or use '
                '--resource-class, --trait or --flavor-file to let the '
                'service choose.')
        given.update(
            instance_uuid=given['instance_uuid'] or str(uuid.uuid4()),
            node_uuid=[nodes.uuid_of(self.client, node)
                       for node in given['node_uuid']] or None,
            traits=given['traits'] or None,
            flavor=typed.flavor(given['flavor']))
        with (hints.if_unknown(
                'It is not known whether a node was reserved: "reservation '
                f'list --instance {given["instance_uuid"]}" lists the '
                'reservation. With the same --instance, the command can be '
                'repeated safely.'),
              nodes.named_in_refusals(self.client)):
            made = reservation.ReservationManager(self.client).create(
                **given, wait=parsed_args.wait_timeout)
        return _shown(self.client, parsed_args, made)


class ListReservations(zone.Zoned, command.Lister):
    """List reservations of bare metal nodes"""

    arguments = (
        options.Option('--node', 'Only list the reservation of this node '
                       '(name or UUID).'),
        options.Option(
            '--instance', 'Only list the reservation for this instance.',
            metavar='<uuid>'),
        options.Option('--project',
                       'Only list reservations of this project (ID).'),
        *options.page('reservation', 'UUID', (
            ', 0 for no limit. Default is the maximum number used by the '
            'service.')),
        options.SORT,
        options.OneOf(
            options.Option(
                '--long', 'Show detailed information about the '
                'reservations.', **options.FLAG),
            options.Option('--fields', f"{_ONLY} Cannot be used with "
                           "'--long'.", **_FIELDS)))

    def take_action(self, parsed_args: argparse.Namespace) -> base.Columns:
        sorting = [key.partition(':')
                   for key in (parsed_args.sort or '').split(',') if key]
        shown = (DETAILED_FIELDS if parsed_args.long
                 else _fields(parsed_args) or FIELDS)
        # A field that was not fetched cannot be sorted by.
        fetched = (list(dict.fromkeys([*shown, *(k for k, _, _ in sorting)]))
                   if parsed_args.fields else None)
        found = reservation.ReservationManager(self.client).list(
            node=(nodes.uuid_of(self.client, parsed_args.node)
                  if parsed_args.node else None),
            instance=parsed_args.instance, project=parsed_args.project,
            limit=parsed_args.limit, marker=parsed_args.marker,
            sort_key=sorting[0][0] if sorting else None,
            sort_dir=(sorting[0][2] or None) if sorting else None,
            fields=fetched)
        # The service sorts by one field, so that pages fit together; the
        # other fields order the result.
        if len(sorting) > 1:
            found = options.in_order(
                found, parsed_args.sort, DETAILED_FIELDS,
                lambda one, name: getattr(one, name, None))
        names = (_names(self.client, parsed_args, found)
                 if 'node_uuid' in shown else {})
        return shown, (
            [_cell(names, column, getattr(item, column, ''))
             for column in shown] for item in found)


class ShowReservation(zone.Zoned, command.ShowOne):
    """Show a reservation of a bare metal node"""

    arguments = (_RESERVATION, options.Option('--fields', _ONLY, **_FIELDS))

    def take_action(self, parsed_args: argparse.Namespace) -> base.Columns:
        chosen = _fields(parsed_args)
        found = reservation.ReservationManager(self.client).get(
            parsed_args.reservation, fields=chosen)
        return _shown(self.client, parsed_args, found, chosen)


class RenewReservation(zone.Zoned, command.ShowOne):
    """Extend or shorten a reservation"""

    arguments = (_RESERVATION, options.OneOf(
        *options.of(resources.RESERVATION, 'change', 'ttl', 'expires_at'),
        required=True))

    def take_action(self, parsed_args: argparse.Namespace) -> base.Columns:
        renewed = reservation.ReservationManager(self.client).renew(
            parsed_args.reservation,
            **resources.RESERVATION.read(vars(parsed_args), 'change'))
        return _shown(self.client, parsed_args, renewed)


class DeleteReservation(base.Deletion):
    """Delete reservations, which gives their nodes back"""

    manager = reservation.ReservationManager
    thing = 'reservation'
    arguments = (
        base.named(thing, 'UUIDs of the reservations to delete.'),)


class DeployReservation(base.Command, command.ShowOne):
    """Deploy the nodes of a reservation or lease, with its proof.

    Active nodes stay as they are, so that the command can be repeated.
    """

    arguments = (
        options.Option(
            'reservation', 'UUID of the reservation, or name or ID of a '
            'lease, or ID of a reservation of a lease.'),
        options.OneOf(
            options.Option(
                '--node', 'Deploy only this node of the lease (name or '
                'UUID). Can be specified multiple times.', **options.MANY),
            options.Option(
                '--all', 'Deploy all nodes of the lease.', **options.FLAG)),
        options.Option(
            '--image', 'Image to deploy: a URL, or the ID of an image of the '
            'image service (image_source in instance_info of the node).'),
        options.Option(
            '--image-checksum', 'Checksum of the image, or the URL of a file '
            'with checksums (image_checksum in instance_info of the node).',
            metavar='<checksum>'),
        options.Option(
            '--instance-info', 'Another value in instance_info of the node, '
            'for example kernel=<URL>. Can be specified multiple times.',
            metavar='<key>=<value>', **options.MANY,
            type=typed.pair('is not written as <key>=<value>')),
        options.Option(
            '--config-drive', baremetal_node.CONFIG_DRIVE_ARG_HELP),
        options.Option(
            '--deploy-steps', 'The deploy steps. May be the path to a YAML '
            "file containing the deploy steps; OR '-', with the deploy steps "
            'being read from standard input; OR a JSON string. The value '
            'should be a list of deploy-step dictionaries; each dictionary '
            "should have keys 'interface' and 'step', and optional key "
            "'args'."),
        options.wait('the nodes to reach the desired state, active'))

    def take_action(self, parsed_args: argparse.Namespace) -> base.Columns:
        settings = _settings(parsed_args)
        ident, named = parsed_args.reservation, parsed_args.node
        try:
            of = deployment.promised(self.client, ident)
        except exc.NotFound:
            # The proof of a lease of another project, which this caller does
            # not see, opens a node that is named with it.
            if len(named) != 1 or not uuidutils.is_uuid_like(ident):
                raise
            of = deployment.Promised(
                ident, {nodes.uuid_of(self.client, named[0]): ident})
        of = deploying.chosen(self.client, of, named, parsed_args.all)
        return self.dict2columns(deploying.deploy(
            self.client, of, settings, parsed_args.wait_timeout,
            detailed=parsed_args.formatter == 'json'))


def _fields(parsed_args: argparse.Namespace) -> list[str] | None:
    return list(dict.fromkeys(
        itertools.chain.from_iterable(parsed_args.fields))) or None


def _names(client: Any, parsed_args: argparse.Namespace,
           found: Iterable[reservation.Reservation]) -> dict[str, str]:
    """Return the names of the nodes of reservations; empty without a table."""
    if parsed_args.formatter != 'table':
        return {}
    return nodes.names(client, {
        each.node_uuid for each in found
        if getattr(each, 'node_uuid', None)})


def _cell(names: Mapping[str, str], column: str, value: Any) -> Any:
    if column != 'node_uuid' or value not in names:
        return value
    return cells.Cell(value, lambda uuid: f'{names[value]} ({uuid})')


def _shown(client: Any, parsed_args: argparse.Namespace,
           item: reservation.Reservation,
           chosen: Sequence[str] | None = None) -> base.Columns:
    found = item.to_dict()
    names = _names(client, parsed_args, (item,))
    shown = chosen or DETAILED_FIELDS
    return shown, [_cell(names, name, found[name]) for name in shown]


def _settings(parsed_args: argparse.Namespace) -> dict[str, Any]:
    """Return the settings of a deployment."""
    info = dict(parsed_args.instance_info)
    for name, value in (('image_source', parsed_args.image),
                        ('image_checksum', parsed_args.image_checksum)):
        if value is not None:
            info[name] = value
    return {'instance_info': info,
            'configdrive': _config_drive(parsed_args.config_drive),
            'deploysteps': utils.handle_json_arg(parsed_args.deploy_steps,
                                                 'deploy steps')}


def _config_drive(text: str | None) -> Any:
    try:
        drive = json.loads(text or '')
    except ValueError:
        return text
    return drive if isinstance(drive, dict) else text
