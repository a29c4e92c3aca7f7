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

"""Passes over what is in Placement: by one process at a time, for all.

On a thread of its own, so that a Placement that does not answer holds up
nothing else.  Two processes that both take their turn do no harm.
"""

from __future__ import annotations

import os
import socket
import threading
import time
import uuid as uuid_module

from oslo_log import log

from ironic_reservations import errors
from ironic_reservations.db import connection as db_connection
from ironic_reservations.engine import Engine
from ironic_reservations.engine.placement import compute_mirror
from ironic_reservations.engine.placement import keep as placement_keep
from ironic_reservations.reconciler import claim

LOG = log.getLogger(__name__)

#: The name of the work that one process does for all.
CLAIM = 'holds'
#: How long to wait, in seconds, between two looks, and after trouble.
_TICK = 1.0
_TROUBLE = 5.0
#: What is kept of a host's name, since it is part of a name in the database.
_HOST_NAME = 64


class Keeper:
    """Keeps Placement as our rows say.

    :param engine: with a Placement.
    """

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._claim = claim.Claim(
            engine, CLAIM, f'{socket.gethostname()[:_HOST_NAME]}:'
            f'{os.getpid()}:{uuid_module.uuid4()}')
        self._stop = threading.Event()
        self._thread: threading.Thread | None = None
        self._due = {'settle': 0.0, 'hosts': 0.0, 'audit': 0.0}
        self._hosts = compute_mirror.ComputeMirror(engine)

    def start(self) -> None:
        """Work on a thread of this process."""
        self._thread = threading.Thread(
            target=self._run, name='ironic-reservations-holds', daemon=True)
        self._thread.start()

    def stop(self, timeout: float = 10) -> None:
        """Stop, and let another process take over at once."""
        self._stop.set()
        if self._thread is not None:
            self._thread.join(timeout)
        self._claim.drop()

    def one_pass(self) -> None:
        """Do what is due, if it is this process that does it.

        :raises PlacementUnavailable: an audit is due, or compute hosts are to
            be read, and cannot be.
        :raises DatabaseUnavailable: nothing can be read or written.
        :raises Conflict: another process was quicker.
        """
        if not self._claim.holds():
            return
        options = self._engine.conf.placement
        now = time.monotonic()
        if now >= self._due['settle']:
            placement_keep.settle(self._engine)
            self._due['settle'] = now + options.settle_interval
        # NOTE: each of these may take longer than the claim lasts.
        if now >= self._due['hosts'] and self._claim.holds():
            self._due['hosts'] = now + options.hosts_interval
            self._hosts.refresh()
        if options.audit_interval and now >= self._due['audit'] and (
                self._claim.holds()):
            # NOTE: also where it fails; one after the other would be a load
            # on a Placement that is in trouble.
            self._due['audit'] = now + options.audit_interval
            placement_keep.audit(self._engine, options.repair)

    def _run(self) -> None:
        while not self._stop.is_set():
            pause = _TICK
            try:
                self.one_pass()
            except (errors.DatabaseUnavailable,
                    errors.PlacementUnavailable) as exc:
                LOG.warning('The keeper of holds waits: %s', exc)
                pause = _TROUBLE
            except (db_connection.Conflict, errors.Contention):
                LOG.debug('Another process was quicker; looking again')
            except Exception:
                # NOTE: a bug in one pass must not end all later ones.
                LOG.exception('A pass over the holds failed')
                pause = _TROUBLE
            self._stop.wait(pause)
