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


"""Nobody sees which nodes have a request on its way to Ironic."""

from __future__ import annotations

from tests.processes import mix
from tests.processes import statements

BEST = mix.Best(mix.Mix(
    faults={'hold_rpc': 1}, pause=(0.2, 0.8),
    lives={'reserve': 2, 'squat': 1}, classes={'gold': 2, 'silver': 1}))
FOUND_AS = 'done to the node of another'
KEPT_BY = (
    'tests.inprocess.engine.test_in_flight_requests.TestAnswer.'
    'test_node_is_busy_while_anybodys_request_is_under_way',)


def apply() -> None:
    """Break this process."""
    statements.change(
        r'\bFROM in_flight_requests\b',
        'FROM (SELECT * FROM in_flight_requests WHERE 1 = 0) '
        'AS in_flight_requests', 'SELECT')
