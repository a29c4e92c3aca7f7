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

"""Options of [database]: those of oslo.db, and what waits for how long."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from oslo_config import cfg
from oslo_db import options as db_options

GROUP = 'database'

database_opts = [
    cfg.IntOpt('connect_timeout', default=5, min=1,
               help='How long, in seconds, connecting may take. Not for '
                    'SQLite, as all of these.'),
    cfg.IntOpt('lock_timeout', default=5, min=1,
               help='How long, in seconds, a transaction waits for another '
                    'one. It is begun again then, for 15 seconds in all; '
                    'after that the request is refused with 503 '
                    '(reservation.contention).'),
    cfg.IntOpt('statement_timeout', default=30, min=2,
               help='How long, in seconds, a statement may take. Has to be '
                    'longer than lock_timeout. Changes of the schema are not '
                    'limited.'),
    cfg.IntOpt('idle_in_transaction_timeout', default=5, min=1,
               help='After how many seconds the server ends a transaction in '
                    'which nothing happens: for so long does a host that '
                    'lost its power keep others from what it had locked. No '
                    'transaction is open while anything but the database is '
                    'waited for. MySQL, unlike MariaDB, has no such limit: '
                    'there it is 60 seconds without a statement.'),
    cfg.FloatOpt('max_clock_skew', default=5, min=0,
                 help='By how much, in seconds, the clock of this host may '
                      'differ from that of the database. Promises are judged '
                      "by the database's clock alone; a host that is further "
                      'off answers 503 (service.clock_skewed) wherever it '
                      'would have to judge one, and its reconciler stands '
                      'still, until its clock is put right. 0: whatever its '
                      'own clock says, a host goes by that of the database.'),
]


def register(conf: cfg.ConfigOpts) -> None:
    """Make the options known to a configuration object."""
    # NOTE: the connection has a default that depends on [DEFAULT]
    # state_path; db.connection fills it in.
    conf.register_opts(db_options.database_opts, GROUP)
    conf.register_opts(database_opts, GROUP)


def list_opts() -> list[tuple[str, Sequence[Any]]]:
    """List the options for oslo-config-generator."""
    return [(GROUP, [*database_opts, *db_options.database_opts])]
