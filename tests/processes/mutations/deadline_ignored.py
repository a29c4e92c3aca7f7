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


"""Who stood still hands its request to Ironic all the same."""

from __future__ import annotations

import math

from ironic_reservations.engine.in_flight import admission
from tests.processes import mix

#: A request is found out about, and its node promised again, before whoever
#: stands still goes on.
BEST = mix.Best(mix.Mix(
    faults={'stop_at_commit': 1}, aims=('INSERT INTO in_flight_requests',),
    lives={'squat': 1, 'reserve': 3}, acts={'tidy': 1}, rounds=(1.0, 3.0),
    classes={'gold': 2, 'silver': 1}, pause=(0.5, 2.0), stopped=1,
    times=mix.Times(in_flight=5, conductor=2, shortest_stop=24.0,
                    longest_stop=34.0, late=90.0)))
FOUND_AS = 'done to the node of another'
KEPT_BY = (
    'tests.inprocess.guard.test_stands_still.TestGuardPaused.'
    'test_proof_stays_good_where_nothing_was_sent',)


def apply() -> None:
    """Break this process."""
    assert admission.send_deadline
    admission.send_deadline = lambda engine: math.inf
