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

"""Workers that share the leases of all processes among them.

One thread looks for leases that are due, the oldest first, and keeps the
claims on those that are being worked on; it never asks Ironic for anything.
The others work, each on one lease, so that one that takes its time holds up
nobody else.
"""

from __future__ import annotations

from collections.abc import Collection
import dataclasses
import datetime
import functools
import itertools
import os
import queue
import socket
import threading
import uuid as uuid_module

from oslo_log import log

from ironic_reservations import errors
from ironic_reservations.db import connection as db_connection
from ironic_reservations.db import lease_work as db_lease_work
from ironic_reservations.db import leases as db_leases
from ironic_reservations.engine import Engine
from ironic_reservations.engine.lease_cycle import sync as lease_sync
from ironic_reservations.planner import leases
from ironic_reservations.reconciler import claim as claim_module
from ironic_reservations.reconciler import lease_desk

LOG = log.getLogger(__name__)

_TICK = 1.0
_TROUBLE = 5.0
_HOST_NAME = 64


@dataclasses.dataclass(frozen=True)
class _Task:
    """A claim, and the lease as it was when it was made."""

    claim: db_lease_work.Claim
    lease: leases.Lease | None


class Crew:
    """The workers of this process.

    :param engine: with an Ironic to work on.
    """

    def __init__(self, engine: Engine) -> None:
        self._engine = dataclasses.replace(
            engine, database=lease_desk.Desk(engine.database))
        self._owner = (f'{socket.gethostname()[:_HOST_NAME]}:{os.getpid()}:'
                       f'{uuid_module.uuid4()}')
        self._batches = itertools.count(1)
        self._lock = threading.Lock()
        # NOTE: until when each surely is ours, by the timer.
        self._held: dict[db_lease_work.Claim, float] = {}
        self._extended_at = engine.timer()
        self._queue: queue.SimpleQueue[_Task | None] = queue.SimpleQueue()
        self._workers: list[threading.Thread] = []
        self._lead: threading.Thread | None = None
        self._news = threading.Event()
        self._stopping = threading.Event()

    def start(self) -> None:
        """Work on threads of this process."""
        self._lead = threading.Thread(
            target=self._run, name='ironic-reservations-leases', daemon=True)
        self._lead.start()

    def stop(self, timeout: float = 10) -> None:
        """Finish what has been begun, and leave the rest to others."""
        self._stopping.set()
        self._news.set()
        if self._lead is not None:
            self._lead.join(timeout)
        for _ in self._workers:
            self._queue.put(None)
        for worker in self._workers:
            worker.join(timeout)

    def one_pass(self, limit: int = 1000) -> int:
        """Work on what is due, on this thread.

        :returns: on how many leases.
        """
        tasks = self._take(limit)
        for task in tasks:
            self._work(task)
        return len(tasks)

    def _run(self) -> None:
        while not self._stopping.is_set():
            pause = _TICK
            try:
                self.extend()
                if self._fill():
                    pause = 0.0
            except errors.DatabaseUnavailable as exc:
                LOG.warning('The reconciler of leases waits: %s', exc)
                pause = _TROUBLE
            except (db_connection.Conflict, errors.Contention):
                LOG.debug('Another process was quicker; looking again')
            except Exception:
                # NOTE: a bug in one pass must not end all later ones.
                LOG.exception('The reconciler of leases failed')
                pause = _TROUBLE
            if pause:
                self._news.wait(pause)
                self._news.clear()
        self._leave()

    def _fill(self) -> bool:
        """Take leases, if there is room; tells whether more may be due.

        NOTE: a few more than there are workers, so that none of them waits
        for the next look; not many, so that other processes get some.
        """
        workers = self._engine.conf.leases.workers
        room = 2 * workers - len(self._held)
        if room < workers:
            return False
        tasks = self._take(room)
        for task in tasks:
            self._queue.put(task)
        while len(self._workers) < min(workers, len(self._held)):
            worker = threading.Thread(
                target=self._serve, daemon=True,
                name=f'ironic-reservations-lease-{len(self._workers)}')
            self._workers.append(worker)
            worker.start()
        return bool(tasks) and 2 * workers - len(self._held) >= workers

    def _serve(self) -> None:
        while (task := self._queue.get()) is not None:
            if not self._stopping.is_set():
                self._work(task)
                self._news.set()

    def _take(self, limit: int) -> list[_Task]:
        engine = self._engine
        begun, now = engine.timer(), engine.clock()
        with engine.database.read() as connection:
            ids = db_lease_work.read_due(connection, now, limit)
        if not ids:
            return []
        with engine.database.write() as connection:
            claims = db_lease_work.take(
                connection, ids, f'{self._owner}:{next(self._batches)}', now,
                self._until(now))
        with engine.database.snapshot() as connection:
            read = {lease.id: lease for lease in db_leases.read(
                connection, [claim.lease_id for claim in claims])}
        with self._lock:
            self._held.update(dict.fromkeys(claims, self._certain(begun)))
        return [_Task(claim, read.get(claim.lease_id)) for claim in claims]

    def _until(self, now: datetime.datetime) -> datetime.datetime:
        return now + datetime.timedelta(
            seconds=self._engine.conf.leases.claim_ttl)

    def _certain(self, begun: float) -> float:
        """Return until when a claim surely holds, by the timer.

        :param begun: when it had not been written yet.
        """
        return begun + claim_module.certain(
            self._engine.conf.leases.claim_ttl)

    def _work(self, task: _Task) -> None:
        claim = task.claim
        try:
            lease_sync.sync(self._engine, claim,
                            functools.partial(self._holds, claim),
                            task.lease)
        except (errors.DatabaseUnavailable, errors.Contention,
                db_connection.Conflict) as exc:
            LOG.warning('The lease %s is left until its claim ends: %s',
                        claim.lease_id, exc)
        except Exception:
            LOG.exception('Working on the lease %s failed', claim.lease_id)
        finally:
            with self._lock:
                self._held.pop(claim, None)

    def _holds(self, claim: db_lease_work.Claim) -> bool:
        with self._lock:
            until = self._held.get(claim)
        return until is not None and self._engine.timer() < until

    def extend(self) -> None:
        """Keep the claims on what is being worked on, when it is time."""
        begun = self._engine.timer()
        if begun - self._extended_at < (
                self._engine.conf.leases.claim_ttl / 3):
            return
        self._extended_at = begun
        with self._lock:
            claims = frozenset(self._held)
        if not claims:
            return
        until = self._until(self._engine.clock())
        with self._engine.database.write() as connection:
            held = db_lease_work.extend(connection, claims, until)
        with self._lock:
            for claim in claims & self._held.keys():
                if claim in held:
                    self._held[claim] = self._certain(begun)
                else:
                    del self._held[claim]

    def _leave(self) -> None:
        """Give back what nobody has begun with."""
        left: list[db_lease_work.Claim] = []
        while not self._queue.empty():
            task = self._queue.get()
            if task is not None:
                left.append(task.claim)
        self._drop(left)

    def _drop(self, claims: Collection[db_lease_work.Claim]) -> None:
        if not claims:
            return
        try:
            with self._engine.database.write() as connection:
                db_lease_work.drop(connection, claims)
        except (errors.DatabaseUnavailable, errors.Contention,
                db_connection.Conflict) as exc:
            LOG.debug('The claims are left to end: %s', exc)
