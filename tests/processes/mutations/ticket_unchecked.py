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


"""The guard lets what a reconciler sends through, however late it comes."""

from __future__ import annotations

from typing import Any

from ironic_reservations.db import in_flight_requests
from tests.processes import mix

#: What reconcilers send arrives when the next lease has the node.
BEST = mix.Best(mix.Mix(
    faults={'hold': 1}, held='Reservation-Ticket', pause=(0.2, 1.0),
    lives={'lease': 1}, instances=0.0, classes={'gold': 2, 'silver': 1},
    times=mix.Times(longest_hold=40.0, late=90.0)))
FOUND_AS = 'done to the node of another'
KEPT_BY = (
    'tests.inprocess.reconciler.test_late_requests.TestTickets.'
    'test_good_one_is_good_once',)


def apply() -> None:
    """Break this process."""
    right = in_flight_requests.take_ticket

    def wrong(*arguments: Any, **named: Any) -> bool:
        right(*arguments, **named)
        return True
    in_flight_requests.take_ticket = wrong
