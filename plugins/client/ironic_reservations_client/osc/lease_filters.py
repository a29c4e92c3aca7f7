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

"""Options that choose the leases that are listed."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from typing import Any

from ironic_reservations_client import lease
from ironic_reservations_client import nodes
from ironic_reservations_client import times
from ironic_reservations_client.osc import options
from ironic_reservations_client.osc import typed

_STATUSES = ('PENDING', 'STARTING', 'ACTIVE', 'TERMINATING', 'TERMINATED',
             'DELETING', 'ERROR')
OPTIONS = (
    options.Option('--name', 'Only list leases with this name.'),
    options.Option(
        '--status', 'Only list leases with this status: '
        f"{', '.join(_STATUSES)}. Can be specified multiple times.",
        type=str.upper, choices=_STATUSES, **options.MANY),
    options.Option(
        '--node', 'Only list leases that have, or are planned on, this node '
        '(name or UUID).'),
    options.Option('--from', 'Only list leases that end after this time.',
                   **options.TIME, dest='since'),
    options.Option('--until', 'Only list leases that start before this time.',
                   **options.TIME, dest='until'))


def read(client: Any, parsed_args: argparse.Namespace
         ) -> Callable[[lease.Lease], bool] | None:
    """Return which leases are listed; ``None``: all.

    :param client: an Ironic client, which knows the names of nodes.
    """
    since, until = (typed.now() if each == times.NOW else each
                    for each in (parsed_args.since, parsed_args.until))
    node = parsed_args.node and nodes.uuid_of(client, parsed_args.node)
    checks: list[Callable[[lease.Lease], bool]] = []
    if parsed_args.name is not None:
        checks.append(lambda each: each.name == parsed_args.name)
    if parsed_args.status:
        checks.append(lambda each: each.status in parsed_args.status)
    if node:
        checks.append(lambda each: node in each.node_uuids)
    if since is not None:
        checks.append(lambda each: times.parsed(each.end_date) > since)
    if until is not None:
        checks.append(lambda each: times.parsed(each.start_date) < until)
    return (lambda each: all(check(each) for check in checks)
            ) if checks else None
