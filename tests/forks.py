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

"""Processes that are forked from one that has read the code of all of them.

To read the code takes longer than much of what they do.
"""

from __future__ import annotations

import multiprocessing
from multiprocessing import forkserver
import os

CONTEXT = multiprocessing.get_context('forkserver')
# NOTE: there is one such process, and one list of what it reads, however many
# ask for one: the last list counts.
# NOTE: not Ironic's conductor and drivers, which know their periodic tasks by
# the configuration that there is when they are imported.
CONTEXT.set_forkserver_preload([
    # First, since it chooses how all services of the process run.
    'ironic.command.singleprocess',
    'gunicorn.app.wsgiapp', 'gunicorn.workers.gthread',
    'gunicorn.workers.sync', 'placement.deploy',
    'ironic_reservations.cmd.api',
    'ironic.api.app', 'ironic.command.dbsync',
    'ironic_reservations.guard.middleware', 'kombu.messaging',
    'oslo_messaging._drivers.impl_rabbit', 'zeroconf',
    # What each of them has for its __main__.
    'tools.worker',
    'tests.processes.racing',
])


def share() -> None:
    """Start the process that forks the others, for all workers of a run."""
    forkserver.ensure_running()
    # NOTE: it is no child of a worker, which would start another one.
    os.register_at_fork(after_in_child=lambda: setattr(
        forkserver._forkserver, 'ensure_running', lambda: None))
