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


"""Writes do not ask whether the node still is at the generation read."""

from __future__ import annotations

from tests.processes import mix
from tests.processes import statements

_ONE = r'nodes\.generation = (?:%\(\w+\)s|%s|\?)'
_PAIRS = (r'\(nodes\.uuid, nodes\.generation\) IN '
          r'\((?:VALUES )?(?:\([^()]*(?:\(\w+\)s[^()]*)*\)(?:, )?)+\)')

BEST = mix.Best(mix.Mix(
    faults={'hold_write': 1}, aims=('UPDATE nodes',), pause=(0.2, 0.8),
    lives={'reserve': 1, 'lease': 2}, instances=0.0,
    classes={'gold': 2, 'silver': 1}))
FOUND_AS = 'promised twice'
KEPT_BY = (
    'tests.inprocess.engine.test_interleavings.TestReserveAndDeploy.'
    'test_node_deployed_in_the_middle_is_skipped',
    'tests.inprocess.engine.test_interleavings.TestReserveAndDeploy.'
    'test_deploy_is_refused_where_the_reservation_committed_first')


def apply() -> None:
    """Break this process."""
    for pattern in (_ONE, _PAIRS):
        statements.change(rf'(?<=WHERE )(.*?)({pattern})',
                          r'\1(\2 OR 1 = 1)', 'UPDATE nodes')
