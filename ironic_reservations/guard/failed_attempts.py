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

"""Limit requests that Ironic refuses again and again.

The timeline admits a request before Ironic applies its policy, and in between
no caller can reserve the node. So a caller who may only read a node could
block it by repeating such requests.

Each process counts by itself, so N processes allow N times as many.
"""

from __future__ import annotations

from collections.abc import Callable
import math
import threading

from ironic_reservations import clock
from ironic_reservations import errors
from ironic_reservations.api import wsgi
from ironic_reservations.guard import callers
from ironic_reservations.guard import resolve

#: How many failures in a row a caller may have with one node, and the seconds
#: after which one more is allowed.
BURST = 5
PAUSE = 5.0
#: A failure of the holder of the node costs so many seconds instead, if the
#: refusal is not one of Ironic's policy: Ironic checks the arguments of a
#: request before it applies its policy, so a reader may get the same answer.
HOLDERS_PAUSE = 1.0
#: At most so many pairs of a caller and a node are remembered.
REMEMBERED = 5000
_CONFLICT = 409

#: From this status on, the outcome is not known, and the node is kept longer.
_FAILED = 500
#: Ironic's policy answers so; a node that the caller may not see is not found.
_NOT_ALLOWED = (403, 404)

#: Whether the proof was shown, the user, the project and the node.
_Who = tuple[bool, str | None, str | None, str]


class FailedAttempts:
    """Counts requests that Ironic refused, by caller and node.

    :param who: identifies callers.
    :param timer: returns monotonic seconds.
    """

    def __init__(self, who: callers.Callers, timer: clock.Timer) -> None:
        self._callers = who
        self._timer = timer
        self._lock = threading.Lock()
        #: When the last failure of each pair is forgotten.
        self._forgotten_at: dict[_Who, float] = {}

    def __len__(self) -> int:
        """Return the number of pairs that are remembered."""
        return len(self._forgotten_at)

    def limited(self, node: callers.Node, proof: str | None,
                ask: Callable[[], wsgi.Answer],
                held: Callable[[], bool] = lambda: False) -> wsgi.Answer:
        """Return Ironic's answer, unless it has refused too many before.

        Administrators and services are not limited. The holder of the node is:
        a reservation does not expire while a request with its proof runs, and
        a reader of the holder's project could prolong it for ever.

        :param node: the node as the caller sees it.
        :param proof: the proof that the caller shows, if ``ask`` refuses
            invalid ones.
        :param ask: sends the request to Ironic.
        :param held: returns, after the request, whether the node had a holder;
            then the request blocked it for no other caller.
        :raises TooManyFailures: Ironic has refused too many; the request was
            not sent.
        """
        if self._callers.trusted(node):
            return ask()
        context = self._callers.context(node.caller)
        proven = proof is not None
        who = (proven, context.user_id, context.project_id, node.uuid)
        # Counted before the answer, because of concurrent requests.
        self._count(who)
        cost = 0.0
        try:
            answer = ask()
            cost = _cost(answer.status, proven or held())
            return answer
        except errors.ReservationError:
            # A refusal of the guard keeps the node from nobody.
            raise
        except resolve.RefusedByIronic as refused:
            cost = _cost(refused.answer.status, proven or held())
            raise
        except Exception:
            cost = _cost(_FAILED, proven or held())
            raise
        finally:
            self._refund(who, PAUSE - cost)

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

    def _refund(self, who: _Who, seconds: float) -> None:
        with self._lock:
            if who in self._forgotten_at:
                self._forgotten_at[who] -= seconds
                if self._forgotten_at[who] <= self._timer():
                    del self._forgotten_at[who]


def _cost(status: int, held: bool) -> float:
    """Return the seconds that an answer of Ironic costs the caller.

    A conflict is caused by another request, so it costs nothing. An error of
    Ironic costs, since some requests fail in it before it applies its policy.
    """
    if status < 400 or status == _CONFLICT:
        return 0.0
    return HOLDERS_PAUSE if held and status not in _NOT_ALLOWED else PAUSE
