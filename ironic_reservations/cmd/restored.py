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

"""``ironic-reservations-manage restored``: to be run after a restore."""

from __future__ import annotations

import datetime
from typing import Any

from ironic_reservations import engine as engine_module
from ironic_reservations.engine import lost_requests


def add_parser(add: Any) -> None:
    """Add the command to the commands of ``ironic-reservations-manage``."""
    add('restored', help='After a backup was restored: promise no node before '
                         'Ironic has shown twice that no earlier request for '
                         'it is in progress. Safe at any time.')


def run(engine: engine_module.Engine) -> int:
    """Write that the database was restored, and print how long that counts."""
    now, guard = engine.clock(), engine.conf.guard
    lost_requests.may_come(engine.database, engine.conf, now)
    until = now + datetime.timedelta(
        seconds=guard.in_flight_timeout / 2 + guard.rpc_timeout)
    print('No node is promised for the present, or deployed, before '
          f'{until:%Y-%m-%d %H:%M:%S} UTC, and before Ironic has shown twice '
          'that it is idle.')
    return 0
