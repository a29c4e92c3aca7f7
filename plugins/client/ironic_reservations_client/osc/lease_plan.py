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

"""The command ``baremetal reservation lease plan``."""

from __future__ import annotations

import abc
import argparse
from collections.abc import Collection
import datetime
import sys
from typing import Any

from ironicclient import exc

from ironic_reservations_client import host
from ironic_reservations_client import lease
from ironic_reservations_client.charts import lease as chart
from ironic_reservations_client.osc import chart_command
from ironic_reservations_client.osc import options

#: From so many nodes on, one list of all is quicker than asking for each.
_MANY = 16
_FIELDS = ['uuid', 'name', 'provision_state']


class Planned(chart_command.ChartCommand, metaclass=abc.ABCMeta):
    """Shows the plan of a lease."""

    def planned(self, client: Any, found: lease.Lease,
                dry_run: bool = False) -> Any:
        """Return what is shown of a lease.

        :param client: an Ironic client.
        :param dry_run: whether there is no such lease, but could be.
        """
        if dry_run:
            # NOTE: not on stdout, which a program may read.
            print('The change is possible; this would be the result. Nothing '
                  'was changed.',
                  file=sys.stderr)
        return self.dict2columns(plan(client, found))

    def chart(self, parsed_args: argparse.Namespace,
              shown: dict[str, Any]) -> chart.LeasePlan:
        """Return the window, the events and the nodes."""
        return chart.LeasePlan(shown, datetime.datetime.now(datetime.UTC),
                               parsed_args.local)


class ShowLeasePlan(Planned):
    """Show which nodes a lease has, when, and what it waits for"""

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = super().get_parser(prog_name)
        parser.add_argument('lease', metavar='<lease>',
                            help='Name or ID of the lease.')
        options.add_wait(parser, 'the lease to start')
        return parser

    def take_action(self, parsed_args: argparse.Namespace) -> Any:
        timeout = parsed_args.wait_timeout
        options.check_wait(parsed_args)
        client = self.app.client_manager.baremetal
        manager = lease.LeaseManager(client)
        found = manager.find(parsed_args.lease)
        if timeout is not None:
            found = manager.wait(found.id, timeout)
        return self.planned(client, found)


def plan(client: Any, found: lease.Lease) -> dict[str, Any]:
    """Return a lease with the names and the states of its nodes.

    :param client: an Ironic client.
    """
    shown = found.to_dict()
    known = known_nodes(client, found.node_uuids)
    if any('amount' in reservation and not known.keys() >= {
            node['uuid'] for node in reservation['nodes']}
           for reservation in shown['reservations']):
        known.update(_compute_hosts(client, {*found.node_uuids} - {*known}))
    for reservation in shown['reservations']:
        reservation['nodes'] = [
            {'name': None, 'provision_state': None, **node,
             **known.get(node['uuid'], {})} for node in reservation['nodes']]
    return shown


def known_nodes(client: Any, uuids: Collection[str]
                ) -> dict[str, dict[str, Any]]:
    """Return the names and states of nodes that Ironic shows the caller.

    :param client: an Ironic client.
    """
    nodes = []
    if len(uuids) < _MANY:
        for uuid in uuids:
            try:
                nodes.append(client.node.get(uuid, fields=_FIELDS))
            except (exc.NotFound, exc.Forbidden):
                # NOTE: a member sees the nodes of a lease in Ironic from its
                # start on only, as their lessee.
                continue
    else:
        wanted = set(uuids)
        nodes = [node for node in client.node.list(limit=0, fields=_FIELDS)
                 if node.uuid in wanted]
    return {node.uuid: {'name': node.name,
                        'provision_state': node.provision_state}
            for node in nodes}


def _compute_hosts(client: Any, uuids: set[str]) -> dict[str, dict[str, Any]]:
    """Read of hosts what Ironic does not know, if the caller may."""
    try:
        hosts = host.HostManager(client).list()
    except (exc.Forbidden, exc.NotFound):
        # NOTE: only the operator sees which hosts there are.
        return {}
    return {each.node_uuid: {'name': each.shown_name,
                             'provision_state': each.status}
            for each in hosts if each.node_uuid in uuids}
