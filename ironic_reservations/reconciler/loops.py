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
that does not answer holds up nothing else.  Each task begins with the present
state, so it does no harm if two processes run it at once.
"""

from __future__ import annotations

import os
import queue
import threading

from ironic_reservations.clouds import ironic as ironic_client
from ironic_reservations.clouds import keystone_projects
from ironic_reservations.engine import enforcement_commits
from ironic_reservations.engine import Engine
from ironic_reservations.engine import leasable
from ironic_reservations.engine import mirror
from ironic_reservations.engine import notices
from ironic_reservations.engine import sweep
from ironic_reservations.engine import usage
from ironic_reservations.engine.in_flight import uncertain
from ironic_reservations.engine.lease_cycle import health as lease_health
from ironic_reservations.engine.lease_cycle import no_show as lease_no_show
from ironic_reservations.engine.leases import fix as lease_fix
from ironic_reservations.engine.leases import gone_projects
from ironic_reservations.engine.leases import long_queue
from ironic_reservations.engine.leases import pull as lease_pull
from ironic_reservations.engine.maintenance import sync as maintenance_sync
from ironic_reservations.engine.notices import before_start
from ironic_reservations.engine.notices import mail_digests
from ironic_reservations.engine.notices import outbox
from ironic_reservations.engine.notices import outbox_claims
from ironic_reservations.engine.notices import webhooks
from ironic_reservations.engine.placement import compute_mirror
from ironic_reservations.engine.placement import sync as placement_sync
from ironic_reservations.reconciler import claim
from ironic_reservations.reconciler import lease_workers
from ironic_reservations.reconciler import loop

#: Seconds between two passes that clean up notices, and between two that look
#: for leases that start soon.
_CLEAN_UP = 60
_SOON = 10
#: How often an Ironic that is not in this process is asked for its version.
_UPGRADED = 600


def nodes(engine: Engine, poked: queue.SimpleQueue[str]) -> loop.Loop:
    """Return the loop that keeps the mirror of Ironic's nodes.

    :param poked: uuids of nodes to read again soon.
    """
    conf = engine.conf
    tasks = [loop.Task(lambda _: sweep.sweep(engine),
                       conf.reservations.sweep_interval),
             loop.Task(lambda _: outbox.clean_up(engine), _CLEAN_UP,
                       again=False)]
    if engine.ironic is not None:
        tasks = [
            loop.Task(lambda _: _refresh(engine, poked), claimed=False),
            *tasks,
            # NOTE: repeated at once after a failure, since Ironic is often not
            # up when all nodes are read for the first time.
            loop.Task(lambda _: _refresh_all(engine),
                      conf.ironic.full_poll_interval),
            loop.Task(lambda _: _follow(engine), conf.ironic.poll_interval),
            loop.Task(lambda _: mirror.follow_awaited(engine))]
        if engine.ironic_api.newest is None:
            tasks.append(loop.Task(lambda _: _see_version(engine), _UPGRADED,
                                   claimed=False, again=False))
    return loop.Loop('nodes', tasks, claim.Claim(
        engine, 'mirror', claim.new_owner(), conf.ironic.claim_ttl))


def _refresh(engine: Engine, poked: queue.SimpleQueue[str]) -> None:
    uuids = set()
    while not poked.empty():
        uuids.add(poked.get())
    for uuid in uuids:
        mirror.refresh_node(engine, uuid)


def _see_version(engine: Engine) -> None:
    assert engine.ironic is not None
    engine.ironic_api.see(engine.ironic.newest_version())


def _refresh_all(engine: Engine) -> None:
    mirror.refresh_all(engine)
    leasable.sync(engine)


def _follow(engine: Engine) -> None:
    mirror.refresh_changed(engine)
    leasable.sync(engine)
    mirror.settle_starting(engine)
    usage.record_deployments(engine)
    lease_no_show.wake(engine)
    lease_health.check(engine)


def outcomes(engine: Engine, ironic: ironic_client.Ironic) -> loop.Loop:
    """Return the loop that finds out unknown outcomes of requests."""
    requests = uncertain.Uncertain(engine, ironic)
    return loop.Loop('outcomes', (
        loop.Task(requests.look, engine.conf.ironic.poll_interval),
    ), claim.Claim(engine, 'outcomes', claim.new_owner(),
                   engine.conf.guard.claim_ttl))


def answers(engine: Engine) -> loop.Loop:
    """Return the loop that writes outcomes that this process remembers."""
    return loop.Loop('answers', (
        loop.Task(lambda _: engine.unwritten.write(engine.timer)),))


def dates(engine: Engine) -> loop.Loop:
    """Return the loop for leases whose dates are open."""
    options = engine.conf.leases
    queue = long_queue.LongQueue()
    return loop.Loop('dates', (
        loop.Task(lambda _: lease_fix.fix(engine), options.fix_interval),
        loop.Task(lambda goes_on: lease_pull.pull(engine, goes_on, queue),
                  options.queue_interval),
    ), claim.Claim(engine, 'dates', claim.new_owner(), options.claim_ttl))


def projects(engine: Engine) -> loop.Loop:
    """Return the loop that ends the leases of projects that are gone."""
    there = keystone_projects.KeystoneProjects(engine.conf)
    return loop.Loop('projects', (loop.Task(
        lambda goes_on: gone_projects.end(engine, there, goes_on),
        gone_projects.interval(engine), again=False),), claim.Claim(
            engine, 'projects', claim.new_owner(),
            engine.conf.leases.claim_ttl))


def maintenance(engine: Engine, ironic: ironic_client.Ironic) -> loop.Loop:
    """Return the loop that puts nodes into maintenance for their windows."""
    return loop.Loop('maintenance', (loop.Task(
        lambda goes_on: maintenance_sync.sync(engine, ironic, goes_on),
        engine.conf.ironic.poll_interval),), claim.Claim(
            engine, 'maintenance', claim.new_owner(),
            engine.conf.ironic.claim_ttl))


def placement(engine: Engine) -> loop.Loop:
    """Return the loop that keeps Placement in agreement with our rows.

    :param engine: an engine with a client of Placement.
    """
    options = engine.conf.placement
    hosts = compute_mirror.ComputeMirror(engine)
    # NOTE: failed tasks wait for their interval, so that a Placement that is
    # in trouble gets no additional load.
    tasks = [loop.Task(lambda _: placement_sync.recover(engine),
                       options.recover_interval),
             loop.Task(lambda _: hosts.refresh(), options.hosts_interval,
                       again=False)]
    if options.audit_interval:
        tasks.append(loop.Task(
            lambda _: placement_sync.audit(engine, options.repair),
            options.audit_interval, again=False))
    return loop.Loop('placement', tasks, claim.Claim(
        engine, 'holds', claim.new_owner(), options.claim_ttl))


def webhook(engine: Engine, number: int, url: str) -> loop.Loop:
    """Return the loop that sends notices to a webhook.

    NOTE: one loop for each, so that a silent webhook holds up no other.

    :param number: the number of the webhook, for the log, since its URL may
        be a secret.
    """
    return loop.Loop(f'webhook-{number}', (
        loop.Task(lambda goes_on: webhooks.deliver(engine, url, goes_on)),))


def enforcement(engine: Engine) -> list[loop.Loop]:
    """Return the loops that report leases to the enforcement service."""
    return [
        loop.Loop('enforcement', (loop.Task(
            lambda goes_on: enforcement_commits.deliver(engine, goes_on)),)),
        loop.Loop('enforcement-terms', (
            loop.Task(lambda goes_on: enforcement_commits.catch_up(
                engine, goes_on), _CLEAN_UP, again=False),
        ), claim.Claim(engine, 'enforcement', claim.new_owner(),
                       engine.conf.notices.claim_ttl))]


def soon(engine: Engine) -> loop.Loop:
    """Return the loop that looks for leases that start soon."""
    return loop.Loop('notices', (
        loop.Task(lambda _: before_start.write(engine), _SOON),
    ), claim.Claim(engine, 'notices', claim.new_owner(),
                   engine.conf.notices.claim_ttl))


def mail(engine: Engine) -> loop.Loop:
    """Return the loop that mails digests."""
    options = engine.conf.notices
    return loop.Loop('mail', (
        loop.Task(lambda goes_on: mail_digests.send(engine, goes_on)),
    ), claim.Claim(engine, 'mail', claim.new_owner(),
                   options.claim_ttl + 2 * options.mail_timeout))


class Reconciler:
    """The loops of this process.

    :ivar pid: the id of the process that made it.
    :ivar nodes: the loop that mirrors nodes.
    :ivar placement: the loop for Placement, if it is enabled.
    """

    def __init__(self, engine: Engine) -> None:
        self._poked: queue.SimpleQueue[str] = queue.SimpleQueue()
        self._ended = threading.Event()
        self._engine = engine
        self.pid = os.getpid()
        self.nodes = nodes(engine, self._poked)
        self.placement = (placement(engine) if engine.placement is not None
                          else None)
        self._all: list[loop.Loop | lease_workers.LeaseWorkers] = [
            self.nodes, answers(engine), dates(engine)]
        if engine.ironic is not None:
            self._all += [lease_workers.LeaseWorkers(engine),
                          outcomes(engine, engine.ironic),
                          maintenance(engine, engine.ironic)]
        if gone_projects.wanted(engine):
            self._all.append(projects(engine))
        if self.placement is not None:
            self._all.append(self.placement)
        if notices.wanted(engine.conf):
            self._all.append(soon(engine))
        if engine.conf.notices.mail_host is not None:
            self._all.append(mail(engine))
        if enforcement_commits.wanted(engine.conf):
            self._all += enforcement(engine)
        self._all += [webhook(engine, number, url) for number, url in
                      enumerate(dict.fromkeys(
                          engine.conf.notices.webhook_urls), 1)]

    def start(self) -> None:
        """Start the threads of the loops."""
        for each in self._all:
            each.start()

    def end(self) -> None:
        """Let :meth:`run` return."""
        self._ended.set()

    def stop(self) -> None:
        """Stop, and let other processes take over at once."""
        self._ended.set()
        for each in self._all:
            each.end()
        for each in self._all:
            each.stop()
        outbox_claims.let_go(self._engine, at_once=True)

    def run(self) -> None:
        """Run until :meth:`end`."""
        self.start()
        self._ended.wait()
        self.stop()

    def poke(self, node_uuid: str) -> None:
        """Mirror a node again soon, since something has happened to it."""
        self._poked.put(node_uuid)


_running: Reconciler | None = None
_running_lock = threading.Lock()


def start(engine: Engine) -> Reconciler:
    """Start the reconciler of this process, unless it runs.

    It also fills the snapshot, in a thread of its own.

    To be called with each request, since a server that forks after loading
    leaves the threads in the parent, so each child has to start its own.
    """
    global _running
    running = _running
    if running is not None and running.pid == os.getpid():
        return running
    with _running_lock:
        if _running is None or _running.pid != os.getpid():
            _running = Reconciler(engine)
            _running.start()
            # NOTE: so that no request has to wait for the first snapshot.
            engine.snapshots.fill(engine.database, engine.clock)
        return _running


def current() -> Reconciler | None:
    """Return the reconciler of this process, if it runs."""
    return _running
