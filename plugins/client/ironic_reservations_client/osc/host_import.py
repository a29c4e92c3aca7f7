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

"""The command ``baremetal reservation host import``."""

from __future__ import annotations

import argparse
from collections.abc import Iterable
from collections.abc import Iterator
from collections.abc import Sequence
import contextlib
import sys
import types
from typing import Any

from ironicclient import exc
from osc_lib.command import command
from rich import console
from rich import progress

from ironic_reservations_client import counted
from ironic_reservations_client import errors
from ironic_reservations_client import host
from ironic_reservations_client import nodes
from ironic_reservations_client.osc import base
from ironic_reservations_client.osc import host as host_commands
from ironic_reservations_client.osc import options

#: The number of hosts that are named.
_TOLD = 10
_EXISTS = 'host.exists'
#: Errors that every other node would get as well.
_FOR_ALL = (401, 403, 503)


class ImportHosts(base.Command, command.ShowOne):
    """Open nodes of Ironic to leases.

    Nodes that are open already stay as they are, so an interrupted run can
    be repeated.
    """
    _failed = 0

    arguments = (
        options.OneOf(
            options.Option('nodes', 'Names or UUIDs of the nodes.',
                           metavar='<node>', nargs='*', default=[]),
            options.Option('--resource-class',
                           'All nodes of this resource class.'),
            options.Option('--all', 'All nodes.', **options.FLAG),
            required=True),
        options.Option(
            '--property', 'Property to set on each host, which leases can '
            'require like the properties from Ironic. Can be specified '
            'multiple times.', metavar='<name>=<value>', **options.MANY,
            type=host_commands.capability, dest='capabilities'))

    def take_action(self, parsed_args: argparse.Namespace) -> base.Columns:
        manager = host.HostManager(self.client)
        hosts = {each.node_uuid: each for each in manager.list()}
        found, absent = _nodes(self.client, parsed_args)
        new = [node for node in found if node.uuid not in hosts]
        counts = {'imported': 0, 'hosts_already': len(found) - len(new),
                  'failed': absent}
        capabilities = dict(parsed_args.capabilities)
        _tell_of_others(hosts[node.uuid] for node in found
                        if node.uuid in hosts and not capabilities.items()
                        <= hosts[node.uuid].capabilities.items())
        try:
            for outcome in _opened(manager, new, capabilities):
                counts[outcome] += 1
        except BaseException:
            print(f"Stopped after {counts['imported']} of {len(new)} nodes; "
                  'run the same command again to continue.', file=sys.stderr)
            raise
        self._failed = counts['failed']
        return self.dict2columns(counts)

    def run(self, parsed_args: argparse.Namespace) -> int:
        """Run the command; return 1 if a node could not be opened."""
        return int(super().run(parsed_args) or bool(self._failed))


def _tell_of_others(kept: Iterable[host.Host]) -> None:
    """Write which hosts keep properties other than the requested ones."""
    names = [each.shown_name for each in kept]
    if names:
        shown = ', '.join(names[:_TOLD]) + (
            ', ...' if len(names) > _TOLD else '')
        print(f'{counted.counted(len(names), "node")} '
              f'{"was a host" if len(names) == 1 else "were hosts"} already '
              f'and {"keeps its" if len(names) == 1 else "keep their"} '
              f'properties: {shown}. Use "reservation host set --property" '
              'to change them.', file=sys.stderr)


def _nodes(client: Any,
           parsed_args: argparse.Namespace) -> tuple[list[Any], int]:
    """Return the nodes, and the number of names without a node."""
    fields = ['uuid', 'name']
    found: list[Any] = []
    if parsed_args.nodes:
        names = dict.fromkeys(parsed_args.nodes)
        for ident in names:
            try:
                found.append(nodes.get(client, ident, fields))
            except errors.NoNodes:
                # The standalone service finds a node by its name, too.
                found.append(types.SimpleNamespace(uuid=ident, name=None))
            except exc.NotFound as missing:
                print(f'{ident}: {missing}', file=sys.stderr)
        return found, len(names) - len(found)
    found = client.node.list(
        limit=0, fields=fields, resource_class=parsed_args.resource_class)
    if not found:
        raise exc.CommandError(
            'Ironic shows no node of the resource class '
            f'{parsed_args.resource_class}. "baremetal node list --fields '
            'name resource_class" shows the classes.'
            if parsed_args.resource_class else 'Ironic shows no nodes.')
    return found, 0


def _opened(manager: host.HostManager, new: Sequence[Any],
            capabilities: dict[str, str]) -> Iterator[str]:
    """Open nodes, and yield the outcome of each.

    In a terminal, a bar shows the progress.
    """
    screen = console.Console(stderr=True, highlight=False)
    with contextlib.ExitStack() as shown:
        left: Iterable[Any] = new
        if screen.is_terminal:
            # A bar that is switched off prints an empty line at its end
            # with older releases of rich.
            left = shown.enter_context(progress.Progress(
                console=screen, transient=True)).track(
                    new, description='Opening nodes to leases')
        for node in left:
            try:
                manager.create(node.uuid, capabilities)
                yield 'imported'
            except errors.Refused as refused:
                if refused.code == _EXISTS:
                    # Somebody else does the same just now.
                    yield 'hosts_already'
                    continue
                if refused.refusal.status in _FOR_ALL:
                    raise
                screen.print(f'{node.name or node.uuid}: {refused}',
                             markup=False, soft_wrap=True)
                yield 'failed'
