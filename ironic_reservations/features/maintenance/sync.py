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

"""Put nodes into maintenance in Ironic for the time of their windows.

Each change of a node is recorded before it is sent. If a process dies, the
next one therefore undoes exactly the recorded changes. Each request carries a
ticket. While the outcome of a request is unknown, no other request is sent for
the node.
"""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Mapping
import dataclasses
import datetime
import functools

from oslo_log import log
import sqlalchemy as sa

from ironic_reservations import errors
from ironic_reservations.clouds import ironic as ironic_client
from ironic_reservations.db import connection as db_connection
from ironic_reservations.db import host_views as db_host_views
from ironic_reservations.db import in_flight_requests as db_in_flight
from ironic_reservations.db import nodes as db_nodes
from ironic_reservations.engine import change
from ironic_reservations.engine import Engine
from ironic_reservations.engine import mirror
from ironic_reservations.engine import seen as seen_module
from ironic_reservations.engine.in_flight import tickets
from ironic_reservations.features.maintenance import drained
from ironic_reservations.features.maintenance import (
    holdings as holdings_module,
)
from ironic_reservations.features.maintenance import rows as db_maintenance
from ironic_reservations.model import in_flight
from ironic_reservations.model import mirrored_node
from ironic_reservations.model import node_condition
from ironic_reservations.model import node_window

LOG = log.getLogger(__name__)

_ACTS = (in_flight.Act.SET_MAINTENANCE.value,
         in_flight.Act.CLEAR_MAINTENANCE.value)
State = node_window.State
#: The maximum wait while Ironic is working on a node.
_MOST_PATIENCE = datetime.timedelta(hours=1)


def sync(engine: Engine, ironic: ironic_client.Ironic,
         continues: Callable[[], bool] = lambda: True) -> None:
    """Take the next step for each node of all windows.

    :param continues: called before each node; ``False`` ends the pass.
    """
    drained.begin_earlier(engine)
    now = engine.clock()
    with engine.database.read() as connection:
        due = db_maintenance.read_due(connection, now)
    if not due:
        return
    shown = ironic.reasons()
    silent: errors.IronicUnavailable | None = None
    for there, reason, drain in due:
        if not continues():
            return
        if _settled(there, shown) and there.ends_at > now:
            continue
        try:
            _Sync(engine, ironic, there).work(
                node_window.marked(there.window_id, reason), drain)
        except db_connection.Conflict as exc:
            LOG.debug('The maintenance of node %s is looked at again: %s',
                      there.node_uuid, exc)
        except ironic_client.Refused as exc:
            LOG.info('The maintenance of node %s waits: %s',
                     there.node_uuid, exc)
        except errors.IronicUnavailable as exc:
            # A dead conductor must not delay the nodes of others.
            silent = exc
    if silent is not None:
        raise silent


def _settled(there: node_window.NodeWindow,
             shown: Mapping[str, str | None]) -> bool:
    """Return whether a node needs no further step."""
    if there.state is State.FOREIGN:
        return (there.node_uuid in shown
                and node_window.window_of(shown[there.node_uuid]) is None)
    return there.state is State.ACTIVE and node_window.is_marked(
        there.window_id, shown.get(there.node_uuid))


