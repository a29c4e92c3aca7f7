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

"""One client whose leases have those of others slide, with each request."""

from __future__ import annotations

import datetime
import json
import pathlib
import random
import traceback

from ironic_reservations import clock
from ironic_reservations import engine as engine_module
from ironic_reservations import errors
from ironic_reservations.engine import announce
from ironic_reservations.engine.leases import change as lease_change
from ironic_reservations.engine.leases import create as lease_create
from ironic_reservations.engine.leases import end as lease_end
from ironic_reservations.engine.leases import find as lease_find
from ironic_reservations.engine.leases import fix as lease_fix
from ironic_reservations.model import leases
from tests import world

#: Answers that a client may get when others are about.
_ORDINARY = (errors.LeaseRefused, errors.LeaseNotFound, errors.Contention,
             errors.InvalidValue)
_HOUR = datetime.timedelta(hours=1)
#: So many requests for each that is wanted at most.
_PATIENCE = 20
_KINDS = ('slid for _ask', 'slid for _change', 'fixed')


class Client:
    """Leases a few hosts, with dates and with open ones, and changes that.

    :ivar done: how often each has been done.
    :ivar fixed: the dates of leases once they were fixed, by their ids.
    """

    def __init__(self, engine: engine_module.Engine, seed: int) -> None:
        self._engine = engine
        self._random = random.Random(seed)
        self._began = clock.utc_now().replace(microsecond=0)
        self._leases: list[leases.Lease] = []
        self._slid = 0
        self.done: dict[str, int] = {}
        self.fixed: dict[str, list[str]] = {}
        engine.announcer.tell_lease = self._told  # type: ignore

    def _told(self, event: str, lease: leases.Lease,
              reason: str | None = None) -> None:
        self._slid += reason == announce.SLID
        if reason == announce.FIXED:
            self._count('fixed')
            # NOTE: its owner may set other dates then.
            self.fixed[lease.id] = [lease.start.isoformat(),
                                    lease.end.isoformat()]

    def run(self, requests: int) -> None:
        """Make so many requests, and more until others slid and were fixed.
        """
        for number in range(_PATIENCE * requests):
            if number >= requests and all(each in self.done
                                          for each in _KINDS):
                break
            step = self._random.choice((
                self._open, self._ask, self._change, self._change, self._end))
            before = self._slid
            try:
                step()
            except _ORDINARY as exc:
                self._count(type(exc).__name__)
            else:
                self._count(step.__name__)
                if self._slid > before:
                    self._count(f'slid for {step.__name__}')
            lease_fix.fix(self._engine)

    def _count(self, name: str) -> None:
        self.done[name] = self.done.get(name, 0) + 1

    def _at(self, hour: int) -> datetime.datetime:
        return self._began + hour * _HOUR

    def _open(self) -> None:
        """Ask for a lease whose dates are open, some for seconds only."""
        start, length = self._random.randint(2, 8), self._random.randint(1, 3)
        ahead = int((self._at(start) - clock.utc_now()).total_seconds())
        fix_before = self._random.choice((
            0, ahead - self._random.randint(0, 2)))
        self._made(
            leases.LeaseRequest('open',
                                self._at(start + length),
                                (leases.LeaseReservationRequest(1, 1),),
                                self._at(start),
                                flexible=leases.Flexible(
                                    self._at(start + length +
                                             self._random.randint(3, 9)),
                                    length * _HOUR, fix_before)))

    def _ask(self) -> None:
        start = self._random.randint(2, 12)
        self._made(
            leases.LeaseRequest('dates',
                                self._at(start + self._random.randint(1, 3)),
                                (leases.LeaseReservationRequest(
                                    1, self._random.randint(1, 2)),),
                                self._at(start)))

    def _made(self, ask: leases.LeaseRequest) -> None:
        if len(self._leases) > 3:
            self._end()
        self._leases.append(lease_create.create(self._engine, ask))

    def _change(self) -> None:
        """Have a lease with dates last longer, or have more hosts."""
        ours = [each for each in self._leases if each.between is None]
        if not ours:
            return self._ask()
        lease = self._random.choice(ours)
        place = self._leases.index(lease)
        count = self._random.randint(1, 2)
        self._leases[place] = lease_change.change(
            self._engine, lease.id,
            leases.LeaseChange(end=lease.start +
                               self._random.randint(1, 5) * _HOUR,
                               reservations=(leases.LeaseReservationChange(
                                   lease.reservations[0].id, count, count),)))
        return None

    def _end(self) -> None:
        if self._leases:
            lease = self._leases.pop(
                self._random.randrange(len(self._leases)))
            lease_end.end(self._engine, lease.id)

    def moved_although_fixed(self) -> list[str]:
        """Return those of its leases that were, whoever did it."""
        there = {each.id: each for each in lease_find.page(self._engine)}
        return [key for key, dates in self.fixed.items() if key in there
                and dates != [there[key].start.isoformat(),
                              there[key].end.isoformat()]]


def work(url: str, journal: str, seed: int, requests: int) -> None:
    """Be one process; write down what was done, and any failure."""
    failed = ''
    client = None
    try:
        engine = engine_module.build(world.configured(
            url, ironic__confirm='mirror'))
        client = Client(engine, seed)
        client.run(requests)
        failed = ' '.join(client.moved_although_fixed())
        engine.database.close()
    except BaseException:
        failed = traceback.format_exc()
    pathlib.Path(journal).write_text(json.dumps(
        {'done': client.done if client else {}, 'failed': failed,
         'fixed': client.fixed if client else {}}), encoding='utf-8')
