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

"""Determines the private flavors of leases."""

from __future__ import annotations

from collections.abc import Collection
from collections.abc import Iterable
import dataclasses

import sqlalchemy as sa

from ironic_reservations.db import instance_reservations as db_instances
from ironic_reservations.db import nodes as db_nodes
from ironic_reservations.engine import Engine
from ironic_reservations.features.placement.lease_providers import machine
from ironic_reservations.model import flavors
from ironic_reservations.model import instance_flavors
from ironic_reservations.model import instance_reservations
from ironic_reservations.model import mirrored_node


def read(engine: Engine, reservation_id: str,
         hosts: Collection[str]) -> machine.DesiredFlavor:
    """Return the flavor of an active lease reservation.

    :param reservation_id: the id of a reservation of instances or of hosts.
    :param hosts: the uuids of its hosts.
    """
    with engine.database.read() as connection:
        return desired(connection, db_instances.read(
            connection, reservation_id), hosts)


def desired(connection: sa.Connection,
            instances: instance_reservations.InstanceReservation | None,
            hosts: Collection[str]) -> machine.DesiredFlavor:
    """Return the flavor of a lease reservation.

    :param instances: ``None``: it reserves whole hosts.
    :param hosts: the uuids of its hosts.
    """
    nodes = db_nodes.read_nodes(connection, hosts, with_traits=False).values()
    return (of_hosts(nodes) if instances is None else
            of_instances(instances, any(node.compute for node in nodes)))


def of_instances(wanted: instance_reservations.InstanceReservation,
                 shared: bool) -> machine.DesiredFlavor:
    """Return the flavor for the instances of a reservation.

    The hold covers a whole node of Ironic, or all resources that the requested
    flavor needs of a compute host, so that only the traits remain to be
    requested.

    :param shared: whether any of the hosts is a compute host.
    """
    flavor, request = wanted.flavor, wanted.request
    made = machine.DesiredFlavor(wanted.vcpus, wanted.memory_mb,
                                 wanted.disk_gb, shared=shared)
    if request is not None:
        made = dataclasses.replace(
            made, covered=made.covered | request.totals().keys(),
            extra_specs=instance_flavors.extra_specs(request, flavor))
    return made if flavor is None else dataclasses.replace(
        made, ephemeral_gb=flavor.ephemeral_gb, swap_mb=flavor.swap_mb)


def of_hosts(nodes: Iterable[mirrored_node.Node]) -> machine.DesiredFlavor:
    """Return the flavor for servers on whole nodes of Ironic.

    It has the size of the smallest node, which Nova compares with the
    requirements of images. It is not changed when hosts are replaced.
    """
    sizes = [dict(node.properties) for node in nodes]

    def smallest(name: str) -> int:
        known = [int(size[name]) for size in sizes
                 if size.get(name, '').isdecimal()]
        # An owner can write any number, and Nova would refuse the flavor.
        return min(max(1, min(known, default=1)), flavors.MAX_AMOUNT)
    return machine.DesiredFlavor(
        smallest('cpus'), smallest('memory_mb'), smallest('local_gb'),
        keeps_sizes=True)
