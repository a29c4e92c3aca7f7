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

"""Find the outcomes of requests to Ironic that got no answer.

Ironic has to show the same state twice, with some seconds in between, and each
time the conductor of the node has to answer a call that is sent after the
request: then the conductor is alive and its queue contains no older call.
Until then the node is promised to nobody.
"""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Iterator
from collections.abc import Mapping
import datetime

from oslo_log import log

from ironic_reservations import errors
from ironic_reservations.clouds import ironic as ironic_client
from ironic_reservations.db import connection as db_connection
from ironic_reservations.db import in_flight_requests as db_in_flight
from ironic_reservations.engine import Engine
from ironic_reservations.engine.in_flight import admission
from ironic_reservations.engine.in_flight import conductors
from ironic_reservations.engine.in_flight import listed
from ironic_reservations.model import in_flight
from ironic_reservations.model import mirrored_node

LOG = log.getLogger(__name__)

#: How many requests are read at once. A lost history leaves one for each node.
_PAGE = 1000
#: How many nodes in a row Ironic may fail to show: each may take a whole
#: time-out, and one that it always fails to show must not be in the way.
_FAILED = 3


class Uncertain:
    """Closes requests when their outcome is known."""

    def __init__(self, engine: Engine, ironic: ironic_client.Ironic) -> None:
        self._engine = engine
        self._ironic = ironic
        self._waits: dict[int, str] = {}
        #: The requests for whose nodes Ironic failed in the last pass.
        self._failed: set[int] = set()
        self._listed = listed.Listed(engine, ironic)
        self._conductors = conductors.Conductors(engine, ironic)

    def settle_overdue(self,
                       continues: Callable[[], bool] = lambda: True) -> None:
        """Close all overdue requests whose outcomes are known by now.

        :param continues: called before each request; ``False`` ends the pass.
        :raises DatabaseUnavailable: the database does not answer.
        :raises IronicUnavailable: Ironic does not answer.
        """
        self._conductors = conductors.Conductors(self._engine, self._ironic)
        waits: dict[int, str] = {}
        rows = sorted(self._overdue(), key=lambda row: row.id in self._failed)
        self._failed, in_a_row = set(), 0
        done: Mapping[int, str | None] = {}
        try:
            done = self._listed.settle(rows, self._conductors, continues)
        except errors.IronicUnavailable as exc:
            LOG.warning('Ironic does not list its nodes, so they are read one '
                        'by one: %s', exc)
        for row in rows:
            if not continues():
                return
            try:
                why = (done[row.id] if row.id in done
                       else self._close_if_known(row))
            except (db_connection.Conflict, errors.Contention) as exc:
                LOG.debug('Node %s is looked at again: %s', row.node_uuid,
                          exc)
                continue
            except errors.IronicUnavailable as exc:
                self._failed.add(row.id)
                in_a_row += 1
                if in_a_row == _FAILED:
                    raise
                why = str(exc)
            else:
                in_a_row = 0
            if why is not None:
                waits[row.id] = why
                # The warning is logged once for each cause.
                if self._waits.get(row.id) != why:
                    LOG.warning(
                        'The outcome of a request for node %s is not known, '
                        'and the node is promised to nobody until it is: %s',
                        row.node_uuid, why)
        self._waits = waits

    def _overdue(self) -> Iterator[in_flight.InFlight]:
        """Read the requests page by page, the oldest first."""
        now, last = self._engine.clock(), None
        while True:
            with self._engine.database.read() as connection:
                page = db_in_flight.read_overdue(connection, now, _PAGE, last)
            yield from page
            if len(page) < _PAGE:
                return
            last = page[-1]

    def _close_if_known(self, row: in_flight.InFlight) -> str | None:
        """Close a request if its outcome is known, or return the obstacle."""
        if row.state is in_flight.State.ISSUED:
            # An old ticket that nobody has used is void.
            if row.token is not None:
                with self._engine.database.write() as connection:
                    db_in_flight.void_ticket(connection, row.token)
            return None
        now = self._engine.clock()
        if row.allocates and row.instance_uuid is not None:
            known = self._ironic.allocation(row.instance_uuid)
            if known is not None and known.state == ironic_client.ALLOCATING:
                return (f'the allocation {row.instance_uuid} is still being '
                        'worked on' if row.expires_at <= now else None)
            # Any other one may be an older allocation with the same uuid.
            if row.state is in_flight.State.ACCEPTED or (
                    known is not None and known.node_uuid == row.node_uuid):
                return self._settle(row, self._ironic.node(row.node_uuid),
                                    now)
        if not self._conductors.is_due(row, now):
            return None
        silent = self._conductors.ask(
            row, self._ironic.conductor_of(row.node_uuid), now)
        if silent is not None:
            self._listed.write_seen([(row, None)])
            return silent
        shown = self._ironic.settled(row.node_uuid)
        if shown is None:
            return self._settle(row, None, now)
        node, locked = shown
        seen = in_flight.shown(node, locked)
        if seen is not None and seen == row.seen:
            return self._settle(row, node, now)
        self._listed.write_seen([(row, seen)])
        return None if seen is not None else in_flight.at_work(node)

    def _settle(self, row: in_flight.InFlight,
                node: mirrored_node.Node | None,
                asked_at: datetime.datetime) -> str | None:
        if admission.settle(self._engine, row, node, asked_at) and row.due(
                self._engine.clock(), 0, 0):
            LOG.info('The outcome of a request for node %s is known now: it '
                     'is %s', row.node_uuid,
                     'gone' if node is None else node.provision_state)
        return None
