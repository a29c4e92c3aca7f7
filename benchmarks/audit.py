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


"""Comparing our rows with a Placement of many nodes that agree."""

from __future__ import annotations

import time
from typing import Any

from keystoneauth1 import adapter
from keystoneauth1 import noauth
from keystoneauth1 import session as ksa_session

from benchmarks import ground
from benchmarks import placed
from benchmarks import table
from ironic_reservations import build
from ironic_reservations import conf as project_conf
from ironic_reservations import engine as engine_module
from ironic_reservations.clouds import placement
from ironic_reservations.clouds import sending
from ironic_reservations.db import migrate
from ironic_reservations.engine.reservations import reserve
from ironic_reservations.features.placement.audit import auditing
from ironic_reservations.model import visibility
from ironic_reservations.planner import pick

#: How many of the nodes are held, at most.
HELD = 200


class _Counting:
    """Counts the requests that it passes on."""

    def __init__(self, sender: sending.Sender) -> None:
        self._sender = sender
        self.calls = 0

    def request(self, url: str, method: str, **kwargs: Any) -> Any:
        self.calls += 1
        return self._sender.request(url, method, **kwargs)


def _build(url: str, there: str) -> tuple[engine_module.Engine, _Counting]:
    conf = project_conf.load(config_files=[])
    for name, value, group in (('connection', url, 'database'),
                               ('confirm', 'mirror', 'ironic'),
                               ('enabled', True, 'placement'),
                               ('endpoint_override', there, 'placement')):
        conf.set_override(name, value, group)
    engine = build.engine(conf)
    migrate.upgrade(engine.database)
    counting = _Counting(adapter.Adapter(
        ksa_session.Session(auth=noauth.NoAuth()), service_type='placement',
        endpoint_override=there))
    return engine_module.dataclasses.replace(
        engine, placement=placement.Placement(
            counting, placement.ADMIN)), counting


def measure(server: str, nodes: int) -> list[tuple[table.Row, int]]:
    """Audit as the reconciler does; gives the calls of each time as well."""
    with (placed.serving(server, nodes) as (there, uuids),
          ground.database(server) as url):
        engine, counting = _build(url, there)
        placed.fill(url, uuids)
        held = min(HELD, nodes // 4)
        for node in uuids[:held]:
            reserve.reserve(engine, pick.NodeRequest(node, (node,), ttl=86400),
                            visibility.Visibility(everything=True))
        measured = []
        for what in (f'first, {held} of them held', 'the next'):
            counting.calls = 0
            began = time.perf_counter()
            report = auditing.audit(engine)
            took = time.perf_counter() - began
            if report.differences or report.nodes != nodes:
                raise RuntimeError(f'It is not clean: {report}')
            measured.append((table.Row(what, [took], took), counting.calls))
        engine.database.close()
        return measured


def run(server: str, nodes: int) -> None:
    """Measure, and print the table."""
    measured = measure(server, nodes)
    table.show(f'audits of {nodes} nodes', [
        table.Row(f'{row.what}, {calls} calls', row.seconds, row.wall)
        for row, calls in measured])
