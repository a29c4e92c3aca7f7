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
"""A client that leases, reserves and deploys, and looks at what it got."""

from __future__ import annotations

from concurrent import futures
import datetime
import random
import traceback
from typing import Any

from ironic_reservations import build
from ironic_reservations import clock
from ironic_reservations import engine as engine_module
from ironic_reservations import errors
from ironic_reservations.db import bookings as db_bookings
from ironic_reservations.db import host_views as db_host_views
from ironic_reservations.engine.in_flight import admission
from ironic_reservations.engine.in_flight import allocation_requests
from ironic_reservations.engine.leases import change as lease_change
from ironic_reservations.engine.leases import create as lease_create
from ironic_reservations.engine.leases import end as lease_end
from ironic_reservations.engine.reservations import release
from ironic_reservations.engine.reservations import renew
from ironic_reservations.engine.reservations import reserve
from ironic_reservations.model import leases
from ironic_reservations.model import node_reservation
from ironic_reservations.planner import pick
from tests import leasing
from tests import world

#: Of all processes.
OPTIONS: dict[str, Any] = {
    'ironic__confirm': 'mirror', 'reservations__min_ttl': 1,
    'reservations__max_ttl': 86400}
#: Answers that a client may get when others are about.
_ORDINARY = (errors.NoNodeAvailable, errors.LeaseRefused, errors.LeaseFrozen,
             errors.ExtensionRefused, errors.NodePromised,
             errors.ProofRequired, errors.ReservationNotFound,
             errors.InvalidValue)
_HOUR = datetime.timedelta(hours=1)


class Client:
    """Does at random what clients do.

    :param engine: the timeline, from this process.
    :param nodes: the uuids of the nodes.
    """

    def __init__(self, engine: engine_module.Engine, nodes: list[str],
                 seed: int) -> None:
        self._engine = engine
        self._nodes = nodes
        self._random = random.Random(seed)
        self._leases: list[leases.Lease] = []
        self._held: list[node_reservation.Reservation] = []

    def run(self, requests: int) -> str:
        """Make so many requests; return what went wrong, in words."""
        steps = (self._lease, self._lease, self._lease, self._end,
                 self._extend, self._deploy_leased, self._reserve,
                 self._reserve, self._renew, self._release, self._deploy,
                 self._deploy, self._deploy_with_a_wrong_proof,
                 self._allocate)
        try:
            for _ in range(requests):
                try:
                    self._random.choice(steps)()
                except _ORDINARY:
                    continue
        except BaseException:
            return traceback.format_exc()
        return ''

    def _lease(self) -> None:
        now = clock.utc_now()
        ahead = self._random.choice((0, 1, 2, 3, 5))
        begin = None if not ahead else now + ahead * _HOUR
        end = (begin or now) + self._random.choice((1, 2, 4)) * _HOUR
        least = self._random.choice((1, 1, 2, 3))
        wish = (leasing.wish(least, least + self._random.choice((0, 1)))
                if self._random.random() < 0.6 else leasing.instances(
                    least, self._random.choice((2, 4)), 1024, 10,
                    self._random.choice((None, None, False, True))))
        slides = ahead and self._random.random() < 0.3
        self._leases.append(lease_create.create(
            self._engine, leases.LeaseRequest(
                'lease', end, (wish,), begin, flexible=leases.Flexible(
                    end + 4 * _HOUR, _HOUR, 0) if slides else None)))

    def _of_ours(self) -> leases.Lease:
        if not self._leases:
            self._lease()
        return self._random.choice(self._leases)

    def _end(self) -> None:
        lease = self._of_ours()
        self._leases.remove(lease)
        lease_end.end(self._engine, lease.id)

    def _extend(self) -> None:
        lease = self._of_ours()
        lease_change.change(self._engine, lease.id, leases.LeaseChange(
            end=lease.end + self._random.choice((-0.5, 1)) * _HOUR))

    def _deploy_leased(self) -> None:
        """The proof of a lease that has started is good all the time."""
        now = clock.utc_now()
        for lease in self._leases:
            if lease.start > now:
                continue
            with self._engine.database.read() as connection:
                mine = [each for each in db_bookings.read_of_leases(
                    connection, (lease.id,)) if each.node_uuid in self._nodes]
            if mine:
                booking = self._random.choice(mine)
                admission.close(self._engine, admission.admit(
                    self._engine, booking.node_uuid, booking.reservation_id),
                    False)
                return

    def _reserve(self) -> None:
        """The same request gets the same reservation."""
        listed = tuple(self._random.sample(self._nodes,
                                           self._random.randint(1, 4)))
        asked = pick.NodeRequest(
            world.new_uuid(), listed if self._random.random() < 0.7 else None,
            resource_class='gold',
            ttl=self._random.choice((1, 600, 2 * 3600, 6 * 3600)))
        given = reserve.reserve(self._engine, asked, world.ALL_NODES)
        self._held.append(given)
        if asked.ttl != 1:
            again = reserve.reserve(self._engine, asked, world.ALL_NODES)
            if again != given:
                raise AssertionError(f'{again} is not {given}')

    def _one_held(self) -> node_reservation.Reservation:
        if not self._held:
            self._reserve()
        return self._random.choice(self._held)

    def _renew(self) -> None:
        renew.renew(self._engine, self._one_held().uuid,
                    ttl=self._random.choice((600, 4 * 3600)))

    def _release(self) -> None:
        held = self._one_held()
        self._held.remove(held)
        release.release(self._engine, held.uuid)

    def _deploy(self) -> None:
        self._strangers(admission.admit(self._engine,
                                        self._random.choice(self._nodes)))

    def _allocate(self) -> None:
        self._strangers(allocation_requests.hold(
            self._engine, pick.NodeRequest(world.new_uuid(), None, 'gold'),
            world.ALL_NODES))

    def _strangers(self, opened: admission.InFlightRequest) -> None:
        """Nobody has the node meanwhile, or has been promised it."""
        for _ in range(2):
            with self._engine.database.read() as connection:
                promised = db_host_views.read(
                    connection, (opened.node_uuid,),
                    clock.utc_now())[opened.node_uuid].bookings
            if promised:
                raise AssertionError(f'{opened} is promised: {promised}')
        admission.close(self._engine, opened, False)

    def _deploy_with_a_wrong_proof(self) -> None:
        node = self._random.choice(self._nodes)
        try:
            admission.admit(self._engine, node, world.new_uuid())
        except errors.ProofInvalid:
            return
        raise AssertionError('a wrong proof was taken')


def work(url: str, nodes: list[str], seeds: list[int], requests: int,
         failures: Any) -> None:
    """Be one process, of a thread for each seed.

    :param failures: a queue that gets what went wrong, of each thread.
    """
    engine = build.engine(world.configured(url, **OPTIONS))
    with futures.ThreadPoolExecutor(len(seeds)) as threads:
        for seed in seeds:
            threads.submit(Client(engine, nodes, seed).run, requests
                           ).add_done_callback(
                               lambda done: failures.put(done.result()))
    engine.database.close()
