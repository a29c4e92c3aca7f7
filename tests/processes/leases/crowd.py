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

"""Processes that make leases, and processes that work on them."""

from __future__ import annotations

import dataclasses
import datetime
import json
import os
import random
import time
from typing import Any
import uuid

import requests

from ironic_reservations import clock
from ironic_reservations import engine as engine_module
from ironic_reservations import errors
from ironic_reservations.clouds import ironic
from ironic_reservations.engine import announce
from ironic_reservations.engine.in_flight import admission
from ironic_reservations.engine.leases import change as lease_change
from ironic_reservations.engine.leases import create as lease_create
from ironic_reservations.engine.leases import end as lease_end
from ironic_reservations.engine.leases import find as lease_find
from ironic_reservations.model import leases
from ironic_reservations.reconciler import loops
from tests import world

WORKERS = 2
CLAIM_TTL = 5
_PAUSE = (0.02, 0.15)


def options(ironic_url: str, **more: Any) -> dict[str, Any]:
    """Return the configuration of all processes, for a test of seconds.

    :param more: who gets notices.
    """
    return {'ironic__endpoint_override': ironic_url,
            'ironic__poll_interval': 1, 'ironic__claim_ttl': CLAIM_TTL,
            'ironic__confirm': 'mirror', 'leases__claim_ttl': CLAIM_TTL,
            'leases__workers': WORKERS, 'leases__max_backoff': 1,
            'guard__in_flight_timeout': CLAIM_TTL, 'guard__rpc_timeout': 1,
            'guard__claim_ttl': CLAIM_TTL,
            'reservations__sweep_interval': 1,
            'notices__claim_ttl': CLAIM_TTL, 'notices__max_backoff': 1,
            **more}


class Journal(announce.Announcer):
    """Lines of JSON that outlive the process that writes them.

    :param path: of the file, which other processes may write as well.
    """

    def __init__(self, path: str) -> None:
        self._file = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT)

    def note(self, **what: Any) -> None:
        """Write one line, whole or not at all."""
        os.write(self._file,
                 (json.dumps({'at': time.time(), **what}) + '\n').encode())

    def tell(self, event: str, reservation: Any,
             reason: str | None = None) -> None:
        pass

    def tell_lease(self, event: str, lease: leases.Lease,
                   reason: str | None = None) -> None:
        self.note(told=event, lease=lease.id)


def make_engine(url: str, ironic_url: str,
                journal: Journal, **more: Any) -> engine_module.Engine:
    conf = world.configured(url, **options(ironic_url, **more))
    return dataclasses.replace(
        engine_module.build(conf, ironic.Ironic.over_http(conf)),
        announcer=journal)


def reconcile(url: str, ironic_url: str, path: str,
              more: dict[str, Any]) -> None:
    """Be a reconciler, until killed."""
    loops.Reconciler(make_engine(url, ironic_url, Journal(path),
                                 **more)).run()


def ask(url: str, ironic_url: str, path: str, more: dict[str, Any],
        seed: int) -> None:
    """Be the API and those who use it, until killed."""
    journal = Journal(path)
    try:
        Tenants(make_engine(url, ironic_url, journal, **more), ironic_url,
                journal, seed).run()
    except BaseException as exc:
        journal.note(failed=f'{type(exc).__name__}: {exc}')
        raise


class Tenants:
    """Do at random what tenants do; each lease has a project of its own."""

    def __init__(self, engine: engine_module.Engine, ironic_url: str,
                 journal: Journal, seed: int) -> None:
        self._engine = engine
        self._ironic_url = ironic_url
        self._journal = journal
        self._random = random.Random(seed)
        self._made: list[leases.Lease] = []

    def run(self) -> None:
        """Go on for ever."""
        steps = (self._create, self._create, self._create, self._move_end,
                 self._end, self._deploy, self._deploy)
        while True:
            step = self._random.choice(steps)
            try:
                if self._made or step == self._create:
                    step()
                    self._journal.note(done=step.__name__)
            except errors.ReservationError as exc:
                # NOTE: a race that is lost too often is no failure here.
                if exc.status >= 500 and not isinstance(exc,
                                                        errors.Contention):
                    raise
                self._journal.note(done=type(exc).__name__)
            time.sleep(self._random.uniform(*_PAUSE))

    def _seconds(self, least: float, most: float) -> datetime.timedelta:
        return datetime.timedelta(seconds=self._random.uniform(least, most))

    def _create(self) -> None:
        now = clock.utc_now()
        start = (None if self._random.random() < 0.3
                 else now + self._seconds(0.3, 2))
        least = self._random.choice((1, 1, 2))
        self._made.append(
            lease_create.create(
                self._engine,
                leases.LeaseRequest(
                    'lease', (start or now) + self._seconds(3, 7),
                    (leases.LeaseReservationRequest(least, least),),
                    start,
                    project_id=f'project-{uuid.uuid4()}')))

    def _one(self) -> leases.Lease:
        """Return a lease as it is.

        :raises LeaseNotFound: it has come and gone.
        """
        lease = self._random.choice(self._made[-6:])
        return lease_find.get(self._engine, lease.id)

    def _move_end(self) -> None:
        lease = self._one()
        lease_change.change(self._engine, lease.id, leases.LeaseChange(
            end=lease.end + self._seconds(-1, 1)))

    def _end(self) -> None:
        lease = self._one()
        # NOTE: it may be over by itself, and is forgotten all the same.
        self._journal.note(ending=lease.project_id,
                           end=lease.end.timestamp())
        lease_end.end(self._engine, lease.id)

    def _deploy(self) -> None:
        """As the guard lets it through."""
        lease = self._one()
        for booking in lease.bookings[:1]:
            opened = admission.admit(self._engine, booking.node_uuid,
                                   booking.reservation_id)
            answer = requests.put(
                f'{self._ironic_url}/v1/nodes/{booking.node_uuid}'
                '/states/provision', json={'target': 'active'}, timeout=60,
                headers={'X-Project-Id': str(lease.project_id)})
            admission.close(self._engine, opened, answer.ok)
