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

"""Planning again when another process has committed first."""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Iterator
import contextlib
import random
import time
from typing import TypeVar

from ironic_reservations import clock
from ironic_reservations import errors
from ironic_reservations.db import connection

_T = TypeVar('_T')

_ATTEMPTS = 40
_PAUSE = 0.002
#: No further attempt is begun after so many seconds.
_WITHIN = 15.0
#: How long, in seconds, a database is given that was lost in a COMMIT.
_BREATH = 0.2


def until_committed(attempt: Callable[[], _T],
                    look: Callable[[], _T | None] | None = None,
                    repeatable: bool = False) -> _T:
    """Return what a plan and its commit give, once nobody is in the way.

    Each conflict means that somebody else got through, so that this ends;
    the bounds are for locks of the dead, and for what nobody thought of.

    Where the database does not say what became of a COMMIT, a request that
    can be made twice is: once more, after a look at what it has done.  From
    then on only success is certain: whatever else comes of it, the COMMIT of
    before may still take effect.

    :param attempt: takes a new snapshot, plans and commits.
    :param look: Return what an earlier attempt of this request has committed,
        ``None`` where nothing of it is to be seen; for a request that can be
        made twice.
    :param repeatable: whether it can be, without a look.
    :raises Contention: it was outrun every time, or for too long.
    :raises OutcomeUnknown: what was asked for may or may not have been done.
    """
    deadline = clock.elapsed() + _WITHIN
    unsure: errors.OutcomeUnknown | None = None
    for count in range(_ATTEMPTS):
        pause = random.uniform(0, _PAUSE * min(count + 1, 10))
        try:
            if unsure is not None and look is not None:
                found = look()
                if found is not None:
                    return found
            return attempt()
        except connection.Conflict:
            pass
        except errors.OutcomeUnknown as exc:
            if unsure is not None or not (repeatable or look):
                raise
            unsure, pause = exc, _BREATH
        except errors.ReservationError as exc:
            if unsure is None:
                raise
            raise unsure from exc
        if clock.elapsed() >= deadline:
            break
        time.sleep(pause)
    if unsure is not None:
        raise unsure
    raise errors.Contention(
        'Other requests changed the same nodes each time that this request '
        'was planned. Nothing was changed; try again.')


@contextlib.contextmanager
def committed() -> Iterator[None]:
    """Raise what is true where the database is lost after a commit.

    :raises OutcomeUnknown: it has been; what was asked for is not whole, or
        cannot be shown.
    """
    try:
        yield
    except (errors.DatabaseUnavailable, errors.Contention) as exc:
        raise errors.OutcomeUnknown from exc
