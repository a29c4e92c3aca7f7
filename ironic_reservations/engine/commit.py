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

"""The only way to change the timeline.

A use case that changes bookings, reservations, requests under way or hosts
first reads the generations of the nodes
(:mod:`~ironic_reservations.engine.seen`), then everything else that the
decision rests on, and decides.  Then, in one transaction, :func:`commit` comes
first, and the rows are written after it, each under a condition on the values
that were read.  If any of them has changed, nothing is written, and the
attempt begins again with its first read.
"""

from __future__ import annotations

import datetime

import sqlalchemy as sa

from ironic_reservations import errors
from ironic_reservations.db import changes as db_changes
from ironic_reservations.db import connection as db_connection
from ironic_reservations.db import histories as db_histories
from ironic_reservations.db import nodes as db_nodes
from ironic_reservations.engine import seen as seen_module


def commit(connection: sa.Connection, seen: seen_module.Seen,
           now: datetime.datetime,
           let_through: tuple[str, str] | None = None,
           change_id: str | None = None) -> None:
    """Write the generations of nodes.

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
                if db_histories.is_elsewhere(connection):
                    raise _elsewhere()
                raise errors.Contention(
                    f'Node {uuid} is new in this database, which has lost its '
                    'last changes a moment ago. A request of before may be on '
                    'its way to the node. Nothing was changed; try again in '
                    'some minutes.')
        elif not db_nodes.advance(connection, uuid, seen.generations[uuid],
                                  raised[uuid], node, now, token):
            raise _overtaken(
                connection, f'node {uuid} is no longer at generation '
                f'{seen.generations[uuid]}')
    if not db_nodes.advance_all(connection, {
            uuid: generation for uuid, generation in seen.generations.items()
            if uuid not in seen.fresh}, seen.step, let_through):
        raise _overtaken(connection, 'a node has changed meanwhile')
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


def _overtaken(connection: sa.Connection, why: str) -> db_connection.Conflict:
    if db_histories.is_elsewhere(connection):
        return _elsewhere()
    return db_connection.Conflict(why)


def _elsewhere() -> db_histories.Elsewhere:
    return db_histories.Elsewhere('the server of the database is another one '
                                  'than before')
