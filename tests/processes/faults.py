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


"""What goes wrong, by the seed: great faults one after another, small beside.

Each is recorded once it has happened, with what it was that it hit: a
request under way, a statement, a transaction that has written.  One that
finds nothing to hit is none.
"""

from __future__ import annotations

from collections.abc import Callable
import contextlib
import functools
import random
import threading
import time

import sqlalchemy as sa

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
#: For how long one that was killed stays away, in seconds.
_DOWN = (0.0, 4.0)
#: How long a statement that writes is held back, in seconds.
_LONGEST_WRITE = 6.0
#: How often it is a write that is held back, and not just any request.
_WRITES = 0.9
#: How often one looks, in seconds.
_SOON = 0.2
#: How much may wait in one place for something to hit.
_WAITING = 4
#: For how long something to hit is waited for, in seconds.
_PATIENCE = 1.0
_OFTEN = 0.002
#: How much longer than it is stopped for a moment one is awake that is alone.
_AWAKE = 3
#: How long small faults last, in seconds: the least and the most.
_BLINK = (0.05, 1.5)
_SHORT = (0.05, 1.5)
_ANSWER = (0.1, 4.0)
_MUTE = (2.0, 12.0)
_WRONG = (0.5, 4.0)
#: What may be delivered twice: whoever asks says which one it is.
_TWICE = (b'/v1/reservations', b'/v1/leases', b'/v1/maintenances',
          b'/states/provision')
#: Sessions of a database that are in a transaction which has written, and
#: how one is ended.
_SESSIONS = {
    'postgresql': (
        'SELECT pid FROM pg_stat_activity WHERE datname = :name AND '
        'backend_xid IS NOT NULL AND pid <> pg_backend_pid()',
        'SELECT pg_terminate_backend(:session)'),
    'mysql': (
        'SELECT trx_mysql_thread_id FROM information_schema.innodb_trx '
        'JOIN information_schema.processlist ON id = trx_mysql_thread_id '
        'WHERE db = :name AND trx_rows_modified > 0 '
        'AND id <> connection_id()',
        'KILL :session')}
#: What a conductor is asked to do to a node.
_ACTS = (b'do_node_deploy', b'do_node_tear_down', b'update_node',
         b'create_allocation', b'do_provisioning_action',
         b'change_node_power_state')


def _acts(request: bytes) -> bool:
    return any(word in request for word in _ACTS)


def _repeatable(request: bytes) -> bool:
    line = request.split(b'\r\n', 1)[0]
    return balancer.writes(request) and any(word in line for word in _TWICE)


