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

"""One client that leases, reserves and deploys, and looks at what it got."""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Sequence
import datetime
import pathlib
import random
import time
import traceback

from ironic_reservations import clock
from ironic_reservations import engine as engine_module
from ironic_reservations import errors
from ironic_reservations.db import bookings as db_bookings
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

#: Answers that a client may get when others are about.
_ORDINARY = (errors.NoNodeAvailable, errors.LeaseRefused, errors.LeaseFrozen,
             errors.ExtensionRefused, errors.NodePromised,
             errors.ProofRequired, errors.ReservationNotFound,
             errors.InvalidValue)
_HOUR = datetime.timedelta(hours=1)
_PATIENCE = 10


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
        self.done: dict[str, int] = {}

    def run(self, requests: int) -> None:
        """Make requests, one after the other.

        :param requests: how many; more of them, until each kind of them has
            been served once.
        """
        steps = (self._lease, self._lease, self._lease, self._end,
                 self._extend, self._deploy_leased, self._reserve,
                 self._reserve, self._renew, self._release, self._deploy,
                 self._deploy, self._allocate)
        for number in range(_PATIENCE * requests):
            if number >= requests:
                steps = self._still(steps)
                if not steps:
                    break
            step = self._random.choice(steps)
            try:
                step()
                name = step.__name__
            except _ORDINARY as exc:
                name = type(exc).__name__
            self.done[name] = self.done.get(name, 0) + 1

    def _still(self, steps: Sequence[Callable[[], None]]
               ) -> tuple[Callable[[], None], ...]:
        """Return what has not been served, and what makes room for it."""
        missing = tuple(step for step in steps
                        if step.__name__ not in self.done)
        if not missing:
            return ()
        return (*missing, *([self._end] if self._leases else []),
                *([self._release] if self._held else []))

    def _lease(self) -> None:
        now = clock.utc_now()
        ahead = self._random.choice((0, 1, 2, 3, 5))
        begin = None if not ahead else now + ahead * _HOUR
        least = self._random.choice((1, 1, 2, 3))
        wish = (
            leases.LeaseReservationRequest(least, least + self._random.choice(
                (0, 1))) if self._random.random() < 0.6 else
            leasing.instances(least, self._random.choice(
                (2,
                 4)), 1024, 10, self._random.choice(
                     (None, None, False, True))))
        self._leases.append(lease_create.create(
            self._engine, leases.LeaseRequest(
                'lease', (begin or now)
                + self._random.choice((1, 2, 4)) * _HOUR,
                (wish,), begin)))
        if any(each.node_uuid not in self._nodes
               for each in self._leases[-1].bookings):
            self.done['shared'] = self.done.get('shared', 0) + 1

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
            if not mine:
                continue
            booking = self._random.choice(mine)
            opened = admission.admit(self._engine, booking.node_uuid,
                                   booking.reservation_id)
            self._works()
            admission.close(self._engine, opened, False)
            return

    def _reserve(self) -> None:
        listed = tuple(self._random.sample(self._nodes,
                                           self._random.randint(1, 4)))
        self._held.append(reserve.reserve(self._engine, pick.NodeRequest(
            world.new_uuid(), listed if self._random.random() < 0.7 else None,
            resource_class='gold',
            ttl=self._random.choice((1, 600, 2 * 3600, 6 * 3600))),
            world.ALL_NODES))

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

    def _works(self) -> None:
        time.sleep(self._random.uniform(0, 0.01))

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
                promised = db_bookings.read_of_node(
                    connection, opened.node_uuid, clock.utc_now())
            if promised:
                raise AssertionError(f'{opened} is promised: {promised}')
            self._works()
        admission.close(self._engine, opened, False)


def work(url: str, nodes: list[str], journal: str, seed: int,
         requests: int) -> None:
    """Be one process."""
    engine = engine_module.build(world.configured(
        url, ironic__confirm='mirror', reservations__min_ttl=1,
        reservations__max_ttl=86400))
    try:
        act(engine, nodes, journal, seed, requests)
    finally:
        engine.database.close()


def act(engine: engine_module.Engine, nodes: list[str], journal: str,
        seed: int, requests: int) -> None:
    """Be one client; what went wrong, and how often what was done, is
    written to a file.
    """
    client = Client(engine, nodes, seed)
    failed = ''
    try:
        client.run(requests)
    except BaseException:
        failed = traceback.format_exc()
    pathlib.Path(journal).write_text(
        '\n'.join([*(f'{name} {count}' for name, count
                     in sorted(client.done.items())), '', failed]))
