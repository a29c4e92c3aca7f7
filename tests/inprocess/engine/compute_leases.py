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

"""Leases of instances on compute hosts."""

import dataclasses

from ironic_reservations.db import nodes as db_nodes
from tests.inprocess.engine import timelines


class ComputeTestCase(timelines.TestCase):
    """On compute hosts with 8 vcpus each; amounts below are in vcpus."""

    def places(self, lease):
        """Return how many instances of a lease each host has."""
        found = {}
        for row in self.leasing.reload(lease).bookings:
            found[row.node_uuid] = found.get(row.node_uuid, 0) + 1
        return found

    def set_vcpus(self, uuid, **changed):
        """Have Placement say something else of a host."""
        with self.engine.database.write() as connection:
            node = db_nodes.read_nodes(connection, [uuid])[uuid]
            there = dict(node.inventories)
            there['VCPU'] = dataclasses.replace(there['VCPU'], **changed)
            db_nodes.update_facts(connection, [dataclasses.replace(
                node, inventories=tuple(there.items()))], self.world.clock())