class Faults:
    """Lets things go wrong until the storm is over.

    NOTE: what goes wrong with servers of the storm's own comes beside all
    else.
    """

    def __init__(self, over_there: cloud.Cloud, choice: random.Random,
                 written: journal.Journal, over: threading.Event,
                 seed: str = '') -> None:
        self._cloud = over_there
        self._choice = choice
        self._written = written
        self._over = over
        self._servers = over_there.servers
        # NOTE: so that it is not over before they are there again.
        self._disturbing = threading.Lock()
        self._not_mended: Exception | None = None
        self._seed = seed
        self._lock = threading.Lock()
        # NOTE: so that no two clocks are far off.
        self._clocks = threading.Lock()
        self._mix = over_there.mix
        self._times = over_there.times
        self._later: list[threading.Timer] = []
        #: Until when each process is kept from working by what is great.
        self._great_until: dict[str, float] = {}

    def run(self) -> None:
        """Let something great happen every few seconds."""
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
        if self._mix.trouble:
            self._cloud.raging.touch()
        often = [self._mix.faults.get(name, 0) for name in faults]
        if not any(often):
            return
        while not self._over.wait(self._choice.uniform(*self._mix.pause)):
            fault, = self._choice.choices(list(faults.values()), often)
            fault()

    def disturb_servers(self, choice: random.Random) -> None:
        """Let one thing after another go wrong with the servers."""
        servers = self._servers
        while servers is not None and not self._over.wait(
                choice.uniform(*servers.pause)):
            with self._disturbing:
                if self._over.is_set():
                    break
                try:
                    # NOTE: nothing is under way with servers that are gone.
                    servers.disturb(choice, functools.partial(
                        self.tell, hit=self._wait_for_any()))
                except Exception as exc:
                    # NOTE: the storm itself has failed: end() says so.
                    self._not_mended = exc
                    raise

    def gust(self, choice: random.Random) -> None:
        """Let small things happen, several a second."""
        small: dict[str, Callable[[random.Random], None]] = {
            'blink': self._blink, 'set_clock': self._set_clock,
            'slow_answer': self._slow_answer,
            'lost_answer': self._lost_answer, 'repeat': self._repeat,
            'cut_request': self._cut_request, 'short_hold': self._short_hold}
        if self._cloud.rpc:
            small['rpc'] = self._rpc
        if self._cloud.proxies:
            small |= {'kill_session': self._kill_session, **{
                name: functools.partial(self._to_a_write, how, within)
                for name, how, within in (
                    ('cut_write', database_proxy.CUT_WRITE, (0.0, 0.0)),
                    ('cut_commit', database_proxy.CUT, (0.0, 0.0)),
                    ('swallow', database_proxy.SWALLOW, (0.0, 0.0)),
                    ('slow_commit', database_proxy.SLOW, _SHORT),
                    ('short_write', database_proxy.HOLD, _SHORT),
                    ('mute', database_proxy.MUTE, _MUTE))}}
        often = [self._mix.gusts.get(name, 0) for name in small]
        while any(often) and not self._over.wait(
                choice.uniform(*self._mix.gust_pause)):
            fault, = choice.choices(list(small.values()), often)
            # NOTE: a server that is being restarted has no sessions.
            with contextlib.suppress(sa.exc.DBAPIError):
                fault(choice)

    def end(self) -> None:
        """End all faults, and have everything run again."""
        self._cloud.raging.unlink(missing_ok=True)
        with self._disturbing:
            if self._not_mended is not None:
                raise self._not_mended
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
            which.set_clock(0.0)
            which.start()
        for which in self._cloud.processes:
            which.wait()
        # NOTE: what is held back is a fault until it has been delivered.
        while any(each.holds for each in between):
            time.sleep(_SOON)
        self.tell('calm')

    def tell(self, fault: str, **more: object) -> None:
        """Record a fault."""
        self._written.write('fault', fault=fault, at=journal.now(),
                            seed=self._seed, **more)

    def _wait_for_any(self) -> bool:
        """Wait until a process is at work on its rows; return whether."""
        end = time.monotonic() + _PATIENCE
        while time.monotonic() < end:
            if any(proxy.busy for proxy in self._cloud.proxies.values()):
                return True
            time.sleep(_OFTEN)
        return False

    def _some(self) -> process.Process:
        return self._choice.choice(self._cloud.processes)

    def _after(self, seconds: float, what: Callable[[], None]) -> None:
        timer = threading.Timer(seconds, what)
        timer.daemon = True
        with self._lock:
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
            works = time.monotonic() - self._great_until.get(which.name, 0.0)
            return which.serves and works > _WORKS
        return (any(each.serves for each in others)
                or self._choice.random() < _ALONE)

    def _kill(self) -> None:
        which = self._some()
        self._wait_for(which)
        if which.running and self._may_go(which):
            self._kill_now(which, 'kill')

    def _kill_now(self, which: process.Process, fault: str) -> None:
        hit = self._cloud.busy(which)
        which.kill()
        self._great_until[which.name] = time.monotonic() + _DOWN[1]
        off = self._off(which, self._choice)
        self.tell(fault, process=which.name, off=off,
                  hit=hit or fault != 'kill')
        down = self._choice.uniform(*_DOWN)
        self._after(down, lambda: which.start(off))
        self._set_right(which, off, self._choice, down)

    def _set_right(self, which: process.Process, off: float,
                   choice: random.Random, after: float = 0.0) -> None:
        """Set a clock right again soon, if nothing is done by it."""
        if abs(off) > _BAD:
            self._after(after + choice.uniform(*_WRONG),
                        lambda: which.set_clock(0.0))

    def _off(self, which: process.Process, choice: random.Random) -> float:
        """Return by how much the clock of a process may be off."""
        off = (0.0 if which.role == 'conductor'
               else choice.choice(self._mix.off))
        alone = len(self._cloud.of(which.role)) == 1
        if any(abs(each.off) > _BAD for each in self._cloud.processes
               if each is not which) or (
                   alone and choice.random() >= _ALONE):
            # NOTE: one at a time, or nobody is left who judges.
            off = min(max(off, -_BAD), _BAD)
        return off

    def _stop(self) -> None:
        which = self._some()
        self._wait_for(which)
        if which.running and self._may_go(which):
            self._stop_now(which, 'stop', self._long())

    def _stop_now(self, which: process.Process, fault: str,
                  seconds: float) -> None:
        others = sum(each.stopped for each in self._cloud.processes)
        hit = self._cloud.busy(which) or fault not in ('stop', 'blink')
        if others < self._mix.stopped and which.pause():
            if fault != 'blink':
                self._great_until[which.name] = time.monotonic() + seconds
            self.tell(fault, process=which.name, seconds=seconds, hit=hit)
            self._after(seconds, which.resume)

    def _hold(self) -> None:
        which = (balancer.writes if self._choice.random() < _WRITES
                 else balancer.anything)
        self._cloud.balancer.arm(
            balancer.HOLD, self._choice.uniform(2, self._times.longest_hold),
            self._meant if self._mix.held else which)

    def _meant(self, request: bytes) -> bool:
        return self._mix.held.encode() in request

    def _hold_rpc(self) -> None:
        """Have an API give up on a conductor, which gets it all the same."""
        held = self._choice.choice(list(self._cloud.rpc.values()))
        held.arm(balancer.HOLD, self._choice.uniform(
            1, self._times.longest_rpc_hold), _acts)

    def _proxied(self) -> tuple[process.Process,
                                database_proxy.DatabaseProxy]:
        which = self._choice.choice([
            each for each in self._cloud.processes
            if each.name in self._cloud.proxies])
        return which, self._cloud.proxies[which.name]

    def _aim(self) -> str:
        return self._choice.choice(self._mix.aims)

    def _cut(self) -> None:
        which, proxy = self._proxied()
        hit = proxy.busy
        self.tell('cut', process=which.name, connections=proxy.cut(),
                  hit=hit)

    def _refuse(self) -> None:
        seconds = self._choice.uniform(1, 5)
        self.tell('refuse', seconds=seconds, hit=any(
            proxy.busy for proxy in self._cloud.proxies.values()))
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

    # Small ones

    def _wait_for(self, which: process.Process) -> bool:
        """Wait until a process is at work on something; return whether."""
        end = time.monotonic() + _PATIENCE
        while time.monotonic() < end:
            if which.running and not which.stopped and (
                    self._cloud.busy(which)):
                return True
            time.sleep(_OFTEN)
        return False

    def _blink(self, choice: random.Random) -> None:
        which = choice.choice(self._cloud.processes)
        seconds = choice.uniform(*_BLINK)
        # NOTE: one that nobody stands in for has to come to something.
        if len(self._cloud.of(which.role)) > 1 or (
                which.undisturbed_for > _AWAKE * seconds):
            if self._wait_for(which):
                self._stop_now(which, 'blink', seconds)

    def _set_clock(self, choice: random.Random) -> None:
        """Set the clock of a process while it is at work."""
        which = choice.choice([each for each in self._cloud.processes
                               if each.role != 'conductor'])
        if not self._wait_for(which):
            return
        with self._clocks:
            off, before = self._off(which, choice), which.off
            if off == before:
                return
            which.set_clock(off)
        self.tell('set-clock', process=which.name, off=off)
        self._set_right(which, off, choice)

    def _to_a_request(self, how: str, seconds: float,
                      which: Callable[[bytes], bool]) -> None:
        if self._cloud.balancer.armed < _WAITING:
            self._cloud.balancer.arm(how, seconds, which)

    def _slow_answer(self, choice: random.Random) -> None:
        self._to_a_request(balancer.SLOW, choice.uniform(*_ANSWER),
                           balancer.writes)

    def _lost_answer(self, choice: random.Random) -> None:
        self._to_a_request(balancer.DROP, 0.0, balancer.writes)

    def _repeat(self, choice: random.Random) -> None:
        self._to_a_request(balancer.REPEAT, 0.0, _repeatable)

    def _cut_request(self, choice: random.Random) -> None:
        self._to_a_request(balancer.CUT, 0.0, balancer.anything)

    def _short_hold(self, choice: random.Random) -> None:
        self._to_a_request(balancer.HOLD, choice.uniform(*_SHORT),
                           balancer.anything)

    def _rpc(self, choice: random.Random) -> None:
        """Let a conductor be asked late, not at all, or not be heard."""
        between = choice.choice(list(self._cloud.rpc.values()))
        if between.armed < _WAITING:
            how, within = choice.choice((
                (balancer.HOLD, _SHORT), (balancer.SLOW, _SHORT),
                (balancer.DROP, (0.0, 0.0)), (balancer.CUT, (0.0, 0.0))))
            between.arm(how, choice.uniform(*within), _acts)

    def _to_a_write(self, how: str, within: tuple[float, float],
                    choice: random.Random) -> None:
        name = choice.choice(list(self._cloud.proxies))
        proxy = self._cloud.proxies[name]
        if proxy.armed < _WAITING:
            seconds = choice.uniform(*within)
            said = 'hold-write' if how == database_proxy.HOLD else how
            aim = choice.choice(self._mix.aims)
            proxy.arm(how, lambda: self.tell(
                said, process=name, seconds=seconds, aim=aim), seconds, aim)

    def _kill_session(self, choice: random.Random) -> None:
        """End a session that has written, as an operator or a failover."""
        look, end = _SESSIONS[self._cloud.kind]
        name = sa.make_url(self._cloud.ours).database
        until = time.monotonic() + _PATIENCE
        url = self._cloud.ours if self._servers is None else (
            self._servers.session_url(choice))
        if url is None:
            return
        engine = sa.create_engine(url, poolclass=sa.NullPool)
        with engine.connect() as connection:
            while time.monotonic() < until:
                found = connection.execute(
                    sa.text(look), {'name': name}).scalars().all()
                connection.rollback()
                if found:
                    session = choice.choice(found)
                    with contextlib.suppress(sa.exc.DBAPIError):
                        ended = connection.execute(
                            sa.text(end), {'session': session})
                        if not ended.returns_rows or ended.scalar():
                            self.tell('kill-session', session=session)
                    return
                time.sleep(_SOON / 10)
