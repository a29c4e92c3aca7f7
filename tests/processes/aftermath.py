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


"""After a storm: wait for quiet, end all promises, see what is left."""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Iterator
from collections.abc import Sequence
import datetime
import threading
import time
from typing import Any

import sqlalchemy as sa

from tests.processes import balancer
from tests.processes import cloud
from tests.processes import database_proxy
from tests.processes import exchange
from tests.processes import journal
from tests.processes import operators
from tests.processes import tenants
from tests.processes.checker import handed
from tests.processes.checker import quiet

#: How long it may take until there is quiet, in seconds.
WITHIN = 60.0
#: So many times as long, if there is less and less left.
_LONGEST = 4
_TABLES = ('leases', 'lease_reservations', 'reservations',
           'in_flight_requests', 'holds', 'outbox')
#: What is not needed, and long.
_LEFT_OUT = ('payload',)
_PAUSE = 1.0
#: How many nodes are deployed in their windows.
_DEPLOYED = 3
#: For how long, in seconds, one looks on at how leases start in quiet.
_LOOKS_ON = 95.0
#: In how many seconds at most the leases start that are waited for: starts
#: that are promised are whole minutes.
_STARTING = 75.0
#: How many it takes to get into the way of one another.
_HOLDERS = 2
#: For how long, in seconds, a write stands still, less than its time limit;
#: how often one tries that; and how late an answer comes to a process.
_STANDS_STILL = 4.5
_TRIES = 3
_ANSWERS_LATE = 3.0


