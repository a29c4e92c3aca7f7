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

"""The real Placement in this process, over a database in memory."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import fixtures
from keystoneauth1 import adapter
from keystoneauth1 import noauth
from keystoneauth1 import session as ksa_session
from placement import microversion
from placement.tests.functional.fixtures import placement as upstream

from ironic_reservations.clouds import placement
from tests import world

NOBODY = '00000000-0000-0000-0000-000000000000'
GOLD = 'CUSTOM_GOLD'
ONE: Mapping[str, Any] = {
    'total': 1, 'reserved': 0, 'min_unit': 1, 'max_unit': 1, 'step_size': 1,
    'allocation_ratio': 1.0}


class InMemory(fixtures.Fixture):
    """A Placement with one administrator and no providers.

    :param newest: the newest version of the API that it offers, as a
        Placement of that age does.
    :ivar client: ours.
    :ivar placement: the fixture that it is made of.
    :ivar endpoint: its URL, for ``requests`` in this process.
    """

    def __init__(self, newest: str | None = None) -> None:
        super().__init__()
        self._newest = newest

    def _setUp(self) -> None:
        if self._newest is not None:
            until = microversion.VERSIONS.index(self._newest) + 1
            self.useFixture(fixtures.MonkeyPatch(
                'placement.microversion.VERSIONS',
                microversion.VERSIONS[:until]))
        self.placement = self.useFixture(upstream.PlacementFixture())
        self.endpoint: str = self.placement.endpoint
        self.client = placement.Placement(self.sender(), placement.ADMIN)

    def sender(self) -> adapter.Adapter:
        """Give what sends requests to it."""
        return adapter.Adapter(
            ksa_session.Session(auth=noauth.NoAuth()),
            service_type='placement', endpoint_override=self.endpoint)


class Nodes:
    """Providers as the ironic driver of Nova makes them.

    :param client: of the Placement where they are.
    """

    def __init__(self, client: placement.Placement) -> None:
        self._client = client

    def add(self, uuid: str | None = None, resource_class: str = GOLD,
            **differently: Any) -> str:
        """Make the provider of a node; gives its uuid.

        :param differently: in its inventory.
        """
        uuid = uuid or world.new_uuid()
        _worked(self._client.ensure_class(resource_class))
        _worked(self._client.create_provider(uuid, uuid))
        self.offer(uuid, {resource_class: {**ONE, **differently}})
        return uuid

    def offer(self, uuid: str,
              by_class: Mapping[str, Mapping[str, Any]]) -> None:
        """Have a provider offer this and nothing else."""
        there = self._client.inventories(uuid)
        assert there is not None
        _worked(self._client.put_inventories(uuid, there.generation,
                                             by_class))

    def claim(self, provider: str, consumer: str | None = None,
              resource_class: str = GOLD) -> str:
        """Claim a node as Nova's scheduler does; gives the consumer."""
        consumer = consumer or world.new_uuid()
        _worked(self.try_claim(provider, consumer, resource_class))
        return consumer

    def try_claim(self, provider: str, consumer: str,
                  resource_class: str = GOLD) -> placement.Answer:
        """Try to claim a node as Nova's scheduler does."""
        return self._client.put_allocations(consumer, wanted(
            {provider: {resource_class: 1}}, consumer_type='INSTANCE'))


def wanted(allocations: Mapping[str, placement.Resources],
           generation: int | None = None,
           consumer_type: str = 'SOMEBODY') -> placement.Wanted:
    """Give what a consumer of a test is to have."""
    return placement.Wanted(allocations, NOBODY, NOBODY, generation,
                            consumer_type)


def _worked(answer: placement.Answer) -> None:
    if not answer.done:
        raise AssertionError(answer)
