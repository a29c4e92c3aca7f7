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

"""``ironic-reservations-manage audit``: promises that were lost."""

from __future__ import annotations

import dataclasses
import json
from typing import Any

from ironic_reservations import engine as engine_module
from ironic_reservations.cmd import tables
from ironic_reservations.engine import lost_promises
from ironic_reservations.model import count_text

#: The exit status if there is a trace of a lost promise.
FOUND = 1


def add_parser(add: Any) -> None:
    """Add the command to the commands of ``ironic-reservations-manage``."""
    parser = add(
        'audit', help='List traces in Ironic, Placement and Nova of promises '
                      'that are missing in the database, for example after a '
                      'fail-over or a restored backup, with the necessary '
                      'action. Changes nothing. Exit status: 0 without '
                      'traces, 1 with traces, 2 if this cannot be '
                      'determined.')
    parser.add_argument('-f', '--format', choices=('table', 'json'),
                        default='table', help='Output format.')


def run(engine: engine_module.Engine, options: Any) -> int:
    """Print the traces, and return the exit status.

    :param options: the parsed command line.
    :raises IronicUnavailable: Ironic does not answer.
    :raises PlacementUnavailable: Placement does not answer.
    :raises DatabaseUnavailable: the database does not answer.
    """
    found = lost_promises.find(engine)
    if options.format == 'json':
        print(json.dumps([dataclasses.asdict(each) for each in found],
                         indent=2))
    else:
        tables.show(('Kind', 'Node', 'Seen', 'What to do'), [
            (each.kind.value, each.node_uuid, each.detail, each.remedy)
            for each in found])
        print(f'{count_text.counted(len(found), "trace")} of promises that '
              'the database does not have.')
    return FOUND if found else 0
