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


"""Hosts with leases on them, many at a time: rows, written as they stand.

Every window lies ahead, so that nothing begins or ends while it is measured.
"""

from __future__ import annotations

from collections.abc import Iterable
from collections.abc import Mapping
from collections.abc import Sequence
import datetime
import json
import random
from typing import Any
import uuid

import sqlalchemy as sa

from benchmarks import ground
from benchmarks import over
from ironic_reservations.db import tables

#: The windows lie within as many hours from the first one.
HOURS = 90 * 24
_AT_ONCE = 5000


def fill(url: str, nodes: int, bookings: int, together: int,
         begin: datetime.datetime) -> None:
    """Write nodes that are hosts, and leases on them.

    Each node has the same number of bookings, in windows drawn at random.

    :param together: how many nodes a lease has.
    :param begin: before this nothing starts.
    """
    rows = Rows(begin)
    uuids = [rows.node() for _ in range(nodes)]
    for first in range(0, nodes, together):
        rows.leases(uuids[first:first + together], bookings // nodes)
    rows.write(url)


def start_together(url: str, nodes: Sequence[str], project_id: str,
                   begin: datetime.datetime, end: datetime.datetime) -> None:
    """Make hosts of nodes that are mirrored, each with a lease of its own.

    :param begin: the leases start in the minute after this.
    """
    rows = Rows(begin)
    for number, node in enumerate(nodes):
        rows.host(node)
        rows.lease([node], begin + datetime.timedelta(
            milliseconds=60_000 * number // len(nodes)), end, project_id)
    rows.write(url)


class Rows:
    """Rows to be written, by table.

    :param begin: before this nothing starts.
    """

    def __init__(self, begin: datetime.datetime) -> None:
        self.there: dict[sa.Table, list[dict[str, Any]]] = {
            tables.nodes: [], tables.node_traits: [], tables.hosts: [],
            tables.leases: [],
            tables.lease_reservations: [], tables.lease_events: [],
            tables.reservations: []}
        self._begin = begin
        self._chance = random.Random(7)
        self._made = begin - datetime.timedelta(days=1)

    def node(self, resource_class: str = ground.RESOURCE_CLASS,
             properties: Mapping[str, str] | None = None,
             traits: Iterable[str] = ()) -> str:
        """Add a node of Ironic as a host; return its uuid."""
        made = self._node(provision_state='available',
                          resource_class=resource_class,
                          properties=json.dumps(properties or {}))
        self.there[tables.node_traits].extend(
            {'node_uuid': made, 'trait': each} for each in traits)
        return made

    def compute_host(self, totals: Mapping[str, int]) -> str:
        """Add a compute host with some inventories; return its uuid."""
        return self._node(inventories=json.dumps({
            name: {'total': total, 'max_unit': total}
            for name, total in totals.items()}))

    def _node(self, **columns: str) -> str:
        made = str(uuid.uuid4())
        self.there[tables.nodes].append({
            'uuid': made, 'name': f'host-{made}', 'generation': 1,
            'maintenance': False, 'retired': False, 'reservable': True,
            'observed_at': self._made, 'provision_state': None,
            'resource_class': None, 'properties': None, 'inventories': None,
            **columns})
        self.host(made)
        return made

    def host(self, node: str) -> None:
        """Have a node be a host."""
        self.there[tables.hosts].append({
            'node_uuid': node, 'reservable': True, 'created_at': self._made})

    def leases(self, nodes: Sequence[str], count: int,
               properties: Sequence[str] = ('',)) -> None:
        """Add leases that each have all of some nodes, one after another.

        :param properties: what they ask for, in turns.
        """
        cuts = sorted(self._chance.sample(range(HOURS), 2 * count))
        for number, (start, end) in enumerate(
                zip(cuts[::2], cuts[1::2], strict=True)):
            self.lease_between(nodes, start, end,
                               properties[number % len(properties)])

    def lease_between(self, nodes: Sequence[str], start: int, end: int,
                      properties: str = '') -> None:
        """Add a lease that has some nodes between two hours."""
        self.lease(nodes, self._begin + datetime.timedelta(hours=start),
                   self._begin + datetime.timedelta(hours=end), None,
                   properties)

    def lease(self, nodes: Sequence[str], start: datetime.datetime,
              end: datetime.datetime, project_id: str | None = None,
              properties: str = '') -> None:
        """Add a lease that has some nodes."""
        lease, reservation = str(uuid.uuid4()), str(uuid.uuid4())
        told = max(start, end - datetime.timedelta(hours=1))
        self.there[tables.leases].append({
            'id': lease, 'name': f'lease {lease[:8]}', 'generation': 1,
            'project_id': project_id,
            'starts_at': start, 'ends_at': end, 'before_end_at': told,
            'status': 'PENDING', 'degraded': False, 'due_at': start,
            'created_at': self._made, 'attempts': 0})
        self.there[tables.lease_reservations].append({
            'id': reservation, 'lease_id': lease, 'place': 0,
            'resource_type': 'physical:host', 'resource_id': lease,
            'status': 'pending', 'least': len(nodes), 'most': len(nodes),
            'hypervisor_properties': '', 'resource_properties': properties,
            'before_end': 'default', 'missing_resources': False,
            'resources_changed': False, 'created_at': self._made})
        self.there[tables.lease_events].extend(
            {'id': str(uuid.uuid4()), 'lease_id': lease, 'event_type': kind,
             'time': time, 'status': 'UNDONE', 'created_at': self._made}
            for kind, time in (('start_lease', start),
                               ('before_end_lease', told),
                               ('end_lease', end)))
        self.there[tables.reservations].extend(
            {'uuid': str(uuid.uuid4()), 'node_uuid': node,
             'created_at': self._made, 'starts_at': start, 'expires_at': end,
             'state': 'planned', 'lease_reservation_id': reservation,
             'place': place} for place, node in enumerate(nodes))

    def write(self, url: str) -> None:
        """Write all of it to a database, many rows at a time."""
        engine = sa.create_engine(url, poolclass=sa.NullPool)
        with engine.begin() as connection:
            for table, there in self.there.items():
                for place in range(0, len(there), _AT_ONCE):
                    connection.execute(sa.insert(table),
                                       there[place:place + _AT_ONCE])
            # NOTE: so that who has read them already reads them again.
            connection.execute(sa.update(tables.nodes).values(
                generation=tables.nodes.c.generation + 1))
        # NOTE: a database that has grown to this knows how many rows it has;
        # one that was filled a moment ago may plan as if it were empty.
        over.count_rows(engine)
