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

"""One client of the timeline that writes down what it was promised.

The journal is a file that each line is appended to before and after a call,
so that it tells the truth up to the moment at which the process is killed.
"""

from __future__ import annotations

import json
import random
import time
from typing import Any

from ironic_reservations import engine as engine_module
from ironic_reservations import errors
from ironic_reservations.engine.in_flight import admission
from ironic_reservations.engine.reservations import release
from ironic_reservations.engine.reservations import renew
from ironic_reservations.engine.reservations import reserve
from ironic_reservations.model import visibility
from ironic_reservations.planner import pick
from tests import world

_SEES = visibility.Visibility(everything=True)
#: Answers that a client may get when others are about.
_ORDINARY = (errors.NoNodeAvailable, errors.ReservationNotFound,
             errors.ProofRequired, errors.ProofInvalid)


class Client:
    """Reserves, renews, releases, deploys, with and without a proof.

    :param engine: the timeline, from this process.
    :param nodes: the uuids to ask for.
    :param journal: the path of a file to append to.
    """

    def __init__(self, engine: engine_module.Engine, nodes: list[str],
                 journal: str, seed: int) -> None:
        self._engine = engine
        self._nodes = nodes
        self._random = random.Random(seed)
        self._held: dict[str, str] = {}
        self._journal = open(journal, 'a', buffering=1, encoding='ascii')

    def run(self, requests: int) -> None:
        """Make requests, one after the other."""
        steps = (self._reserve, self._reserve, self._reserve, self._renew,
                 self._release, self._deploy, self._deploy_unproven,
                 self._deploy_with_a_wrong_proof, self._reserve_again)
        for _ in range(requests):
            step = self._random.choice(steps)
            try:
                step()
            except _ORDINARY as exc:
                self._note('refused', step.__name__, what=type(exc).__name__)
            except BaseException as exc:
                self._note('failed', step.__name__, what=repr(exc))
                raise
        self._note('finished', '')

    def _note(self, event: str, uuid: str, **known: Any) -> None:
        self._journal.write(json.dumps(
            {'at': time.time(), 'event': event, 'uuid': uuid, **known})
            + '\n')

    def _some(self) -> list[str]:
        return self._random.sample(self._nodes, self._random.randint(1, 8))

    def _one_of_ours(self) -> tuple[str, str]:
        return self._random.choice([*self._held.items()] or [
            (world.new_uuid(), self._random.choice(self._nodes))])

    def _reserve(self, instance: str | None = None) -> None:
        uuid = world.new_uuid()
        # NOTE: written before, so that a row whose maker was killed has one.
        self._note('asking', uuid)
        given = reserve.reserve(self._engine, pick.NodeRequest(
            instance or world.new_uuid(), tuple(self._some()), uuid=uuid,
            ttl=self._random.choice((0.2, 1, 600))), _SEES)
        self._note('given', given.uuid, node=given.node_uuid,
                   ends=given.expires_at.timestamp())
        self._held[given.uuid] = given.node_uuid

    def _reserve_again(self) -> None:
        instance, uuid = world.new_uuid(), world.new_uuid()
        given = []
        self._note('asking', uuid)
        for _ in range(2):
            given.append(reserve.reserve(self._engine, pick.NodeRequest(
                instance, tuple(self._some()), uuid=uuid), _SEES))
        self._note('given', uuid, node=given[0].node_uuid,
                   ends=given[0].expires_at.timestamp())
        self._held[uuid] = given[0].node_uuid
        if given[0] != given[1]:
            raise AssertionError(f'{given[0]} != {given[1]}')

    def _renew(self) -> None:
        uuid, _ = self._one_of_ours()
        self._note('renewing', uuid)
        renewed = renew.renew(self._engine, uuid,
                              ttl=self._random.choice((1, 600)))
        self._note('renewed', uuid, ends=renewed.expires_at.timestamp())

    def _release(self) -> None:
        uuid, _ = self._one_of_ours()
        self._note('releasing', uuid)
        self._held.pop(uuid, None)
        release.release(self._engine, uuid)

    def _ironic_works(self) -> None:
        time.sleep(self._random.uniform(0, 0.02))

    def _deploy(self) -> None:
        uuid, node = self._one_of_ours()
        opened = admission.admit(self._engine, node, uuid)
        # NOTE: the promise may end when the request comes to nothing.
        self._note('proven', uuid)
        succeeded = self._random.random() < 0.5
        self._ironic_works()
        if not succeeded:
            self._note('losing', uuid)
        admission.close(self._engine, opened, succeeded)
        if succeeded:
            self._note('used', uuid)

    def _deploy_unproven(self) -> None:
        node = self._random.choice(self._nodes)
        opened = admission.admit(self._engine, node)
        entry = f'stranger-{world.new_uuid()}'
        self._note('given', entry, node=node, ends=None)
        self._ironic_works()
        self._note('releasing', entry)
        admission.close(self._engine, opened, False)

    def _deploy_with_a_wrong_proof(self) -> None:
        node = self._random.choice(self._nodes)
        admission.admit(self._engine, node, world.new_uuid())
        raise AssertionError('a wrong proof was taken')


def work(url: str, nodes: list[str], journal: str, seed: int,
         requests: int) -> None:
    """Be one process."""
    engine = engine_module.build(world.configured(
        url, ironic__confirm='mirror', reservations__min_ttl=1))
    Client(engine, nodes, journal, seed).run(requests)
    engine.database.close()
