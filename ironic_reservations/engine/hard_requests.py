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

"""Limits how many hard requests a process plans at once.

A hard request takes some tenths of a second of processor time. Without a
limit, one project could occupy all threads of a process, and nobody else would
be answered.
"""

from __future__ import annotations

import collections
from collections.abc import Iterator
import contextlib
import contextvars
import dataclasses
import threading

from oslo_config import cfg

from ironic_reservations import errors
from ironic_reservations.planner import budget
from ironic_reservations.planner import planning

#: The seconds after which a client should try again.
_AGAIN = 2

_limits: contextvars.ContextVar[budget.Limits] = contextvars.ContextVar(
    'ironic_reservations_limits', default=planning.LIMITS)


def limits() -> budget.Limits:
    """Return the limits for plans of the request that this thread serves.

    All plans of a request share one budget. Plans of a reconciler have limits
    of their own.
    """
    return _limits.get()


def unlock_offers() -> budget.Limits:
    """Return the limits for the offers that follow a refusal.

    NOTE: some work of a request was kept for them.
    """
    found = limits()
    if found.request is not None:
        found.request.unlock_offers()
    return found


def renew() -> None:
    """Renew the budget of the request that this thread serves.

    After a conflict, its plan was void because of another request. A hard
    request stays a hard one.
    """
    request = limits().request
    if request is not None:
        request.renew()


class HardRequests:
    """The hard requests that this process is planning, by project."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._all = 0
        self._by_project: collections.Counter[str] = collections.Counter()

    @contextlib.contextmanager
    def bounded(self, conf: cfg.ConfigOpts,
                project_id: str | None) -> Iterator[None]:
        """Bound the work of the request that this thread serves.

        A request with hard plans is counted until it is answered.

        :param conf: the options of [api].
        :param project_id: the project of the caller, if any.
        :raises TooManyHardRequests: its project has too many.
        :raises PlannerBusy: the process has too many.
        """
        with contextlib.ExitStack() as counted:
            def becomes_hard() -> None:
                self._enter(conf, project_id)
                counted.callback(self._leave, project_id)

            before = _limits.set(dataclasses.replace(
                planning.LIMITS,
                request=budget.Work(becomes_hard=becomes_hard)))
            try:
                yield
            finally:
                _limits.reset(before)

    def _enter(self, conf: cfg.ConfigOpts, project_id: str | None) -> None:
        # One thread stays free for other requests, whatever the option is.
        most = max(1, min(conf.api.max_hard_requests, conf.api.threads - 1))
        own = conf.api.max_hard_requests_per_project
        with self._lock:
            if project_id is not None and self._by_project[project_id] >= own:
                raise errors.TooManyHardRequests(
                    f'The project has {own} requests that are being planned '
                    'and take long, and [api] max_hard_requests_per_project '
                    'allows no more at once. Nothing was done. Send the '
                    f'request again in {_AGAIN} s.', _AGAIN,
                    limit='max_hard_requests_per_project', allowed=own)
            if self._all >= most:
                raise errors.PlannerBusy(
                    f'{most} requests are being planned that take long, and '
                    'this process plans no more at once. Nothing was done. '
                    f'Send the request again in {_AGAIN} s.')
            self._all += 1
            if project_id is not None:
                self._by_project[project_id] += 1

    def _leave(self, project_id: str | None) -> None:
        with self._lock:
            self._all -= 1
            if project_id is not None:
                self._by_project[project_id] -= 1
                # This drops projects without hard requests.
                self._by_project += collections.Counter()