class _Sync:
    """The steps for one node of one window.

    :param there: the window of the node as it was read.
    """

    def __init__(self, engine: Engine, ironic: ironic_client.Ironic,
                 there: node_window.NodeWindow) -> None:
        self._engine = engine
        self._ironic = ironic
        self._there = there

    def work(self, reason: str, drain: bool) -> None:
        """Take the next step."""
        there, now = self._there, self._engine.clock()
        over = there.ends_at <= now
        if over and not there.written:
            state = there.state
            self._write(self._read(), State.OVER)
            if state is State.PLANNED:
                LOG.warning(
                    'The maintenance window %s of node %s is over, and the '
                    'node has not been in maintenance for it: somebody had '
                    'the node, or Ironic was at work on it, until the end. '
                    'Book another window.', there.window_id, there.node_uuid)
            return
        node = self._read()
        if self._is_busy():
            return
        found = self._ironic.maintained(there.node_uuid)
        if found is None:
            # Only the mirror confirms a deletion; the node may come back.
            if over and node.provision_state == node_condition.GONE:
                self._finish(node, False)
            return
        maintained = found[0].maintenance
        ours = maintained and node_window.is_marked(there.window_id, found[1])
        if over:
            self._finish(node, ours)
        elif ours:
            self._refresh()
            self._write(self._read(), State.ACTIVE)
        elif maintained:
            # Maintenance of an operator stays; another window clears its own.
            if not self._is_of_another(found[1]):
                self._write(node, State.FOREIGN)
        elif there.state is State.FOREIGN:
            self._write(node, State.PLANNED)
        elif not (self._has_to_wait(found[0]) or (
                drain and there.state is State.PLANNED
                and self._in_use(node, found[0]))):
            self._set(node, reason)

    def _read(self) -> mirrored_node.Node:
        """Read the node, before everything else."""
        uuid = self._there.node_uuid
        with self._engine.database.read() as connection:
            known = db_nodes.read_nodes(connection, (uuid,),
                                        with_traits=False)
        if uuid not in known:
            raise db_connection.Conflict(f'node {uuid} is gone')
        return known[uuid]

    def _is_busy(self) -> bool:
        """Return whether the outcome of a request for the node is unknown.

        Unused tickets of other processes become void here. Requests that have
        reached Ironic have to end first.
        """
        uuid = self._there.node_uuid
        with self._engine.database.write() as connection:
            db_in_flight.void_acts(connection, uuid, _ACTS)
        with self._engine.database.read() as connection:
            return bool(db_in_flight.read_busy(connection, (uuid,)))

    def _is_of_another(self, shown: str | None) -> bool:
        """Return whether another window of the node has this reason."""
        uuid, now = self._there.node_uuid, self._engine.clock()
        with self._engine.database.read() as connection:
            view = db_host_views.read(connection, (uuid,), now, now,
                                      windows=True)[uuid]
        return node_window.window_of(shown) in {
            each.window_id for each in view.windows
            if each.written and each.window_id != self._there.window_id}

    def _check_unchanged(self, act: in_flight.Act) -> None:
        """Check that the maintenance of the node was not changed by others.

        The guard checks this again, but not every Ironic API has a guard.
        """
        there = self._there
        found = self._ironic.maintained(there.node_uuid)
        if found is None or (
                not node_window.is_marked(there.window_id, found[1])
                if act is in_flight.Act.CLEAR_MAINTENANCE
                else found[0].maintenance):
            raise db_connection.Conflict(
                'its maintenance was changed in Ironic')

    def _has_to_wait(self, shown: mirrored_node.Node) -> bool:
        """Return whether Ironic is working on the node.

        Maintenance would abort this work, and the node would be broken.
        """
        there = self._there
        waited = self._engine.clock() - there.starts_at
        return node_condition.at_work(shown) and waited < min(
            _MOST_PATIENCE, (there.ends_at - there.starts_at) / 2)

    def _in_use(self, node: mirrored_node.Node,
                shown: mirrored_node.Node) -> bool:
        """Return whether the node has a holder, or is being cleaned."""
        engine, now = self._engine, self._engine.clock()
        if node_condition.occupied(shown) or node_condition.coming(shown):
            return True
        snapshot = engine.snapshot(now)
        return any(each.begun for each in holdings_module.read(
            engine, snapshot, [node]).bound[node.uuid])

    def _set(self, node: mirrored_node.Node, reason: str) -> None:
        self._send(node, State.STARTING, in_flight.Act.SET_MAINTENANCE,
                   lambda token: self._ironic.set_maintenance(
                       node.uuid, reason, token))
        LOG.info('Node %s is in maintenance for the window %s', node.uuid,
                 self._there.window_id)
        self._refresh()
        self._write(self._read(), State.ACTIVE)

    def _finish(self, node: mirrored_node.Node, ours: bool) -> None:
        if ours:
            self._send(node, self._there.state,
                       in_flight.Act.CLEAR_MAINTENANCE,
                       lambda token: self._ironic.clear_maintenance(
                           node.uuid, token))
        # Before the row, or the mirror would show it as an operator's.
        self._refresh()
        self._write(self._read(), State.OVER)
        LOG.info('The maintenance of node %s for the window %s is over',
                 node.uuid, self._there.window_id)

    def _send(self, node: mirrored_node.Node, state: node_window.State,
              act: in_flight.Act, request: Callable[[str], None]) -> None:
        """Record a change, and send it with its ticket."""
        ticket = tickets.new(node.uuid, act)
        self._record(node, state,
                     functools.partial(tickets.write, self._engine, ticket))

        def send(token: str) -> None:
            self._check_unchanged(act)
            request(token)
        tickets.send(self._engine, ticket, send)

    def _write(self, node: mirrored_node.Node,
               state: node_window.State) -> None:
        if state is not self._there.state:
            self._record(node, state)

    def _record(self, node: mirrored_node.Node, state: node_window.State,
                *statements: Callable[[sa.Connection], None]) -> None:
        """Write the state of the node in its window.

        :param statements: further statements of the transaction.
        :raises Conflict: the node or its window has changed.
        """
        after = dataclasses.replace(self._there, state=state)
        if not change.carry_out_once(self._engine, change.Change(
                self._engine.clock(),
                seen_module.of_nodes([node]),
                [change.Write(self._there, after, change.Cause.STEP)],
                statements=[*statements])):
            raise db_connection.Conflict(f'node {node.uuid} has changed')
        self._there = after

    def _refresh(self) -> None:
        try:
            mirror.refresh_node(self._engine, self._there.node_uuid)
        except errors.Contention:
            raise db_connection.Conflict('the node is being changed') from None
