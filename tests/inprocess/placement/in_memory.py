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

from collections.abc import Mapping
import copy
import functools
from typing import Any

import fixtures
from keystoneauth1 import adapter
from keystoneauth1 import noauth
from keystoneauth1 import session as ksa_session
from oslo_config import cfg
from oslo_config import fixture as config_fixture
from oslo_db.sqlalchemy import engines
from oslo_policy import opts as policy_opts
from placement import conf as placement_conf
from placement import db_api
from placement import deploy
from placement import microversion
from placement import policy
from placement.tests.functional.fixtures import placement as upstream
import sqlalchemy as sa
from wsgi_intercept import interceptor

from ironic_reservations.clouds import placement
from ironic_reservations.clouds import placement_answers as answers
from ironic_reservations.clouds import sending
from tests import world
from tests.inprocess.placement import direct
from tests.inprocess.placement import made_once

NOBODY = '00000000-0000-0000-0000-000000000000'
GOLD = 'CUSTOM_GOLD'
SLOT = 'CUSTOM_IRONIC_SLOT'
#: What compute hosts give servers of leases, and nodes as well.
LEASE_SLOT = 'CUSTOM_LEASE_SLOT'
ONE: Mapping[str, Any] = {
    'total': 1, 'reserved': 0, 'min_unit': 1, 'max_unit': 1, 'step_size': 1,
    'allocation_ratio': 1.0}

made_once.share()


def _own_defaults() -> fixtures.MonkeyPatch:
    """Return what keeps the defaults of oslo.policy as they are.

    Placement sets them for all of the process, where administrators of a
    project are those of the cloud from then on.
    """
    return fixtures.MonkeyPatch('oslo_policy.opts._options',
                                copy.deepcopy(policy_opts._options))


@functools.cache
def _empty() -> bytes:
    """Return a database with tables, traits and classes, made once."""
    with _own_defaults(), upstream.PlacementFixture(use_intercept=False):
        made: bytes = _connection(
            db_api.get_placement_engine()).serialize()
        return made


@functools.cache
def _made(newest: str | None) -> tuple[cfg.ConfigOpts, Any]:
    """Return the configuration and the application, made once.

    :param newest: the newest version of the API, which the caller has set.
    """
    with _own_defaults():
        config = config_fixture.Config(cfg.ConfigOpts())
        config.setUp()
        placement_conf.register_opts(config.conf)
        # It has to be set, though the database is there already.
        config.config(group='placement_database', connection='sqlite://')
        made = upstream.PlacementFixture(
            conf_fixture=config, register_opts=False, db=False,
            use_intercept=False)
        made.setUp()
        # NOTE: or else it looks for a changed file with each request.
        policy._ENFORCER.use_conf = False
        return made.conf_fixture.conf, deploy.loadapp(made.conf_fixture.conf)


def _connection(engine: sa.Engine) -> Any:
    """Return the only connection to a database in memory."""
    return engine.raw_connection().driver_connection


class _Database(fixtures.Fixture):
    """A copy of the empty database, for the Placement of this process."""

    def _setUp(self) -> None:
        empty = _empty()
        engine = engines.create_engine('sqlite://')
        self.addCleanup(engine.dispose)
        _connection(engine).deserialize(empty)
        self.addCleanup(db_api.placement_context_manager.patch_engine(engine))
        for flag in ('trait._TRAITS_SYNCED',
                     'resource_class._RESOURCE_CLASSES_SYNCED'):
            self.useFixture(fixtures.MonkeyPatch(
                f'placement.objects.{flag}', True))


