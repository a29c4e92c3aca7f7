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

"""ironic-reservations-reconciler: the loops, in a process of their own."""

from __future__ import annotations

import signal
import sys

from oslo_config import cfg
from oslo_log import log

from ironic_reservations import build
from ironic_reservations import conf as project_conf
from ironic_reservations import errors
from ironic_reservations.clouds import ironic
from ironic_reservations.cmd import hang_up
from ironic_reservations.db import migrate
from ironic_reservations.db import migration_lock
from ironic_reservations.reconciler import loops

LOG = log.getLogger(__name__)


def main(argv: list[str] | None = None) -> int:
    """Run the loops until SIGTERM; any number of such processes may run."""
    try:
        conf = project_conf.load(
            sys.argv[1:] if argv is None else argv,
            prog='ironic-reservations-reconciler', with_logging=True)
        engine = build.engine(conf, ironic.Ironic.over_http(conf))
        migrate.at_start(engine.database)
    except (cfg.Error, errors.ReservationError, migrate.UnknownRevision,
            migration_lock.AnotherMigrates) as exc:
        print(f'ironic-reservations-reconciler: {exc}', file=sys.stderr)
        return 1
    running = loops.Reconciler(engine)
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: running.end())
    hang_up.outlive()
    LOG.info('ironic-reservations-reconciler %s starts',
             project_conf.release())
    running.run()
    return 0
