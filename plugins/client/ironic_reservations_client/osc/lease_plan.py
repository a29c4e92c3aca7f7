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
import datetime
import sys
from typing import Any
from typing import ClassVar

from ironicclient import exc

from ironic_reservations_client import host
from ironic_reservations_client import lease
from ironic_reservations_client import nodes
from ironic_reservations_client.charts import lease as chart
from ironic_reservations_client.osc import options
from ironic_reservations_client.osc import zone

LEASE = options.Option('lease', 'Name or ID of the lease.')


class Planned(zone.ChartCommand, metaclass=abc.ABCMeta):
    """Shows the plan of a lease.

    :cvar possible: the message of a dry run.
    """

    possible: ClassVar[str] = ''

    def planned(self, found: lease.Lease, dry_run: bool = False) -> Any:
        """Return the columns of a lease.

        :param dry_run: whether the lease was only checked, and not created or
            changed.
        """
        if dry_run:
            # Not on stdout, which a program may read.
            print(self.possible, file=sys.stderr)
        return self.dict2columns(plan(self.client, found))

    def chart(self, parsed_args: argparse.Namespace,
              shown: dict[str, Any]) -> chart.LeasePlan:
        """Return the chart of the window, the events and the nodes."""
        return chart.LeasePlan(shown, datetime.datetime.now(datetime.UTC),
                               parsed_args.local)


class ShowLeasePlan(Planned):
    """Show the window, the events and the nodes of a lease"""

    arguments = (LEASE, options.wait('the lease to start'))

    def take_action(self, parsed_args: argparse.Namespace) -> Any:
        timeout = parsed_args.wait_timeout
        manager = lease.LeaseManager(self.client)
        found = manager.find(parsed_args.lease)
        if timeout is not None:
            found = manager.wait(found.id, timeout)
        return self.planned(found)


def plan(client: Any, found: lease.Lease) -> dict[str, Any]:
    """Return a lease with the names and the states of its nodes.

    :param client: an Ironic client.
    """
    shown = found.to_dict()
    known = {uuid: {'name': node.name,
                    'provision_state': node.provision_state}
             for uuid, node in nodes.read(client, found.node_uuids).items()}
    if any('amount' in reservation and not known.keys() >= {
            node['uuid'] for node in reservation['nodes']}
           for reservation in shown['reservations']):
        known.update(_compute_hosts(client, {*found.node_uuids} - {*known}))
    for reservation in shown['reservations']:
        reservation['nodes'] = [
            {'name': None, 'provision_state': None, **node,
             **known.get(node['uuid'], {})} for node in reservation['nodes']]
    return shown


def _compute_hosts(client: Any, uuids: set[str]) -> dict[str, dict[str, Any]]:
    """Return the names and states of hosts, if the caller may list hosts."""
    try:
        hosts = host.HostManager(client).list()
    except (exc.Forbidden, exc.NotFound):
        # Only the operator sees which hosts there are.
        return {}
    return {each.node_uuid: {'name': each.shown_name,
                             'provision_state': each.status}
            for each in hosts if each.node_uuid in uuids}
