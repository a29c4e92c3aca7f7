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

"""From the rows and from Ironic to a pick, for whoever commits it."""

from __future__ import annotations

from collections.abc import Mapping
from collections.abc import Sequence
import dataclasses
import datetime
import uuid as uuid_module

import sqlalchemy as sa

from ironic_reservations import errors
from ironic_reservations.clouds import ironic as ironic_client
from ironic_reservations.db import connection as db_connection
from ironic_reservations.db import nodes as db_nodes
from ironic_reservations.db import passages as db_passages
from ironic_reservations.db import reservations as db_reservations
from ironic_reservations.engine import Engine
from ironic_reservations.engine import observe
from ironic_reservations.planner import facts
from ironic_reservations.planner import pick
from ironic_reservations.planner import reasons

#: How many nodes a pick by class looks at before it asks Ironic for all.
_SAMPLE = 32
#: How many reasons a sentence tells; the structured form has all of them.
_TOLD = 20


@dataclasses.dataclass(frozen=True)
class View:
    """What was read in one go: the snapshot, and the rows behind it.

    :ivar related: reservations of the nodes, of the instance and of the
        uuid that were asked for; void ones too, since their rows are in the
        way of new ones until they are deleted.
    :ivar confirmed: whether Ironic was asked about the node that was picked.
    """

    snapshot: pick.Snapshot
    related: Sequence[facts.Reservation]
    confirmed: bool = False


def look(engine: Engine, ask: pick.Ask, sees: facts.Visibility,
         now: datetime.datetime) -> View:
    """Read all that a pick depends on, in a constant number of queries."""
    with engine.database.read() as connection:
        if ask.node_uuids is None:
            # NOTE: from a place of its own, so that parallel requests do
            # not race for the same node.
            nodes = db_nodes.read_free_nodes(
                connection, ask.resource_class, ask.traits, sees, now,
                start_at=str(uuid_module.uuid4()), limit=_SAMPLE)
        else:
            nodes = db_nodes.read_nodes(connection, ask.node_uuids,
                                        with_traits=bool(ask.traits))
        listed = ask.node_uuids or tuple(nodes)
        related = db_reservations.read_related(
            connection, ask.uuid, ask.instance_uuid, listed)
        busy = db_passages.read_busy(connection, now, listed)
    return _view(nodes, related, busy, now)


def _view(nodes: Mapping[str, facts.Node],
          related: Sequence[facts.Reservation],
          busy: Mapping[str, datetime.datetime],
          now: datetime.datetime) -> View:
    held = {reservation.node_uuid: reservation for reservation in related
            if reservation.live(now)}
    occupancies = {uuid: facts.Occupancy(held.get(uuid), busy.get(uuid))
                   for uuid in {*held, *busy}}
    return View(pick.Snapshot(nodes, occupancies, now), related)


def choose(engine: Engine, ask: pick.Ask, view: View, sees: facts.Visibility,
           observer: ironic_client.Ironic | None
           ) -> tuple[facts.Node, View]:
    """Pick a node, asking Ironic where that is configured.

    :param observer: Ironic with the caller's credentials; ``None``: with
        those of this service.
    :returns: the node, with the generation to commit on (0 where it has no
        row yet), and the view that it was picked in.
    :raises NoNodeAvailable: with the reasons.
    :raises IronicUnavailable: the facts could not be confirmed.
    """
    asks_whom = observer or engine.ironic
    if asks_whom is None or engine.conf.ironic.confirm == 'mirror':
        outcome = pick.pick(ask, view.snapshot, sees)
    else:
        outcome = observe.confirmed(ask, view.snapshot, sees, asks_whom)
        if isinstance(outcome, pick.Refused) and ask.node_uuids is None:
            view = _look_wider(engine, ask, view, sees, asks_whom)
            outcome = observe.confirmed(ask, view.snapshot, sees, asks_whom)
        view = dataclasses.replace(view, confirmed=True)
    if isinstance(outcome, pick.Refused):
        raise _refusal(engine, ask, outcome, sees, view.snapshot.now)
    return outcome.node, view


