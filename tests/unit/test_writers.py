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

"""The timeline is written by changes, and everything else is named here."""

from __future__ import annotations

import ast
from collections.abc import Iterator
import pathlib

import testtools

_ROOT = pathlib.Path(__file__).parents[2] / 'ironic_reservations'
#: The modules that open transactions for others.
_HOMES = ('engine/change.py', 'engine/retry.py')
#: Other modules that write in a transaction, and what they write.
ELSEWHERE = {
    'engine/claims.py': 'claims of processes on work',
    'engine/hosts.py': 'whether users are shown a capability',
    'engine/in_flight/acted.py': 'the outcomes of acts of holders',
    'engine/in_flight/admission.py': 'what is known of a request to Ironic',
    'engine/in_flight/listed.py': 'what is known of requests to Ironic',
    'engine/in_flight/tickets.py': 'tickets for requests to Ironic',
    'engine/in_flight/uncertain.py': 'what is known of a request to Ironic',
    'engine/lease_cycle/claims.py': 'claims of workers on leases',
    'engine/lease_cycle/end.py': 'tickets that become void',
    'engine/lease_cycle/handover.py': 'what is put back on a node',
    'engine/lease_cycle/health.py': 'when leases are worked on',
    'engine/lease_cycle/short.py': 'when leases are worked on',
    'engine/lease_cycle/sync.py': 'when leases are worked on',
    'engine/leases/gone_projects.py': 'observations of projects',
    'engine/leases/purge.py': 'leases that were over long ago',
    'engine/lost_requests.py': 'that another history begins',
    'engine/mirror.py': 'what Ironic shows of nodes',
    'engine/outbox/claims.py': 'claims of workers on notices',
    'engine/outbox/clean_up.py': 'notices that were sent long ago',
    'engine/sweep.py': 'records of old changes',
    'features/calendar/tokens.py': 'tokens of calendar programs',
    'features/enforcement/enforcement_commits.py': 'reports in the outbox',
    'features/maintenance/find.py': 'windows that were over long ago',
    'features/maintenance/sync.py': 'tickets that become void',
    'features/no_show/no_show.py': 'observations of nodes',
    'features/notices/before_start.py': 'notices in the outbox',
    'features/placement/audit/auditing.py': 'observations of providers',
    'features/placement/class_heal/heal.py': 'claims of processes on work',
    'features/placement/holds/handover.py': 'holds',
    'features/placement/holds/holding.py': 'holds',
    'features/placement/holds/of_reservations.py':
        'holds, with their promises',
    'features/placement/holds/recovery.py': 'holds',
    'features/placement/holds/releasing.py': 'holds',
    'features/placement/holds/transitions.py': 'holds',
    'features/placement/sync.py': 'observations of providers',
    'features/usage/usage.py': 'since when nodes are deployed'}
#: Other modules that raise the generations of nodes.
RAISED_ELSEWHERE = {
    'engine/drop_unused.py': 'the promise goes with the row of its hold'}


def _calls(source: str, name: str, of: str) -> bool:
    """Return whether a module calls a method of something."""
    return any(
        isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute)
        and node.func.attr == name
        and getattr(node.func.value, 'attr',
                    getattr(node.func.value, 'id', '')) == of
        for node in ast.walk(ast.parse(source)))


def _modules(name: str, of: str) -> Iterator[str]:
    for path in _ROOT.rglob('*.py'):
        module = str(path.relative_to(_ROOT))
        if module not in _HOMES and not module.startswith('db/') and _calls(
                path.read_text(), name, of):
            yield module


class TestCase(testtools.TestCase):

    def test_transactions_are_opened_by_changes(self) -> None:
        """Another one is in the list, with what it writes."""
        self.assertEqual(sorted(ELSEWHERE), sorted({
            *_modules('write', 'database'), *_modules('write', 'retry'),
            *_modules('write_once', 'retry')}))

    def test_generations_are_raised_by_changes(self) -> None:
        """Another place is in the list, with the reason."""
        self.assertEqual(sorted(RAISED_ELSEWHERE), sorted({
            *_modules('advance', 'seen'),
            *_modules('advance', 'seen_module')}))

    def test_transaction_is_found(self) -> None:
        for source in ('with engine.database.write() as c: pass',
                       'with database.write() as c: pass'):
            self.assertTrue(_calls(source, 'write', 'database'))
        self.assertFalse(_calls('file.write()', 'write', 'database'))
