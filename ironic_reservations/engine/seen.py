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

"""What a change of the timeline rests on, as it was read.

Each change of a node's bookings raises the generation of the node.  So a
generation that still is what it was says that everything is what it was that
was read of these bookings *after* it, or at the same moment.
"""

from __future__ import annotations

from collections.abc import Collection
from collections.abc import Iterable
from collections.abc import Mapping
import dataclasses

import sqlalchemy as sa

from ironic_reservations.db import bookings as db_bookings
from ironic_reservations.db import connection as db_connection
from ironic_reservations.db import nodes as db_nodes
from ironic_reservations.model import facts
from ironic_reservations.model import leases


@dataclasses.dataclass(frozen=True)
class Seen:
    """The nodes that a decision rests on.

    :ivar generations: by the uuid of the node, each read before everything
        else that was read of its bookings, or at the same moment; 0 for a
        node that has no row yet.
    :ivar fresh: nodes of which Ironic has said since what they are; that is
        kept in the same commit.
    :ivar owners: by the uuid of the node, of which project each was, as far
        as that decides who may have it.
    """

    generations: Mapping[str, int] = dataclasses.field(default_factory=dict)
    fresh: Mapping[str, facts.Node] = dataclasses.field(default_factory=dict)
    owners: Mapping[str, str | None] = dataclasses.field(default_factory=dict)

    def also(self, *others: Seen) -> Seen:
        """Return what this and others have seen together.

        :raises Conflict: of a node they have not seen the same.
        """
        generations, fresh = dict(self.generations), dict(self.fresh)
        owners = dict(self.owners)
        for other in others:
            for uuid, generation in other.generations.items():
                if generations.setdefault(uuid, generation) != generation:
                    raise db_connection.Conflict(
                        f'node {uuid} has changed meanwhile')
            fresh.update(other.fresh)
            owners.update(other.owners)
        return Seen(generations, fresh, owners)

    def only(self, node_uuids: Collection[str]) -> Seen:
        """Return what was seen of some nodes.

        :raises Conflict: one of them was not there.
        """
        if not self.generations.keys() >= set(node_uuids):
            raise db_connection.Conflict('a node is gone')
        return Seen({uuid: self.generations[uuid] for uuid in node_uuids},
                    {uuid: node for uuid, node in self.fresh.items()
                     if uuid in node_uuids},
                    {uuid: owner for uuid, owner in self.owners.items()
                     if uuid in node_uuids})


NOTHING = Seen()


def of_nodes(nodes: Iterable[facts.Node]) -> Seen:
    """Return what nodes were when they were read, before their bookings."""
    return Seen({node.uuid: node.generation for node in nodes})


def picked(node: facts.Node, confirmed: bool) -> Seen:
    """Return one node that has been picked.

    :param node: as it was picked, with the generation that was planned on.
    :param confirmed: whether this is what Ironic says of it; otherwise it is
        what the row said, and that may have been overtaken by a poll.
    """
    fresh = {node.uuid: node} if confirmed or not node.generation else {}
    return Seen({node.uuid: node.generation}, fresh)


def read(connection: sa.Connection, node_uuids: Collection[str]) -> Seen:
    """Read the generations of nodes; comes before everything else.

    :returns: of those that there are.
    """
    return Seen(db_nodes.read_generations(connection, node_uuids))


def read_again(connection: sa.Connection,
               bookings: Collection[leases.NodeBooking]) -> Seen:
    """Read the generations of the nodes of bookings that were read before.

    Rests on nothing but these rows: what else stands on the nodes has to be
    of no account to who calls this.

    :raises Conflict: one of the bookings is no longer as it was.
    """
    there = db_bookings.read_with_generations(connection, bookings)
    if {booking for booking, _ in there} != set(bookings):
        raise db_connection.Conflict('a booking has changed meanwhile')
    return NOTHING.also(*(Seen({booking.node_uuid: generation})
                          for booking, generation in there))