def _look_wider(engine: Engine, ask: pick.Ask, view: View,
                sees: facts.Visibility,
                observer: ironic_client.Ironic) -> View:
    """Find one more candidate that Ironic knows to be free, mirrored or not.

    NOTE: the rows are read after Ironic's list, so this proves nothing yet:
    the candidate is confirmed again like any other.
    """
    filters = {'provision_state': facts.AVAILABLE, 'associated': 'false',
               'maintenance': 'false'}
    if ask.resource_class:
        filters['resource_class'] = ask.resource_class
    free = {node.uuid: node for node in observer.nodes(**filters)}
    with engine.database.read() as connection:
        known = db_nodes.read_nodes(connection, tuple(free),
                                    with_traits=False)
        held = db_reservations.read_of_nodes(connection, tuple(free))
        busy = db_passages.read_busy(connection, view.snapshot.now,
                                     tuple(free))
    nodes = {uuid: dataclasses.replace(
        node, generation=known[uuid].generation if uuid in known else 0)
        for uuid, node in free.items()}
    wider = _view(nodes, [*view.related, *held.values()], busy,
                  view.snapshot.now)
    first = pick.pick(ask, wider.snapshot, sees)
    chosen = ({first.node.uuid: first.node}
              if isinstance(first, pick.Picked) else {})
    return dataclasses.replace(wider, snapshot=dataclasses.replace(
        wider.snapshot, nodes=chosen))


def _refusal(engine: Engine, ask: pick.Ask, outcome: pick.Refused,
             sees: facts.Visibility,
             now: datetime.datetime) -> errors.NoNodeAvailable:
    if ask.node_uuids is None:
        with engine.database.read() as connection:
            counted = db_nodes.count_obstacles(
                connection, ask.resource_class, ask.traits, sees, now)
        return _refusal_by_class(ask, [reasons.Count(code, count) for
                                       code, count in sorted(counted.items())])
    told = '; '.join(f'node {reason.node_uuid} {reason.text}'
                     for reason in outcome.reasons[:_TOLD])
    more = len(outcome.reasons) - _TOLD
    if more > 0:
        told += f'; and {more} more'
    return errors.NoNodeAvailable(
        f'None of the nodes of the list can be reserved: {told}.',
        reasons=[reason.as_dict() for reason in outcome.reasons])


def _refusal_by_class(ask: pick.Ask, counts: Sequence[reasons.Count]
                      ) -> errors.NoNodeAvailable:
    wanted = ' and '.join(part for part in (
        f'the resource class {ask.resource_class}'
        if ask.resource_class else '',
        f'the traits {", ".join(sorted(ask.traits))}' if ask.traits else '')
        if part)
    listed = ', '.join(f'{count.nodes} {count.code}' for count in counts)
    return errors.NoNodeAvailable(
        f'No node with {wanted} can be reserved: '
        + (f'of those that you may see, {listed}.' if listed
           else 'you may see none.'),
        reasons=[count.as_dict() for count in counts])


def claim(connection: sa.Connection, node: facts.Node,
          now: datetime.datetime, confirmed: bool) -> None:
    """Change a node's bookings, if nobody has since the plan was made.

    Comes first in a transaction that writes bookings.

    :param node: as it was picked, with the generation that was planned on.
    :param confirmed: whether this is what Ironic says of it; otherwise it is
        what the row said, and that may have been overtaken by a poll.
    :raises Conflict: somebody has.
    """
    if node.generation == 0:
        # NOTE: of two that begin to mirror the same node, the unique uuid
        # lets one through.
        db_nodes.insert_node(connection, node, 1, now)
    elif not db_nodes.advance(connection, node.uuid, node.generation,
                              node if confirmed else None, now):
        raise db_connection.Conflict(
            f'node {node.uuid} is no longer at generation {node.generation}')