class InMemory(fixtures.Fixture):
    """A Placement with one administrator and no providers.

    :param newest: the newest version of the API that it offers, as a
        Placement of that age does.
    :ivar client: ours.
    :ivar conf: its configuration.
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
        self.useFixture(_Database())
        self.conf, application = _made(self._newest)
        self.endpoint = f'http://{world.new_uuid()}/placement'
        intercept = interceptor.RequestsInterceptor(lambda: application,
                                                    url=self.endpoint)
        intercept.install_intercept()
        self.addCleanup(intercept.uninstall_intercept)
        self._direct = direct.Sender(application)
        self.client = placement.Placement(self.sender(), placement.ADMIN)

    def sender(self) -> sending.Sender:
        """Return what hands requests to it, without HTTP on the way."""
        return self._direct

    def orphan(self, consumer: str) -> None:
        """Have a consumer gone, and leave what it uses (F2)."""
        with db_api.get_placement_engine().begin() as opened:
            opened.execute(sa.text('DELETE FROM consumers WHERE uuid = :u'),
                           {'u': consumer})

    def trait(self, provider: str, *traits: str) -> None:
        """Have a provider have these traits and no others."""
        put_traits(self.sender(), self.client, provider, *traits)


def put_traits(sender: sending.Sender, client: placement.Placement,
               provider: str, *traits: str) -> None:
    """Have a provider have these traits and no others."""
    def put(path: str, body: dict[str, Any] | None = None) -> None:
        answer = sender.request(
            path, 'PUT', authenticated=False, json=body, headers={
                'X-Auth-Token': placement.ADMIN,
                placement.VERSION_HEADER: 'placement 1.29'})
        if answer.status_code not in (200, 201, 204):
            raise AssertionError(answer.text)
    there = client.provider(provider)
    assert there is not None
    for trait in traits:
        if trait.startswith('CUSTOM_'):
            put(f'/traits/{trait}')
    put(f'/resource_providers/{provider}/traits', {
        'resource_provider_generation': there.generation,
        'traits': list(traits)})


def sender_to(endpoint: str) -> adapter.Adapter:
    """Return what sends requests to a Placement."""
    return adapter.Adapter(
        ksa_session.Session(auth=noauth.NoAuth()),
        service_type='placement', endpoint_override=endpoint)


class Nodes:
    """Providers as the ironic driver of Nova makes them.

    :param client: of the Placement where they are.
    """

    def __init__(self, client: placement.Placement) -> None:
        self._client = client

    def add(self, uuid: str | None = None, resource_class: str = GOLD,
            **differently: Any) -> str:
        """Make the provider of a node, and return its uuid.

        :param differently: in its inventory.
        """
        uuid = uuid or world.new_uuid()
        _worked(self._client.ensure_class(resource_class))
        _worked(self._client.create_provider(uuid, uuid))
        self.offer(uuid, {resource_class: {**ONE, **differently}})
        return uuid

    def add_host(self, name: str | None = None, vcpus: int = 8,
                 memory_mb: int = 16384, disk_gb: int = 200,
                 slots: int = 20, **ratios: float) -> str:
        """Make the provider of a compute host, as the libvirt driver does.

        :param name: of the host.
        :param slots: what the operator gives it of the slot of leases.
        :param ratios: how often it gives each class, VCPU once.
        """
        uuid = world.new_uuid()
        _worked(self._client.ensure_class(LEASE_SLOT))
        _worked(self._client.create_provider(uuid, name or f'host-{uuid}'))
        self.offer(uuid, {
            name: {**ONE, 'total': total, 'max_unit': total,
                   'allocation_ratio': ratios.get(name, 1.0)}
            for name, total in (('VCPU', vcpus), ('MEMORY_MB', memory_mb),
                                ('DISK_GB', disk_gb), (LEASE_SLOT, slots))})
        return uuid

    def serve(self, host: str, **amounts: int) -> str:
        """Have a server of somebody on a compute host, and return its uuid."""
        server = world.new_uuid()
        _worked(self._client.put_allocations(server, wanted(
            {host: amounts}, consumer_type='INSTANCE')))
        return server

    def offer(self, uuid: str,
              by_class: Mapping[str, Mapping[str, Any]]) -> None:
        """Have a provider offer this and nothing else."""
        there = self._client.inventories(uuid)
        assert there is not None
        _worked(self._client.put_inventories(uuid, there.generation,
                                             by_class))

    def offer_also(self, uuid: str, resource_class: str,
                   **differently: Any) -> None:
        """Have a provider offer one class more, or one of its own otherwise.

        :param differently: in its inventory.
        """
        there = self._client.inventories(uuid)
        assert there is not None
        self.offer(uuid, {**there.by_class,
                          resource_class: {**ONE, **differently}})

    def claim(self, provider: str, consumer: str | None = None,
              resource_class: str = GOLD) -> str:
        """Claim a node as Nova's scheduler does, and return the consumer."""
        consumer = consumer or world.new_uuid()
        _worked(self.try_claim(provider, consumer, resource_class))
        return consumer

    def try_claim(self, provider: str, consumer: str,
                  resource_class: str = GOLD) -> answers.Answer:
        """Try to claim a node as Nova's scheduler does."""
        return self._client.put_allocations(consumer, wanted(
            {provider: {resource_class: 1}}, consumer_type='INSTANCE'))


def wanted(allocations: Mapping[str, placement.Resources],
           generation: int | None = None,
           consumer_type: str = 'SOMEBODY') -> placement.AllocationRequest:
    """Return what a consumer of a test is to have."""
    return placement.AllocationRequest(allocations, NOBODY, NOBODY, generation,
                            consumer_type)


def _worked(answer: answers.Answer) -> None:
    if not answer.done:
        raise AssertionError(answer)
