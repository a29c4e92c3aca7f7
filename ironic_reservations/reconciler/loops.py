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

"""The loops of the reconciler, with their intervals and claims.

Each has a thread of its own, so that an Ironic, a conductor or a Placement
that does not answer delays nothing else. Each task begins with the present
state, so it does no harm if two processes run it at once.
"""

from __future__ import annotations

from collections.abc import Callable
import os
import queue
import threading

from ironic_reservations.clouds import ironic as ironic_client
from ironic_reservations.clouds import keystone_projects
from ironic_reservations.engine import claims
from ironic_reservations.engine import Engine
from ironic_reservations.engine import leasable
from ironic_reservations.engine import mirror
from ironic_reservations.engine import sweep
from ironic_reservations.engine.in_flight import uncertain
from ironic_reservations.engine.lease_cycle import health as lease_health
from ironic_reservations.engine.leases import gone_projects
from ironic_reservations.engine.outbox import claims as outbox_claims
from ironic_reservations.engine.outbox import clean_up as outbox
from ironic_reservations.reconciler import claim
from ironic_reservations.reconciler import lease_workers
from ironic_reservations.reconciler import loop

#: Seconds between two passes in which old rows are deleted.
_CLEAN_UP = 60
#: Seconds between two requests for the version of an Ironic that runs in
#: another process.
_UPGRADED = 600


def nodes(engine: Engine, to_refresh: queue.SimpleQueue[str]) -> loop.Loop:
    """Return the loop that keeps the mirror of Ironic's nodes.

    :param to_refresh: uuids of nodes to read again soon.
    """
    conf = engine.conf
    tasks = [loop.Task(lambda _: sweep.sweep(engine),
                       conf.reservations.sweep_interval)]
    tasks += [_task(engine, act, _CLEAN_UP, again=False) for act in (
        outbox.clean_up, *(each.clean_up for each in engine.features))]
    if engine.ironic is not None:
        tasks = [
            loop.Task(lambda _: _refresh(engine, to_refresh), claimed=False),
            *tasks,
            # Repeated at once after a failure, since Ironic is often not
            # running yet when all nodes are read for the first time.
            loop.Task(lambda _: _refresh_all(engine),
                      conf.ironic.full_poll_interval),
            *(_task(engine, act, conf.ironic.poll_interval) for act in (
                mirror.refresh_changed, leasable.sync, mirror.settle_starting,
                *(each.follow_nodes for each in engine.features),
                lease_health.check)),
            loop.Task(lambda _: mirror.follow_awaited(engine))]
        if engine.ironic_api.newest is None:
            tasks.append(loop.Task(lambda _: _see_version(engine), _UPGRADED,
                                   claimed=False, again=False))
    return loop.Loop('nodes', tasks, claim.Claim(
        engine, claims.MIRROR, conf.ironic.claim_ttl))


def _task(engine: Engine, act: Callable[[Engine], object], every: float,
          again: bool = True) -> loop.Task:
    return loop.Task(lambda _: act(engine), every, again=again)


def _refresh(engine: Engine, to_refresh: queue.SimpleQueue[str]) -> None:
    uuids = set()
    while not to_refresh.empty():
        uuids.add(to_refresh.get())
    for uuid in uuids:
        mirror.refresh_node(engine, uuid)


def _see_version(engine: Engine) -> None:
    assert engine.ironic is not None
    engine.ironic_api.see(engine.ironic.newest_version())


def _refresh_all(engine: Engine) -> None:
    mirror.refresh_all(engine)
    leasable.sync(engine)


def outcomes(engine: Engine, ironic: ironic_client.Ironic) -> loop.Loop:
    """Return the loop that determines unknown outcomes of requests."""
    requests = uncertain.Uncertain(engine, ironic)
    return loop.Loop('outcomes', (
        loop.Task(requests.settle_overdue, engine.conf.ironic.poll_interval),
    ), claim.Claim(engine, 'outcomes', engine.conf.guard.claim_ttl))


def answers(engine: Engine) -> loop.Loop:
    """Return the loop that writes outcomes that could not be written yet."""
    return loop.Loop('answers', (
        loop.Task(lambda _: engine.pending_outcomes.write(engine.timer)),))


def dates(engine: Engine) -> loop.Loop:
    """Return the loop for leases whose dates may change."""
    return loop.Loop('dates', [
        loop.Task(act, every) for each in engine.features
        for act, every in each.dates(engine)
    ], claim.Claim(engine, 'dates', engine.conf.leases.claim_ttl))


def projects(engine: Engine) -> loop.Loop:
    """Return the loop that ends the leases of deleted projects."""
    there = keystone_projects.KeystoneProjects(engine.conf)
    return loop.Loop('projects', (loop.Task(
        lambda running: gone_projects.end(engine, there, running),
        gone_projects.interval(engine), again=False),), claim.Claim(
            engine, 'projects', engine.conf.leases.claim_ttl))


class Reconciler:
    """The loops of this process.

    :ivar pid: the id of the process that made it.
    :ivar nodes: the loop that mirrors nodes.
    """

    def __init__(self, engine: Engine) -> None:
        self._to_refresh: queue.SimpleQueue[str] = queue.SimpleQueue()
        self._ended = threading.Event()
        self._engine = engine
        self.pid = os.getpid()
        self.nodes = nodes(engine, self._to_refresh)
        self._all: list[loop.Loop | lease_workers.LeaseWorkers] = [
            self.nodes, answers(engine), dates(engine)]
        if engine.ironic is not None:
            self._all += [lease_workers.LeaseWorkers(engine),
                          outcomes(engine, engine.ironic)]
        if gone_projects.wanted(engine):
            self._all.append(projects(engine))
        for each in engine.features:
            self._all += each.loops(engine)

    def start(self) -> None:
        """Start the threads of the loops."""
        for each in self._all:
            each.start()

    def end(self) -> None:
        """Make :meth:`run` return."""
        self._ended.set()

    def stop(self) -> None:
        """Stop, and release the claims for other processes."""
        self._ended.set()
        for each in self._all:
            each.end()
        for each in self._all:
            each.stop()
        outbox_claims.release_own(self._engine, at_once=True)

    def run(self) -> None:
        """Run until :meth:`end`."""
        self.start()
        self._ended.wait()
        self.stop()

    def request_refresh(self, node_uuid: str) -> None:
        """Read a node again soon, since Ironic has changed it."""
        self._to_refresh.put(node_uuid)


_running: Reconciler | None = None
_running_lock = threading.Lock()


def start(engine: Engine) -> Reconciler:
    """Start the reconciler of this process, unless it runs.

    It also fills the snapshot, in a thread of its own.

    Each request must call this: a server that forks after loading leaves the
    threads in the parent, so each child must start its own.
    """
    global _running
    running = _running
    if running is not None and running.pid == os.getpid():
        return running
    with _running_lock:
        if _running is None or _running.pid != os.getpid():
            _running = Reconciler(engine)
            _running.start()
            # Filled now, so that no request waits for the first snapshot.
            engine.snapshots.fill(engine.database, engine.clock)
        return _running


def current() -> Reconciler | None:
    """Return the reconciler of this process, if it runs."""
    return _running