class Aftermath:
    """What is done once the last fault has ended.

    :param within: how long, in seconds, it may take until there is quiet, or
        less is left.
    :param found: whether the one finding that is looked for is there, so that
        the rest can be left out; none where all are looked for.
    :param looks_on: whether one looks on when there is quiet, while promises
        go on.
    :param holders: who wait for a node where one looks on, and who have one
        and change it, before all leases are ended.
    """

    def __init__(self, over_there: cloud.Cloud, operator: exchange.Asker,
                 written: journal.Journal, within: float = WITHIN,
                 found: Callable[[], bool] | None = None,
                 looks_on: bool = False,
                 holders: Sequence[tenants.Tenant] = ()) -> None:
        self._cloud = over_there
        self._operator = operator
        self._written = written
        self._within = within
        self._found = found
        self._looks_on = looks_on
        self._holders = holders
        self._database = over_there.tables()

    def run(self) -> None:
        """Wait for quiet twice: while promises go on, and without any."""
        self._operator.ask('audit', 'GET', '/v1/leases?limit=1000')
        left = self._wait('the last fault', quiet.unsettled)
        if left and self._found is not None:
            return
        for step in () if left else self._steps():
            step()
            if self._found is not None and self._found():
                return
        self._wait('the end of all promises', quiet.left_over, self._end_all)

    def _steps(self) -> Iterator[Callable[[], None]]:
        """Return all that is tried while promises go on, in its order."""
        if self._looks_on:
            yield self._look_on
            yield self._deploy_in_windows
            yield self._line_up
            yield self._stand_still
        yield self._change_nodes

    def _look_on(self) -> None:
        """Look at all leases for as long as some are to start soon."""
        any(holder.wait_for_a_node(_STARTING) for holder in self._holders)
        began = journal.now()
        due = (datetime.datetime.now(datetime.UTC) + datetime.timedelta(
            seconds=_STARTING)).replace(tzinfo=None).isoformat()
        self._written.write('quiet', at=began)
        while journal.now() < began + _LOOKS_ON:
            shown = self._operator.ask('audit', 'GET', '/v1/leases?limit=1000')
            if shown.status == 200 and not any(
                    each['status'] == 'PENDING'
                    and (each['promised_start'] or due) < due
                    for each in shown.document['leases']):
                break
            time.sleep(_PAUSE)

    def _deploy_in_windows(self) -> None:
        """Deploy nodes that nobody has in windows that have begun."""
        free = [node['uuid'] for node in self._read(
            '/v1/nodes?provision_state=available&associated=False'
            '&fields=uuid,lessee', 'nodes') if node['lessee'] is None]
        for node in free[:_DEPLOYED]:
            operators.deploy_in_a_window(self._operator, node)

    def _line_up(self) -> None:
        """Have a tenant wait for the node of another lease, which is ended."""
        before, behind = self._holders[:2]
        had = before.have_ahead()
        if had is not None:
            path, start, node = had
            paths = behind.line_up(start, node, True)
            before.end([path])
            behind.follow(paths)

    def _stand_still(self) -> None:
        """Have processes stand still while what they have read changes."""
        if len(self._holders) < _HOLDERS:
            return
        before, behind = self._holders[:_HOLDERS]
        # NOTE: what reads over SQLite is not held back on its way.
        for _ in range(_TRIES if self._cloud.proxies else 0):
            had = before.have_open()
            if had is not None:
                self._move_late(before, behind, *had)
        if self._cloud.mix.no_show:
            self._have_each(
                lambda holder: holder.deploy_at_release(self._about_to_end))

    def _move_late(self, before: tenants.Tenant, behind: tenants.Tenant,
                   path: str, start: datetime.datetime, node: str) -> None:
        """Hold back what moves a lease until its dates are fixed."""
        for api in self._cloud.of('api'):
            self._cloud.proxies[api.name].arm(
                database_proxy.HOLD, self._disarm, _STANDS_STILL,
                'UPDATE leases')
        made: list[str] = []
        asks = threading.Thread(
            target=lambda: made.extend(behind.line_up(start, node)))
        asks.start()
        before.watch(path, _STANDS_STILL)
        asks.join()
        self._disarm()
        before.watch(path, _PAUSE)
        before.end([path])
        behind.end(made)

    def _change_nodes(self) -> None:
        self._have_each(tenants.Tenant.change_a_node)

    def _disarm(self) -> None:
        for proxy in self._cloud.proxies.values():
            proxy.disarm()

    def _about_to_end(self, node: str) -> threading.Event:
        """Hold back an answer to what reads a node that it is to release.

        :returns: what is set when it has read the node.
        """
        line = f'GET /v1/nodes/{node}?fields=uuid,name,'.encode()
        has_read = threading.Event()

        def meant(request: bytes) -> bool:
            if not request.startswith(line):
                return False
            has_read.set()
            return True
        self._cloud.balancer.arm(balancer.SLOW, _ANSWERS_LATE, meant)
        return has_read

    def _have_each(self, act: Callable[[tenants.Tenant], None]) -> None:
        """Have all holders do something, while nothing fails."""
        acting = [threading.Thread(target=act, args=(holder,))
                  for holder in self._holders]
        for thread in acting:
            thread.start()
        for thread in acting:
            thread.join()

    def _wait(self, phase: str,
              look: Callable[[quiet.Snapshot], list[quiet.Left]],
              meanwhile: Callable[[quiet.Snapshot], None] | None = None
              ) -> list[quiet.Left]:
        began = fewer_at = journal.now()
        fewest: int | None = None
        while True:
            now = self._snapshot()
            left = look(now)
            if fewest is None or len(left) < fewest:
                fewest, fewer_at = len(left), journal.now()
            waited = journal.now() - began
            # NOTE: what becomes less each minute will be done: a receiver
            # that often fails is sent one notice after another.
            if not left or journal.now() - fewer_at > self._within or (
                    waited > _LONGEST * self._within):
                break
            # NOTE: nobody judges it; it tells what took how long.
            self._written.write('waits', phase=phase, at=journal.now(),
                                left_over=left)
            leased = {row['node_uuid'] for row
                      in now['tables']['reservations']
                      if row['lease_reservation_id'] is not None}
            for node in now['nodes']:
                operators.bring_back(self._operator, node,
                                     node['uuid'] in leased)
            if meanwhile is not None:
                meanwhile(now)
            servers = self._cloud.servers
            if servers is not None and servers.loses and operators.follow(
                    self._operator, self._cloud.audit()):
                self._cloud.repair_placement()
            time.sleep(_PAUSE)
        self._written.write('snapshot', phase=phase, at=journal.now(),
                            waited=waited, left_over=left, **now)
        return left

    def _snapshot(self) -> dict[str, Any]:
        tables = {}
        with self._database.connect() as connection:
            for name in _TABLES:
                rows = connection.execute(
                    sa.text(f'SELECT * FROM {name}')).mappings()
                tables[name] = [{key: _plain(value) for key, value
                                 in row.items() if key not in _LEFT_OUT}
                                for row in rows]
        nodes = self._read(
            '/v1/nodes?fields=uuid,provision_state,instance_uuid,lessee,'
            f'reservation,resource_class,{handed.FIELDS}', 'nodes')
        volumes = self._read('/v1/volume/targets?detail=True', 'targets')
        return {'tables': tables, 'nodes': nodes, 'volumes': volumes,
                'placement': (None if self._cloud.placement is None
                              else self._cloud.placement.seen()),
                'allocations': self._read('/v1/allocations', 'allocations'),
                'now': time.strftime('%Y-%m-%d %H:%M:%S', time.gmtime())}

    def _read(self, path: str, name: str) -> list[dict[str, Any]]:
        reply = self._operator.ask('see', 'GET', path)
        if reply.status != 200:
            # NOTE: one that does not answer has not come to rest.
            return [{'uuid': path, 'node_uuid': None, 'lessee': None,
                     'provision_state': f'no answer: {reply}'}]
        return list(reply.document[name])

    def _end_all(self, now: quiet.Snapshot) -> None:
        for lease in now['tables']['leases']:
            if lease['status'] in ('PENDING', 'ACTIVE', 'ERROR'):
                self._operator.ask('end-lease', 'DELETE',
                                   f'/v1/leases/{lease["id"]}')
        for row in now['tables']['reservations']:
            if row['immediate']:
                self._operator.ask('release', 'DELETE',
                                   f'/v1/reservations/{row["uuid"]}')
        for window in {row['window_id']
                       for row in now['tables']['reservations']
                       if row['window_id'] is not None}:
            self._operator.ask('end-window', 'DELETE',
                               f'/v1/maintenances/{window}')
        for allocation in now['allocations']:
            self._operator.ask('deallocate', 'DELETE',
                               f'/v1/allocations/{allocation["uuid"]}')
        for node in now['nodes']:
            path = f'/v1/nodes/{node["uuid"]}'
            if node['provision_state'] in ('active', 'deploy failed',
                                           'error'):
                self._operator.ask('undeploy', 'PUT',
                                   path + '/states/provision',
                                   {'target': 'deleted'})
            elif (node['provision_state'] == 'available'
                    and node['instance_uuid']):
                self._operator.ask('unbind', 'PATCH', path, [
                    {'op': 'remove', 'path': '/instance_uuid'}])


def _plain(value: Any) -> Any:
    if value is None or isinstance(value, int | float | str | bool):
        return value
    return str(value)
