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


"""Find the outcomes of the requests that a lost history let through.

There is one request for each node, so the nodes are read page by page: this
takes a few calls for 1,000 nodes, instead of two calls for each.
"""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Collection
from collections.abc import Iterator
from collections.abc import Mapping
from collections.abc import Sequence
import datetime

from oslo_log import log

from ironic_reservations import errors
from ironic_reservations.clouds import ironic as ironic_client
from ironic_reservations.db import connection as db_connection
from ironic_reservations.db import in_flight_requests as db_in_flight
from ironic_reservations.engine import Engine
from ironic_reservations.engine.in_flight import admission
from ironic_reservations.engine.in_flight import conductors as asked_conductors
from ironic_reservations.model import in_flight

LOG = log.getLogger(__name__)

#: From how many nodes on all nodes are read.
MANY = 50
#: The maximum number of nodes that one transaction writes.
_BATCH = 100

_Found = tuple[in_flight.InFlight, ironic_client.Settled]


class Listed:
    """Closes many requests of a lost history at once."""

    def __init__(self, engine: Engine, ironic: ironic_client.Ironic) -> None:
        self._engine = engine
        self._ironic = ironic
        #: The conductors of nodes, as the last list shows them.
        self._homes: dict[str, str | None] = {}

    def settle(self, rows: Collection[in_flight.InFlight],
               conductors: asked_conductors.Conductors,
               continues: Callable[[], bool]) -> dict[int, str | None]:
        """Close the requests whose outcome is known.

        :param rows: all overdue requests.
        :param conductors: the conductors that are asked in this pass.
        :param continues: called before each page; ``False`` ends the pass.
        :returns: the handled requests, by the ids of their rows: the reason
            why the outcome is not known yet; ``None`` if it is known.
        """
        now = self._engine.clock()
        many = {row.node_uuid: row for row in rows
                if row.of_lost_history and conductors.is_due(row, now)}
        if len(many) < MANY or not continues():
            return {}
        done: dict[int, str | None] = {}
        if not many.keys() <= self._homes.keys():
            self._homes = self._ironic.conductors_of_all()
        for uuid in sorted(many.keys() & self._homes.keys()):
            conductor = self._homes[uuid]
            if conductor is None:
                continue
            if not continues():
                return done
            silent = conductors.ask(many[uuid], conductor, now)
            if silent is not None:
                done[many[uuid].id] = silent
        if done:
            self.write_seen([(row, None) for row in many.values()
                             if row.id in done])
            # Others may take these nodes over.
            self._homes = {}
        if len(done) == len(many):
            return done
        homes: dict[str, str | None] = {}
        for asked_at, page in self._pages():
            if not continues():
                return done
            homes.update((each.node.uuid, each.conductor) for each in page)
            found = [
                (row, each) for each in page
                if (row := many.get(each.node.uuid)) is not None
                and row.id not in done and each.conductor is not None
                and conductors.has_answered(row, each.conductor)]
            for first in range(0, len(found), _BATCH):
                done.update(self._judge(found[first:first + _BATCH],
                                        asked_at))
        self._homes = homes
        return done

    def _pages(self) -> Iterator[tuple[datetime.datetime,
                                       Sequence[ironic_client.Settled]]]:
        """Read all nodes, with a time before Ironic was asked for each page.
        """
        pages = self._ironic.all_settled()
        while True:
            asked_at = self._engine.clock()
            page = next(pages, None)
            if page is None:
                return
            yield asked_at, page

    def _judge(self, found: Sequence[_Found], asked_at: datetime.datetime
               ) -> Mapping[int, str | None]:
        """Close the requests whose nodes are as they were before.

        :returns: as :meth:`settle`.
        """
        idle, others = [], []
        waits: dict[int, str | None] = {}
        for row, each in found:
            seen = in_flight.shown(each.node, each.locked)
            if seen is not None and seen == row.seen:
                idle.append((row, each.node))
            else:
                others.append((row, seen))
            waits[row.id] = None if seen is not None else (
                in_flight.at_work(each.node))
        try:
            if idle:
                admission.settle_lost(self._engine, idle, asked_at)
                LOG.info('The outcomes of the requests of a lost history for '
                         '%d nodes are known now', len(idle))
            self.write_seen(others)
        except (db_connection.Conflict, errors.Contention) as exc:
            LOG.debug('%d nodes are looked at again: %s', len(found), exc)
        return waits

    def write_seen(self, seen: Sequence[tuple[in_flight.InFlight,
                                              str | None]]) -> None:
        """Write how Ironic shows the nodes of requests, where that differs."""
        changed = [(row, state) for row, state in seen if row.seen != state]
        for first in range(0, len(changed), _BATCH):
            with self._engine.database.write() as connection:
                for row, state in changed[first:first + _BATCH]:
                    db_in_flight.write_seen(connection, row, state,
                                            self._engine.clock())
