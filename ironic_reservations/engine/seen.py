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

"""The generations that a change of the timeline rests on.

Each change of a node's bookings raises the generation of the node.  So if the
generation is still the same, the bookings that were read *after* it, or in the
same snapshot, are still the same, too.

A use case that changes bookings, reservations, requests under way or hosts
first reads the generations of the nodes, then everything else that the
decision rests on, and decides.  Then, in one transaction, :func:`advance`
comes first, and the rows are written after it, each under a condition on the
values that were read.  If any of them has changed, nothing is written, and the
attempt begins again with its first read.
"""

from __future__ import annotations

from collections.abc import Collection
from collections.abc import Iterable
from collections.abc import Mapping
import dataclasses
import datetime

import sqlalchemy as sa

from ironic_reservations import errors
from ironic_reservations.db import bookings as db_bookings
from ironic_reservations.db import changes as db_changes
from ironic_reservations.db import connection as db_connection
from ironic_reservations.db import generations as db_generations
from ironic_reservations.db import histories as db_histories
from ironic_reservations.db import nodes as db_nodes
from ironic_reservations.model import leases
from ironic_reservations.model import mirrored_node


@dataclasses.dataclass(frozen=True)
class Seen:
    """The nodes that a decision rests on.

    :ivar generations: the generations by the uuid of the node, each read
        before the bookings, or in the same snapshot; 0 for a node that has no
        row yet.
    :ivar fresh: nodes whose state was read from Ironic since; the same commit
        writes it.
    :ivar owners: the owners of nodes, by uuid, if the decision rests on them.
    :ivar step: the number that a commit adds to the generations of this
        object.
    """

    generations: Mapping[str, int] = dataclasses.field(default_factory=dict)
    fresh: Mapping[str, mirrored_node.Node] = dataclasses.field(
        default_factory=dict)
    owners: Mapping[str, str | None] = dataclasses.field(default_factory=dict)
    step: int = dataclasses.field(default_factory=db_generations.step,
                                  compare=False)

    def raised(self) -> dict[str, int]:
        """Return the generations of the nodes after a commit."""
        return {uuid: generation + self.step
                for uuid, generation in self.generations.items()}

    def also(self, *others: Seen) -> Seen:
        """Return the union of this and other objects.

        :raises Conflict: the objects have different values for a node.
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
        """Return the same object restricted to some nodes.

        :raises Conflict: there was no row for one of them.
        """
        if not self.generations.keys() >= set(node_uuids):
            raise db_connection.Conflict('a node is gone')
        return Seen({uuid: self.generations[uuid] for uuid in node_uuids},
                    {uuid: node for uuid, node in self.fresh.items()
                     if uuid in node_uuids},
                    {uuid: owner for uuid, owner in self.owners.items()
                     if uuid in node_uuids})


def of_nodes(nodes: Iterable[mirrored_node.Node]) -> Seen:
    """Return the generations of nodes that were read before their bookings."""
    return Seen({node.uuid: node.generation for node in nodes})


def picked(node: mirrored_node.Node, confirmed: bool) -> Seen:
    """Return the generation of a node that has been picked.

    :param node: as it was picked, with the generation that the plan rests on.
    :param confirmed: whether the node was read from Ironic; a poll may already
        have replaced values that were read from its row.
    """
    fresh = {node.uuid: node} if confirmed or not node.generation else {}
    return Seen({node.uuid: node.generation}, fresh)


def read(connection: sa.Connection, node_uuids: Collection[str]) -> Seen:
    """Read the generations of nodes, before everything else.

    :returns: the generations of the nodes that have a row.
    """
    return Seen(db_nodes.read_generations(connection, node_uuids))


def read_again(connection: sa.Connection,
               bookings: Collection[leases.NodeBooking]) -> Seen:
    """Read the generations of the nodes of bookings that were read before.

    This is for decisions that rest on these bookings alone, not on other
    bookings of the same nodes.

    :raises Conflict: one of the bookings has changed since.
    """
    there = db_bookings.read_with_generations(connection, bookings)
    if {booking for booking, _ in there} != set(bookings):
        raise db_connection.Conflict('a booking has changed meanwhile')
    return Seen().also(*(Seen({booking.node_uuid: generation})
                         for booking, generation in there))


def advance(connection: sa.Connection, seen: Seen, now: datetime.datetime,
            let_through: tuple[str, str] | None = None,
            change_id: str | None = None) -> None:
    """Raise the generations of nodes, if none of them has changed.

    This comes first in a transaction that writes bookings of these nodes:
    until the transaction ends, no other one can write bookings of them.

    :param now: the time of the decision.
    :param let_through: a node, and the token of the request that is let
        through to it.
    :param change_id: the id of the request, by which a lost COMMIT is found.
    :raises Conflict: a node has changed since it was read.
    """
    raised = seen.raised()
    for uuid, node in seen.fresh.items():
        token = (let_through[1] if let_through and let_through[0] == uuid
                 else None)
        if not seen.generations[uuid]:
            # If two transactions add the same node, its unique uuid lets one
            # of them through.
            if not db_nodes.insert_node(connection, node, now, token):
                _check_server(connection)
                raise errors.Contention(
                    f'Node {uuid} is new in this database, which has lost its '
                    'last changes a moment ago. A request of before may be on '
                    'its way to the node. Nothing was changed; try again in '
                    'some minutes.')
        elif not db_nodes.advance(connection, uuid, seen.generations[uuid],
                                  raised[uuid], node, now, token):
            _check_server(connection)
            raise db_connection.Conflict(
                f'node {uuid} is no longer at generation '
                f'{seen.generations[uuid]}')
    if not db_nodes.advance_all(connection, {
            uuid: generation for uuid, generation in seen.generations.items()
            if uuid not in seen.fresh}, seen.step, let_through):
        _check_server(connection)
        raise db_connection.Conflict('a node has changed meanwhile')
    # A new owner raises no generation.  This transaction has locked the rows,
    # so the owners that are read here stay until it ends.
    owners = {uuid: owner for uuid, owner in seen.owners.items()
              if uuid not in seen.fresh}
    if owners and db_nodes.read_owners(connection, owners.keys()) != owners:
        raise db_connection.Conflict('a node has another owner meanwhile')
    # A node without a row has never been promised.
    db_changes.insert(connection, {
        uuid: raised[uuid] for uuid, generation in seen.generations.items()
        if generation}, change_id)


def _check_server(connection: sa.Connection) -> None:
    """Check that the server of the database is the same as before.

    :raises Elsewhere: it is another one.
    """
    if db_histories.is_elsewhere(connection):
        raise db_histories.Elsewhere('the server of the database is another '
                                     'one than before')
