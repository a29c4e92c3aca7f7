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

"""Processes that deploy at the last moment, and processes that release."""

from __future__ import annotations

from collections.abc import Sequence
import dataclasses
import os
import time
from typing import Any

import requests

from ironic_reservations import engine as engine_module
from ironic_reservations import errors
from ironic_reservations.clouds import ironic
from ironic_reservations.db import connection as db_connection
from ironic_reservations.engine import mirror
from ironic_reservations.engine import usage
from ironic_reservations.engine.in_flight import admission
from ironic_reservations.engine.lease_cycle import no_show
from ironic_reservations.reconciler import lease_workers
from tests import world
from tests.processes.leases import crowd

#: How long there is time to deploy a node, in seconds: until the test says
#: that it can be deployed since that long ago.
TIME = 3600


@dataclasses.dataclass(frozen=True)
class Deploy:
    """A deploy of the node of a lease, at an instant."""

    lease_id: str
    proof: str
    node_uuid: str
    project_id: str
    at: float


def options(ironic_url: str) -> dict[str, Any]:
    """Return the configuration of all processes."""
    return {**crowd.options(ironic_url), 'leases__no_show_after': {'*': TIME},
            'leases__no_show_warn_before': 0}


def make_engine(url: str, ironic_url: str,
                journal: crowd.Journal) -> engine_module.Engine:
    """Return the engine of a process."""
    conf = world.configured(url, **options(ironic_url))
    return dataclasses.replace(
        engine_module.build(conf, ironic.Ironic.over_http(conf)),
        announcer=journal)


def release(url: str, ironic_url: str, path: str) -> None:
    """Be a reconciler that does nothing but look, until killed."""
    journal = crowd.Journal(path)
    engine = make_engine(url, ironic_url, journal)
    workers = lease_workers.LeaseWorkers(engine)
    journal.note(releasing=os.getpid())
    while True:
        try:
            mirror.refresh_all(engine)
            usage.record_deployments(engine)
            no_show.wake(engine)
            workers.one_pass()
        except (db_connection.Conflict, errors.Contention):
            continue
        except BaseException as exc:
            journal.note(failed=repr(exc))
            raise


def deploy(url: str, ironic_url: str, path: str,
           those: Sequence[Deploy], begins: Any) -> None:
    """Deploy nodes as the guard lets it happen, each at its time.

    :param begins: an instant that the times count from, once it is known.
    """
    journal = crowd.Journal(path)
    engine = make_engine(url, ironic_url, journal)
    journal.note(deploying=os.getpid())
    while not begins.value:
        time.sleep(0.01)
    those = [dataclasses.replace(each, at=each.at + begins.value)
             for each in those]
    for each in sorted(those, key=lambda one: one.at):
        time.sleep(max(0, each.at - time.time()))
        try:
            through = admission.admit(engine, each.node_uuid, each.proof)
        except errors.ReservationError as exc:
            journal.note(refused=each.lease_id, why=type(exc).__name__)
            continue
        journal.note(through=each.lease_id)
        status = requests.put(
            f'{ironic_url}/v1/nodes/{each.node_uuid}/states/provision',
            json={'target': 'active'},
            headers={'X-Project-Id': each.project_id},
            timeout=60).status_code
        journal.note(answered=each.lease_id, status=status)
        admission.close(engine, through, status == 202)
    journal.note(finished=os.getpid())
