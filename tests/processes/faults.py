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


"""What goes wrong, one thing after another, by the seed."""

from __future__ import annotations

from collections.abc import Callable
import random
import threading
import time

from tests.processes import balancer
from tests.processes import cloud
from tests.processes import database_proxy
from tests.processes import journal
from tests.processes import process

#: A process whose wall clock is off by more, in seconds, may refuse to work.
_BAD = 4.5
#: How often the last of a kind goes, too.
_ALONE = 0.1
#: For how long, in seconds, one that is alone is left at work.
_WORKS = 8.0
#: How long a statement that writes is held back, in seconds.
_LONGEST_WRITE = 6.0
#: How often it is a write that is held back, and not just any request.
_WRITES = 0.9
#: How often one looks, in seconds.
_SOON = 0.2
#: What a conductor is asked to do to a node.
_ACTS = (b'do_node_deploy', b'do_node_tear_down', b'update_node',
         b'create_allocation', b'do_provisioning_action')


def _acts(request: bytes) -> bool:
    return any(word in request for word in _ACTS)


class Faults:
    """A thread that lets things go wrong until the storm is over.

    :param restart_database: restarts the server of the databases, for those
        who can; else connections are cut and refused for a while.
    """

    def __init__(self, over_there: cloud.Cloud, choice: random.Random,
                 written: journal.Journal, over: threading.Event,
                 restart_database: Callable[[], None] | None = None) -> None:
        self._cloud = over_there
        self._choice = choice
        self._written = written
        self._over = over
        self._restart = restart_database
        self._mix = over_there.mix
        self._times = over_there.times
        self._later: list[threading.Timer] = []

    def run(self) -> None:
        """Let something happen every few seconds."""
        faults: dict[str, Callable[[], None]] = {
            'kill': self._kill, 'stop': self._stop, 'hold': self._hold}
        if self._cloud.rpc:
            faults['hold_rpc'] = self._hold_rpc
        if self._cloud.proxies:
            faults |= {'cut': self._cut, 'refuse': self._refuse,
                       'swallow': self._swallow,
                       'stop_at_commit': self._stop_at_commit,
                       'kill_at_commit': self._kill_at_commit,
                       'hold_write': self._hold_write}
        often = [self._mix.faults.get(name, 0) for name in faults]
        if not any(often):
            return
        while not self._over.wait(self._choice.uniform(*self._mix.pause)):
            fault, = self._choice.choices(list(faults.values()), often)
            fault()

    def end(self) -> None:
        """End all faults, and have everything run again."""
        for timer in self._later:
            timer.cancel()
        between = (self._cloud.balancer, *self._cloud.rpc.values())
        for each in between:
            each.release()
        for proxy in self._cloud.proxies.values():
            proxy.refuse(False)
            proxy.disarm()
        for which in self._cloud.processes:
            which.resume()
            # NOTE: clocks are right again, too.
            if which.off:
                which.kill()
            which.start()
        for which in self._cloud.processes:
            which.wait()
        # NOTE: what is held back is a fault until it has been delivered.
        while any(each.holds for each in between):
            time.sleep(_SOON)
        self.tell('calm')

    def tell(self, fault: str, **more: object) -> None:
        """Record a fault."""
        self._written.write('fault', fault=fault, at=journal.now(), **more)

    def _some(self) -> process.Process:
        return self._choice.choice(self._cloud.processes)

    def _after(self, seconds: float, what: Callable[[], None]) -> None:
        timer = threading.Timer(seconds, what)
        timer.daemon = True
        self._later = [each for each in self._later if each.is_alive()]
        self._later.append(timer)
        timer.start()

    def _long(self) -> float:
        return self._choice.uniform(self._times.shortest_stop,
                                    self._times.longest_stop)

    def _may_go(self, which: process.Process) -> bool:
        """Return whether others of its kind are there in its place.

        NOTE: where there is one of its kind only, it gets its time to work.
        """
        others = [each for each in self._cloud.of(which.role)
                  if each is not which]
        if not others:
            return which.serves and which.undisturbed_for > _WORKS
        return (any(each.serves for each in others)
                or self._choice.random() < _ALONE)

    def _kill(self) -> None:
        which = self._some()
        if which.running and self._may_go(which):
            self._kill_now(which, 'kill')

    def _kill_now(self, which: process.Process, fault: str) -> None:
        which.kill()
        off = (0.0 if which.role == 'conductor'
               else self._choice.choice(self._mix.off))
        if any(abs(each.off) > _BAD for each in self._cloud.processes
               if each is not which):
            # NOTE: one at a time, or nobody is left who judges.
            off = min(max(off, -_BAD), _BAD)
        self.tell(fault, process=which.name, off=off)
        self._after(self._choice.uniform(0, 4), lambda: which.start(off))

    def _stop(self) -> None:
        which = self._some()
        if which.running and self._may_go(which):
            self._stop_now(which, 'stop', self._long())

    def _stop_now(self, which: process.Process, fault: str,
                  seconds: float) -> None:
        others = sum(each.stopped for each in self._cloud.processes)
        if others < self._mix.stopped and which.pause():
            self.tell(fault, process=which.name, seconds=seconds)
            self._after(seconds, which.resume)

    def _hold(self) -> None:
        which = (balancer.writes if self._choice.random() < _WRITES
                 else balancer.anything)
        self._cloud.balancer.hold(
            self._choice.uniform(2, self._times.longest_hold),
            self._meant if self._mix.held else which)

    def _meant(self, request: bytes) -> bool:
        return self._mix.held.encode() in request

    def _hold_rpc(self) -> None:
        """Have an API give up on a conductor, which gets it all the same."""
        held = self._choice.choice(list(self._cloud.rpc.values()))
        held.hold(self._choice.uniform(1, self._times.longest_rpc_hold), _acts)

    def _proxied(self) -> tuple[process.Process,
                                database_proxy.DatabaseProxy]:
        which = self._choice.choice([
            each for each in self._cloud.processes
            if each.name in self._cloud.proxies])
        return which, self._cloud.proxies[which.name]

    def _aim(self) -> str:
        return self._choice.choice(self._mix.aims) if self._mix.aims else ''

    def _cut(self) -> None:
        which, proxy = self._proxied()
        self.tell('cut', process=which.name, connections=proxy.cut())

    def _refuse(self) -> None:
        seconds = self._choice.uniform(1, 5)
        if self._restart is not None:
            self.tell('restart-database')
            self._restart()
            return
        self.tell('refuse', seconds=seconds)
        for proxy in self._cloud.proxies.values():
            proxy.refuse(True)
            proxy.cut()

        def take_again() -> None:
            for proxy in self._cloud.proxies.values():
                proxy.refuse(False)
        self._after(seconds, take_again)

    def _swallow(self) -> None:
        which, proxy = self._proxied()
        proxy.arm(database_proxy.SWALLOW, lambda: self.tell(
            'swallow', process=which.name), aim=self._aim())

    def _hold_write(self) -> None:
        which, proxy = self._proxied()
        seconds = self._choice.uniform(0.5, _LONGEST_WRITE)
        proxy.arm(database_proxy.HOLD, lambda: self.tell(
            'hold-write', process=which.name, seconds=seconds), seconds,
            self._aim())

    def _stop_at_commit(self) -> None:
        which, proxy = self._proxied()
        seconds = self._long()
        how = self._choice.choice((database_proxy.AFTER,
                                   database_proxy.AFTER,
                                   database_proxy.BEFORE))
        proxy.arm(how, lambda: self._stop_now(
            which, f'stop-{how}-commit', seconds), aim=self._aim())

    def _kill_at_commit(self) -> None:
        which, proxy = self._proxied()
        if self._may_go(which):
            proxy.arm(database_proxy.AFTER, lambda: self._kill_now(
                which, 'kill-after-commit'), aim=self._aim())
