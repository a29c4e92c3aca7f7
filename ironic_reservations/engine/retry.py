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

"""Repeat a plan and its commit when another process has committed first.

Rows that are not part of the timeline are written here, too.
"""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Iterator
import contextlib
import itertools
import random
import time
from typing import TypeVar

from oslo_log import log
import sqlalchemy as sa

from ironic_reservations import clock
from ironic_reservations import errors
from ironic_reservations.db import connection
from ironic_reservations.engine import Engine
from ironic_reservations.engine import hard_requests

LOG = log.getLogger(__name__)

_T = TypeVar('_T')

_PAUSE = 0.002
#: The seconds from the first attempt to the last one, if an attempt had to
#: wait for a lock.  The lock may belong to a dead host.
_LOCKED = 15.0
#: The same, if another request was quicker.  Each conflict means progress, and
#: on a busy machine an attempt takes long and often fails.
_OUTRUN = 30.0
#: The seconds to wait after the database was lost in a COMMIT.
_BREATH = 0.2


def until_committed(attempt: Callable[[], _T],
                    find: Callable[[], _T | None] | None = None,
                    repeatable: bool = False) -> _T:
    """Repeat an attempt until it commits; return its result.

    Each conflict means that another request has succeeded, so the repetition
    ends; the limits are for locks of dead processes and for unforeseen cases.

    If the outcome of a COMMIT is unknown, a request that is safe to repeat is
    repeated, after a search for its rows.  From then on, only success is
    certain: after any failure, the earlier COMMIT may still take effect.

    :param attempt: takes a new snapshot, plans and commits.
    :param find: returns the result of an earlier attempt of this request, or
        ``None``; with it, the request is safe to repeat.
    :param repeatable: whether the request is safe to repeat without ``find``.
    :raises Contention: other requests, or a lock, delayed this one for too
        long.
    :raises OutcomeUnknown: the request may or may not have been carried out.
    """
    began = clock.elapsed()
    unsure: errors.OutcomeUnknown | None = None
    for count in itertools.count(1):
        pause = random.uniform(0, _PAUSE * min(count, 50))
        limit, why = _OUTRUN, ''
        try:
            if unsure is not None and find is not None:
                found = find()
                if found is not None:
                    return found
            return attempt()
        except connection.Conflict as exc:
            why = str(exc).partition('\n')[0]
            hard_requests.renew()
            if isinstance(exc, connection.Locked):
                limit = _LOCKED
        except errors.OutcomeUnknown as exc:
            if unsure is not None or not (repeatable or find):
                raise
            unsure, pause = exc, _BREATH
        except errors.ReservationError as exc:
            if unsure is None:
                raise
            raise unsure from exc
        took = clock.elapsed() - began
        if took >= limit:
            LOG.warning('Gave up after %(count)d attempts in %(took).1f s; '
                        'the last was in conflict with another request: '
                        '%(why)s', {'count': count, 'took': took, 'why': why})
            break
        time.sleep(pause)
    if unsure is not None:
        raise unsure
    raise errors.Contention(
        'Other requests changed the same nodes each time that this request '
        'was planned. Nothing was changed; try again.')


def write(engine: Engine, statements: Callable[[sa.Connection], _T],
          repeatable: bool = False) -> _T:
    """Write rows in one transaction; repeat it until it commits.

    :param statements: called in each attempt; reads the clock itself, since
        attempts may take long.
    :param repeatable: as for :func:`until_committed`.
    :raises Contention: as :func:`until_committed`.
    :raises OutcomeUnknown: the rows may or may not have been written.
    """
    def attempt() -> _T:
        with engine.database.write() as opened:
            return statements(opened)
    return until_committed(attempt, repeatable=repeatable)


def write_once(engine: Engine,
               statements: Callable[[sa.Connection], object]) -> bool:
    """Write rows in one transaction, but do not repeat it after a conflict.

    :returns: whether it was committed.
    :raises OutcomeUnknown: the rows may or may not have been written.
    """
    try:
        with engine.database.write() as opened:
            statements(opened)
    except connection.Conflict as exc:
        LOG.debug('Nothing was written, since another transaction was in the '
                  'way: %s', exc)
        return False
    return True


@contextlib.contextmanager
def committed() -> Iterator[None]:
    """Translate the loss of the database after a commit.

    :raises OutcomeUnknown: the database was lost; the request is not complete,
        or its result cannot be shown.
    """
    try:
        yield
    except (errors.DatabaseUnavailable, errors.Contention,
            connection.Conflict) as exc:
        raise errors.OutcomeUnknown from exc
