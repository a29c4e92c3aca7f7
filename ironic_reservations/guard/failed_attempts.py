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

"""How often somebody may ask for what Ironic then refuses.

A request is admitted on the timeline before Ironic's policy judges it, and
while it is, nobody can reserve the node.  So whoever may only look at a node
could keep others from it, by asking again and again.

NOTE: in this process: each one has its own counts, so that N of them allow N
times as much.
"""

from __future__ import annotations

from collections.abc import Callable
import math
import threading

from ironic_reservations import clock
from ironic_reservations import errors
from ironic_reservations.api import wsgi
from ironic_reservations.guard import callers

#: How many failures somebody may have in a row with one node, and after how
#: many seconds another one.
BURST = 5
PAUSE = 5.0
#: How many callers are remembered, each with one node.
REMEMBERED = 5000
_CONFLICT = 409

_Who = tuple[str | None, str | None, str]


class FailedAttempts:
    """Counts what Ironic refused, by the caller and the node.

    :param who: tells whose word counts.
    :param timer: tells the seconds since some moment.
    """

    def __init__(self, who: callers.Callers, timer: clock.Timer) -> None:
        self._callers = who
        self._timer = timer
        self._lock = threading.Lock()
        #: When the last failure of each will be forgotten, by the timer.
        self._forgotten_at: dict[_Who, float] = {}

    def __len__(self) -> int:
        """Return how many are remembered."""
        return len(self._forgotten_at)

    def limited(self, node: callers.Node, proof: str | None,
                ask: Callable[[], wsgi.Answer]) -> wsgi.Answer:
        """Return Ironic's answer, unless it has refused too many before.

        Whoever has the node is not limited, nor an administrator or a
        service.

        :param node: as the caller sees it.
        :param proof: what the caller shows, if ``ask`` refuses one that is
            not valid.
        :param ask: has Ironic asked.
        :raises TooManyFailures: it has; nothing was asked.
        """
        if proof is not None or self._callers.trusted(node):
            return ask()
        context = self._callers.context(node.caller)
        who = (context.user_id, context.project_id, node.uuid)
        # NOTE: before the answer is known, for those that run at once.
        self._count(who)
        failed = False
        try:
            answer = ask()
            # NOTE: a conflict is with what another is doing.
            failed = (400 <= answer.status < 500
                      and answer.status != _CONFLICT)
            return answer
        finally:
            if not failed:
                self._take_back(who)

    def _count(self, who: _Who) -> None:
        with self._lock:
            now = self._timer()
            forgotten_at = max(self._forgotten_at.get(who, now), now) + PAUSE
            left = forgotten_at - BURST * PAUSE - now
            if left > 0:
                seconds = math.ceil(left)
                raise errors.TooManyFailures(
                    'Ironic has refused too many requests of yours for node '
                    f'{who[-1]}, and each of them keeps others from '
                    f'reserving it. Try again in {seconds} s.', seconds,
                    node_uuid=who[-1])
            if (who not in self._forgotten_at
                    and len(self._forgotten_at) >= REMEMBERED):
                del self._forgotten_at[min(self._forgotten_at,
                                           key=self._forgotten_at.__getitem__)]
            self._forgotten_at[who] = forgotten_at

    def _take_back(self, who: _Who) -> None:
        with self._lock:
            if who in self._forgotten_at:
                self._forgotten_at[who] -= PAUSE
                if self._forgotten_at[who] <= self._timer():
                    del self._forgotten_at[who]
