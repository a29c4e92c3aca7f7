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

"""The passes of the reconciler: by one process at a time, for all.

The work on leases is shared among all processes: :mod:`.lease_crew`; what is
held in Placement, and what became of requests that got no answer, have
threads of their own: :mod:`.hold_keeper`, :mod:`.uncertain`.
"""

from __future__ import annotations

from collections.abc import Iterator
import contextlib
import os
import queue
import socket
import threading
import time
import uuid as uuid_module

from oslo_log import log

from ironic_reservations import errors
from ironic_reservations.db import connection as db_connection
from ironic_reservations.engine import Engine
from ironic_reservations.engine import mirror
from ironic_reservations.engine import sweep
from ironic_reservations.engine.lease_cycle import health as lease_health
from ironic_reservations.reconciler import claim
from ironic_reservations.reconciler import hold_keeper
from ironic_reservations.reconciler import lease_crew
from ironic_reservations.reconciler import uncertain

LOG = log.getLogger(__name__)

_CLAIM = 'mirror'
_QUICK_TICK = 1.0


class Loop:
    """Runs the passes until it is stopped.

    :param engine: with an Ironic to read from.
    :ivar pid: the process that it was made in.
    :ivar uncertain: what finds out the outcomes of requests, if anything.
    """

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._stop = threading.Event()
        self._changed: queue.SimpleQueue[str] = queue.SimpleQueue()
        self._thread: threading.Thread | None = None
        # NOTE: containers of one image may have the same name, and each of
        # their processes the same id.
        self.pid = os.getpid()
        self._claim = claim.Claim(
            engine, _CLAIM, f'{socket.gethostname()}:{self.pid}:'
            f'{uuid_module.uuid4()}')
        self._crew = (lease_crew.Crew(engine)
                      if engine.ironic is not None else None)
        self._keeper = (hold_keeper.Keeper(engine)
                        if engine.placement is not None else None)
        self.uncertain = (
            uncertain.Uncertain(engine, engine.ironic)
            if engine.ironic is not None else None)
        self._due = {'changed': 0.0, 'all': 0.0, 'sweep': 0.0}

    def start(self) -> None:
        """Run on a thread of this process."""
        self._thread = threading.Thread(
            target=self.run, name='ironic-reservations-reconciler',
            daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """Stop, and let another process take over at once."""
        self._stop.set()
        if self._thread is not None:
            self._thread.join(timeout=10)

    def poke(self, node_uuid: str) -> None:
        """Have one node read again soon: something happened to it."""
        self._changed.put(node_uuid)

    def run(self) -> None:
        """Make passes until :meth:`stop`, and have leases worked on."""
        if self._crew is not None:
            self._crew.start()
        if self._keeper is not None:
            self._keeper.start()
        if self.uncertain is not None:
            self.uncertain.start()
        while not self._stop.is_set():
            pause = _QUICK_TICK
            try:
                self.one_pass()
            except (errors.DatabaseUnavailable,
                    errors.IronicUnavailable) as exc:
                LOG.warning('The reconciler waits: %s', exc)
                pause = 5.0
            except (db_connection.Conflict, errors.Contention):
                LOG.debug('Another process was quicker; looking again')
            except Exception:
                # NOTE: a bug in one pass must not end all later ones.
                LOG.exception('A pass of the reconciler failed')
                pause = 5.0
            self._stop.wait(pause)
        if self._crew is not None:
            self._crew.stop()
        if self._keeper is not None:
            self._keeper.stop()
        if self.uncertain is not None:
            self.uncertain.stop()
        self._claim.drop()

    def one_pass(self) -> None:
        """Do what is due, if it is this process that does it."""
        self._refresh_poked()
        if not self._claim.holds():
            return
        conf = self._engine.conf
        with self._if_due('sweep', conf.reservations.sweep_interval) as due:
            if due:
                sweep.sweep(self._engine)
        if self._engine.ironic is None:
            return
        with self._if_due('all', conf.ironic.full_poll_interval) as due:
            if due:
                mirror.refresh_all(self._engine)
        # NOTE: that may have taken longer than the claim lasts.
        if not self._claim.holds():
            return
        with self._if_due('changed', conf.ironic.poll_interval) as due:
            if due:
                mirror.refresh_changed(self._engine)
                mirror.settle_starting(self._engine)
                lease_health.check(self._engine)

    def _refresh_poked(self) -> None:
        poked = set()
        while not self._changed.empty():
            poked.add(self._changed.get())
        if self._engine.ironic is not None:
            for uuid in poked:
                mirror.refresh_node(self._engine, uuid)

    @contextlib.contextmanager
    def _if_due(self, what: str, interval: float) -> Iterator[bool]:
        # NOTE: what fails is due at the next pass again: the first reading
        # of all nodes often comes before Ironic is up.
        now = time.monotonic()
        due = now >= self._due[what]
        yield due
        if due:
            self._due[what] = now + interval


_running: Loop | None = None
_running_lock = threading.Lock()


def start(engine: Engine) -> Loop:
    """Start the reconciler of this process, unless it runs.

    To be called at each request: a server that forks after loading leaves
    the thread in the parent, so that each child starts one of its own.
    """
    global _running
    running = _running
    if running is not None and running.pid == os.getpid():
        return running
    with _running_lock:
        if _running is None or _running.pid != os.getpid():
            _running = Loop(engine)
            _running.start()
        return _running


def current() -> Loop | None:
    """Give the reconciler of this process, if it runs."""
    return _running
