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

"""Workers that start and end leases; all processes share the work.

A loop claims the leases that are due, the oldest first, and renews the claims
on leases in work; it never calls Ironic. Each worker works on one lease, so
that a slow lease does not delay the others.
"""

from __future__ import annotations

import collections
from collections.abc import Iterable
import contextlib
import functools
import itertools
import queue
import random
import threading

from oslo_log import log

from ironic_reservations.engine import Engine
from ironic_reservations.engine import unfinished
from ironic_reservations.engine.lease_cycle import claims as lease_claims
from ironic_reservations.engine.lease_cycle import short
from ironic_reservations.engine.lease_cycle import sync as lease_sync
from ironic_reservations.lifecycle import lease_cycle
from ironic_reservations.reconciler import claim as claim_module
from ironic_reservations.reconciler import loop

LOG = log.getLogger(__name__)


class LeaseWorkers:
    """The workers of this process.

    :param engine: an engine with a client of Ironic.
    :ivar loop: the loop that claims leases.
    """

    def __init__(self, engine: Engine) -> None:
        self._engine = engine.serialized()
        self._owner = claim_module.new_owner()
        self._batches = itertools.count(1)
        self._lock = threading.Lock()
        # The end of the certain time of each claim, by the timer.
        self._held: dict[lease_claims.Claim, float] = {}
        self._unfinished: unfinished.Unfinished[lease_claims.Taken] = (
            unfinished.Unfinished())
        # The number of unexpected failures for each lease.
        self._failed: collections.Counter[str] = collections.Counter()
        self._extended_at = engine.timer()
        self._queue: queue.SimpleQueue[lease_claims.ClaimedLease | None] = (
            queue.SimpleQueue())
        self._workers: list[threading.Thread] = []
        self._short = short.ShortLeases(self._engine)
        self._stopping = threading.Event()
        # The loop has no claim, since each lease has its own.
        self.loop = loop.Loop('leases', (
            loop.Task(lambda _: self.extend()),
            loop.Task(lambda _: self._release()),
            loop.Task(lambda _: self._short.wake()),
            loop.Task(lambda _: self._fill())))

    def start(self) -> None:
        """Start the threads of the workers."""
        self.loop.start()

    def end(self) -> None:
        """Finish the leases in work, and release all other claims."""
        self._stopping.set()
        self.loop.end()

    def stop(self, timeout: float = 10) -> None:
        """End, and wait for the threads.

        :param timeout: the limit for each thread, in seconds.
        """
        self.end()
        self.loop.stop(timeout)
        self._drop_queued()
        for _ in self._workers:
            self._queue.put(None)
        for worker in self._workers:
            worker.join(timeout)
        self._release(at_once=True)

    def one_pass(self, limit: int = 1000) -> int:
        """Work on the leases that are due, in this thread.

        :returns: the number of these leases.
        """
        self._release()
        self._short.wake()
        claimed = self._take(limit)
        for each in claimed:
            self._work(each)
        return len(claimed)

    def _fill(self) -> None:
        """Claim leases, if there is room in the queue.

        A few more leases than workers are claimed, so that no worker waits for
        the next pass, and few enough that other processes get leases, too.
        """
        workers = self._engine.conf.leases.workers
        room = 2 * workers - len(self._held)
        if room < workers:
            return
        claimed = self._take(room)
        for each in claimed:
            self._queue.put(each)
        if self._stopping.is_set():
            # stop() may have timed out, so the workers may be gone.
            self._drop_queued()
            return
        while len(self._workers) < min(workers, len(self._held)):
            worker = threading.Thread(
                target=self._serve, daemon=True,
                name=f'ironic-reservations-lease-{len(self._workers)}')
            self._workers.append(worker)
            worker.start()
        if claimed and 2 * workers - len(self._held) >= workers:
            self.loop.wake()

    def _serve(self) -> None:
        while (each := self._queue.get()) is not None:
            if self._stopping.is_set():
                self._postpone([each.claim])
                self._release(at_once=True)
            else:
                self._work(each)
                self.loop.wake()

    def _take(self, limit: int) -> list[lease_claims.ClaimedLease]:
        begun = self._engine.timer()
        ids = lease_claims.read_due(self._engine, limit)
        if not ids:
            return []
        token = f'{self._owner}:{next(self._batches)}'
        try:
            claimed = lease_claims.take(self._engine, ids, token)
        except unfinished.FAILURES:
            self._postpone(lease_claims.Taken(each, token) for each in ids)
            raise
        with self._lock:
            self._held.update(dict.fromkeys(
                (each.claim for each in claimed), self._certain(begun)))
        return claimed

    def _certain(self, begun: float) -> float:
        """Return the time until which a claim is certainly held."""
        return begun + claim_module.certain(
            self._engine.conf.leases.claim_ttl)

    def _work(self, each: lease_claims.ClaimedLease) -> None:
        claim = each.claim
        try:
            lease_sync.sync(self._engine, claim,
                            functools.partial(self._holds, claim),
                            each.lease)
        except unfinished.FAILURES as exc:
            LOG.warning('Work on the lease %s is postponed: %s',
                        claim.id, exc)
            self._postpone([claim])
        except Exception:
            LOG.exception('Working on the lease %s failed', claim.id)
            # The pause grows each time, up to the lifetime of the claim, in
            # case the failure is permanent.
            with self._lock:
                self._failed[claim.id] += 1
                failed = self._failed[claim.id]
            self._postpone([claim], lease_cycle.backoff(
                failed, self._engine.conf.leases.claim_ttl, random.random()))
        else:
            with self._lock:
                self._failed.pop(claim.id, None)
            # The work was abandoned if the claim was no longer certain, but a
            # COMMIT without an answer may have renewed it.
            if not self._holds(claim):
                self._postpone([claim])
        finally:
            with self._lock:
                self._held.pop(claim, None)

    def _holds(self, claim: lease_claims.Claim) -> bool:
        with self._lock:
            until = self._held.get(claim)
        return until is not None and self._engine.timer() < until

    def extend(self) -> None:
        """Renew the claims on leases in work when they are due for it."""
        begun = self._engine.timer()
        if begun - self._extended_at < (
                self._engine.conf.leases.claim_ttl / 3):
            return
        self._extended_at = begun
        with self._lock:
            claims = frozenset(self._held)
        if not claims:
            return
        held = lease_claims.extend(self._engine, claims)
        with self._lock:
            for claim in claims & self._held.keys():
                if claim in held:
                    self._held[claim] = self._certain(begun)
                else:
                    del self._held[claim]

    def _postpone(self, claims: Iterable[lease_claims.Taken],
                  wait: float = unfinished.AGAIN) -> None:
        self._unfinished.add(claims, self._engine.timer(),
                             self._engine.conf.leases.claim_ttl, wait)

    def _release(self, at_once: bool = False) -> None:
        """Release claims on leases that could not be finished."""
        self._unfinished.release_due(
            functools.partial(lease_claims.drop, self._engine),
            self._engine.timer(), at_once)

    def _drop_queued(self) -> None:
        """Release claims on leases that no worker has begun."""
        ends = 0
        with contextlib.suppress(queue.Empty):
            while True:
                each = self._queue.get_nowait()
                if each is None:
                    ends += 1
                else:
                    self._postpone([each.claim])
        # Each of these marks ends one worker that has not ended yet.
        for _ in range(ends):
            self._queue.put(None)
        self._release(at_once=True)
