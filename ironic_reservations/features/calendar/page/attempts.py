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

"""Limits attempts to sign in, by user and at the same time.

Each process has its own counts, so N processes allow N times as many. Keystone
has its own limits, if they are configured.
"""

from __future__ import annotations

import collections
from collections.abc import Iterator
import contextlib
import hashlib
import threading

from ironic_reservations import clock
from ironic_reservations import errors

#: The maximum number of failures by user and address in WINDOW seconds.
FAILURES = 10
WINDOW = 300.0
#: The maximum number of concurrent attempts, the same for one address, the
#: same for all addresses with failures in WINDOW seconds, and the time for
#: which as many others, and as many of one address, wait, in seconds.
_AT_ONCE = 4
_OF_ADDRESS = 2
_OF_FAILED = 2
_WAIT = 1.0
#: The maximum number of remembered users and addresses.
_REMEMBERED = 10000


class Attempts:
    """Counts failures, and limits concurrent attempts.

    :param timer: a monotonic clock, in seconds.
    """

    def __init__(self, timer: clock.Timer = clock.elapsed) -> None:
        self._timer = timer
        self._lock = threading.Lock()
        self._places = threading.Condition()
        #: The number of attempts being checked, by address.
        self._checked: collections.Counter[str] = collections.Counter()
        #: The number of attempts that wait, by address.
        self._waiting: collections.Counter[str] = collections.Counter()
        #: The time of the first failure, and the number of failures since.
        self._failures: collections.OrderedDict[bytes, tuple[float, int]] = (
            collections.OrderedDict())

    @contextlib.contextmanager
    def one(self, address: str, user: str) -> Iterator[None]:
        """Allow one attempt to sign in, which is made in the block.

        :param address: the address of the client.
        :raises TooManyAttempts: the user has failed too often, or too many
            users try at once.
        """
        # Clients choose the names; a hash has a fixed size and hides them.
        who = _digest(f'{address}\0{user}')
        self._check(who)
        self._enter(address)
        try:
            # Others of the same burst may have failed during the wait.
            self._check(who)
            yield
        except errors.SignInRefused:
            self._count(who)
            self._count(_digest(address))
            raise
        else:
            with self._lock:
                self._failures.pop(who, None)
        finally:
            self._leave(address)

    def _enter(self, address: str) -> None:
        """Enter the block as soon as a place is free.

        The places of one address are limited, and so are those of all
        addresses with a failure, so that clients that guess passwords do not
        block all others.
        """
        with self._places:
            if not (self._has_place(address) or self._wait(address)):
                raise errors.TooManyAttempts(
                    'Too many users are signing in at the same time. Try '
                    'again in a moment.', 1)
            self._checked[address] += 1

    def _wait(self, address: str) -> bool:
        """Return whether a place becomes free within a moment.

        Only a few wait: each occupies a thread of the API.
        """
        if (self._waiting.total() >= _AT_ONCE
                or self._waiting[address] >= _OF_ADDRESS):
            return False
        self._waiting[address] += 1
        try:
            return self._places.wait_for(lambda: self._has_place(address),
                                         _WAIT)
        finally:
            self._waiting[address] -= 1
            self._waiting += collections.Counter()

    def _has_place(self, address: str) -> bool:
        if self._checked.total() >= _AT_ONCE or (
                self._checked[address] >= _OF_ADDRESS):
            return False
        return not self._has_failed(address) or _OF_FAILED > sum(
            number for each, number in self._checked.items()
            if self._has_failed(each))

    def _has_failed(self, address: str) -> bool:
        """Return whether an attempt from an address has failed recently."""
        with self._lock:
            found = self._failures.get(_digest(address))
        return found is not None and self._timer() < found[0] + WINDOW

    def _leave(self, address: str) -> None:
        with self._places:
            self._checked[address] -= 1
            # Adding an empty counter removes addresses with a count of zero.
            self._checked += collections.Counter()
            self._places.notify_all()

    def _check(self, who: bytes) -> None:
        now = self._timer()
        with self._lock:
            since, failures = self._failures.get(who, (now, 0))
            left = since + WINDOW - now
            if left <= 0:
                del self._failures[who]
            elif failures >= FAILURES:
                raise errors.TooManyAttempts(
                    f'This user has failed to sign in {FAILURES} times from '
                    f'this address. Try again in {left:.0f} s.',
                    max(1, round(left)))

    def _count(self, who: bytes) -> None:
        now = self._timer()
        with self._lock:
            since, failures = self._failures.get(who, (now, 0))
            if now >= since + WINDOW:
                since, failures = now, 0
            self._failures[who] = since, failures + 1
            self._failures.move_to_end(who)
            while len(self._failures) > _REMEMBERED:
                self._failures.popitem(last=False)


def _digest(text: str) -> bytes:
    return hashlib.sha256(text.encode('utf-8', 'surrogatepass')).digest()
