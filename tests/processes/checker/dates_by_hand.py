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


"""Exchanges that show the dates of a lease, written by hand."""

from __future__ import annotations

from typing import Any

from tests.processes.checker import by_hand
from tests.processes.checker import history

asked, date = by_hand.asked, by_hand.date
PATH = '/v1/leases/l'


def shown(sent: float, start: float, end: float, status: str = 'PENDING',
          fixed: bool = True, **more: Any) -> history.Exchange:
    """Make the exchange that shows the dates of a lease."""
    lease = {'id': 'l', 'status': status, 'start_date': date(start),
             'end_date': date(end), 'fixed': fixed, 'between': None,
             'fix_before': None, 'promised_start': None, 'reservations': [],
             **more}
    return asked('show-lease', 'GET', PATH, sent, 200, {'lease': lease})


def loose(sent: float, start: float, end: float, *, fixed: bool = False,
          between: tuple[float, float] = (100, 200)) -> history.Exchange:
    """Make the exchange that shows a lease which leaves its dates open."""
    return shown(sent, start, end, fixed=fixed, fix_before=5,
                 between=[date(each) for each in between])


def queued(sent: float, start: float, promised: float | None = None,
           length: float = 10, **more: Any) -> history.Exchange:
    """Make the exchange that shows a lease which waits."""
    return shown(sent, start, start + length, promised_start=date(
        start if promised is None else promised), **more)
