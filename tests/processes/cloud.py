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


"""The cloud that the storm goes over: APIs, conductors, reconcilers."""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Mapping
import contextlib
import json
import os
import pathlib
import random
import subprocess
import sys
import time
from typing import Any
import uuid as uuid_module

import fixtures
import requests
import sqlalchemy as sa

from tests import forked_child
from tests.processes import balancer
from tests.processes import before
from tests.processes import compute_hosts
from tests.processes import database_proxy
from tests.processes import enrolled
from tests.processes import exchange
from tests.processes import mix as mixes
from tests.processes import mutations
from tests.processes import people
from tests.processes import process
from tests.processes import statements
from tests.processes import subscriber
from tests.processes import trouble
from tests.processes import wire
from tests.processes.database_servers import base
from tests.real import databases
from tools import all_in_one
from tools import free_ports
from tools import placement

_ROOT = pathlib.Path(__file__).parents[2]
_DBSYNC = ('from ironic_reservations.cmd import dbsync; import sys; '
           'sys.exit(dbsync.main(sys.argv[1:]))')
_MANAGE = ('from ironic_reservations.cmd import manage; import sys; '
           'sys.exit(manage.main(sys.argv[1:]))')
_IRONIC_DBSYNC = ('import sys; from ironic.command import dbsync as p; '
                  'sys.argv[0] = "ironic-dbsync"; sys.exit(p.main())')
#: The usual port of JSON-RPC.
_RPC = 8089
#: How long, in seconds, until it is noticed that an API does not answer.
_NOTICED = 2.0
#: How long before its release a node is warned of, in seconds.
_WARNED_BEFORE = 3
#: Of hosts, by which tenants ask for some.
_PROPERTIES = 'resource_class,node_uuid,owner'
#: Which processes run another release, where there is one.
_BESIDE = ('api-0', 'reconciler-0')


class Cloud(fixtures.Fixture):
    """Everything that runs, on scratch databases.

    :param kind: of the databases.
    :param folder: where everything is written.
    :param choice: of all that is left to chance here.
    :param happened: called with what has happened to a request.
    :param mutation: what is broken on purpose.
    :param with_placement: whether promises are held in a Placement, and
        there are compute hosts.
    :param beside: a checkout of another release, which one API and one
        reconciler run.
    :param mix: how many nodes there are, and how long things may take.
    :param noticed: called with the id of each notice that somebody gets;
        where there is none, nobody gets any.
    :param servers: which have our tables, if it is not the usual one.
    :param charged: called with each commit that the enforcement service
        gets; where there is none, there is no such service.
    :cvar apis: how many there are beside two conductors.
    :cvar reconcilers: how many there are beside those of the APIs.
    """

    apis = 3
    reconcilers = 2

    def __init__(self, kind: str, folder: pathlib.Path,
                 choice: random.Random,
                 happened: Callable[[balancer.Happened], None],
                 mutation: str | None = None,
                 with_placement: bool = False,
                 mix: mixes.Mix | None = None,
                 beside: pathlib.Path | None = None,
                 noticed: Callable[[str], None] | None = None,
                 charged: Callable[[Any], None] | None = None,
                 servers: base.Servers | None = None) -> None:
        super().__init__()
        self.mix = mix or mixes.Mix()
        self.times = self.mix.times
        self._with_placement = with_placement
        self._beside = beside
        self.placement: compute_hosts.Placement | None = None
        self.kind = kind
        self.folder = folder
        #: A file that is there while Ironic is to fail.
        self.raging = folder / 'raging'
        self.choice = choice
        self._happened = happened
        self._noticed = noticed
        self._charged = charged
        self.servers = servers
        self._subscriber: subscriber.Subscriber | None = None
        self._charger: subscriber.Charger | None = None
        self._mutation = mutation
        #: Whether all nodes can be leased, or those that are opened.
        self.all_hosts = self.choice.random() < self.mix.all_hosts
        self.processes: list[process.Process] = []
        self.proxies: dict[str, database_proxy.DatabaseProxy] = {}
        self.rpc: dict[str, balancer.Balancer] = {}
        self.nodes: dict[str, str] = {}
        #: The projects that nodes belong to.
        self.owners: dict[str, str] = {}

    def _setUp(self) -> None:
        self.wire = wire.Wire()
        self.addCleanup(self.wire.close)
        self.ours = self.useFixture(databases.Database(self.kind)).url if (
            self.servers is None) else self.servers.create_database()
        self._theirs = self.useFixture(databases.Database(self.kind)).url
        self._environment = {
            statements.VARIABLE: str(sa.make_url(self.ours).database),
            mutations.VARIABLE: self._mutation or '',
            trouble.VARIABLE: json.dumps(
                {'while': str(self.raging), 'often': self.mix.trouble,
                 'seed': self.choice.random()})}
        if self._noticed is not None:
            self._subscriber = self.useFixture(subscriber.Subscriber(
                random.Random(self.choice.random()), self._noticed))
        if self._charged is not None:
            self._charger = self.useFixture(subscriber.Charger(
                random.Random(self.choice.random()), self._charged))
        if self._with_placement:
            self.placement = compute_hosts.Placement(
                self.folder / 'placement')
            self.addCleanup(self.placement.__exit__, None, None, None)
            self.placement.__enter__()
        self.addCleanup(self._end)
        self._write_site()
        self._make_tables()
        if self.kind == 'sqlite':
            ports = [self._ironic('all', 'ironic-0')]
        else:
            for number in range(2):
                self._ironic('conductor', f'conductor-{number}')
            ports = [self._ironic('api', f'api-{number}')
                     for number in range(self.apis)]
        self.balancer = balancer.Balancer(
            self.wire, [('127.0.0.1', port) for port in ports], self.choice,
            self._happened, silent=self._silent)
        for each in self.processes:
            each.start()
        for each in self.processes:
            each.wait()
        self._wait_for_conductors()
        self._enroll()
        if self.placement is not None:
            self.placement.provide(self.nodes)
        if self.kind != 'sqlite':
            for number in range(self.reconcilers):
                self._reconciler(f'reconciler-{number}')

    @property
    def url(self) -> str:
        """Where clients ask: the balancer."""
        return f'http://127.0.0.1:{self.balancer.port}'

    def of(self, *roles: str) -> list[process.Process]:
        """Return the processes of some roles; all of them by default."""
        return [each for each in self.processes
                if not roles or each.role in roles]

    def busy(self, which: process.Process) -> bool:
        """Return whether a process is at work on a request, or its rows."""
        proxy = self.proxies.get(which.name)
        if proxy is not None and proxy.busy:
            return True
        if which.name in self.rpc:
            return self.rpc[which.name].busy()
        return which.url is not None and self.balancer.busy(
            int(which.url.rsplit(':', 1)[1].strip('/')))

    def session(self) -> requests.Session:
        """Return a session of HTTP as the operator."""
        session = requests.Session()
        session.trust_env = False
        session.headers['X-Auth-Token'] = people.OPERATOR.token
        return session

    def tables(self) -> sa.Engine:
        """Return an engine on our database, past all proxies."""
        return sa.create_engine(
            self.ours if self.servers is None else self.servers.url(),
            poolclass=sa.NullPool)

    def audit(self) -> list[dict[str, str]]:
        """Return the traces of promises that the database does not have."""
        return list(json.loads(self._manage('audit', '--format', 'json')))

    def repair_placement(self) -> None:
        """Have what Placement has of no promise removed."""
        self._manage('placement', 'audit', '--repair')

    def _manage(self, *words: str) -> str:
        """Run a command of an operator; return what it prints."""
        path = self.folder / 'manage.ours.conf'
        if not path.exists():
            all_in_one.write_options(path, self._our_options(
                'manage', self.url))
        done = subprocess.run(
            [sys.executable, '-W', 'ignore', '-c', _MANAGE, '--config-file',
             str(path), *words], cwd=self.folder, text=True,
            stdin=subprocess.DEVNULL, capture_output=True, check=False,
            env={**os.environ, 'PYTHONPATH': str(_ROOT)})
        if done.returncode not in (0, 1):
            raise RuntimeError(f'{words}: {done.stderr[-3000:]}')
        return done.stdout

    def _end(self) -> None:
        for each in self.processes:
            with contextlib.suppress(Exception):
                each.end()

    def _write_site(self) -> None:
        """Make the recorder known to Ironic, as a package would be."""
        info = self.folder / 'site' / 'storm_recorder-1.dist-info'
        info.mkdir(parents=True)
        (info / 'METADATA').write_text(
            'Metadata-Version: 2.1\nName: storm-recorder\nVersion: 1\n')
        (info / 'entry_points.txt').write_text(
            '[ironic.api.middleware]\n'
            'storm_recorder = tests.processes.recorder:factory\n')
        (self.folder / 'policy.yaml').write_text(''.join(
            f'"baremetal:{name}": "role:reader"\n' for name in (
                'node:get', 'node:list', 'node:list_all',
                'node:set_provision_state', 'allocation:get',
                'allocation:list', 'node:update',
                'node:update:instance_uuid', 'node:set_maintenance',
                'node:clear_maintenance', 'node:set_power_state',
                'node:set_boot_device')))
        (self.folder / 'our-policy.yaml').write_text(
            '"baremetal:reservation:create_any_node": "role:member"\n')

    def _make_tables(self) -> None:
        ironic = self.folder / 'dbsync-ironic.conf'
        all_in_one.write_options(ironic, self._ironic_options('dbsync', 0))
        ours = self.folder / 'dbsync-ours.conf'
        all_in_one.write_options(ours, {
            'DEFAULT': {'state_path': self.folder},
            'database': {'connection': self.ours}})
        for code, path, word in ((_IRONIC_DBSYNC, ironic, 'create_schema'),
                                 (_DBSYNC, ours, 'upgrade')):
            making = forked_child.ForkedChild(
                word, code, ['--config-file', str(path), word], self.folder,
                self.folder / f'{word}.log')
            status = making.process.wait()
            # NOTE: it has ended, but its pipe has not.
            making.kill()
            if status:
                raise RuntimeError(f'{word}: {making.log_tail()}')

    def _ironic(self, role: str, name: str) -> int:
        """Add a process of Ironic; return the port of its API."""
        port = 0 if role == 'conductor' else free_ports.free_port()
        theirs = self.folder / f'{name}.ironic.conf'
        options = self._ironic_options(role, port)
        listens = None
        if role == 'conductor':
            listens = (str(options['json_rpc']['host_ip']), _RPC)
            self.rpc[name] = balancer.Balancer(
                self.wire, [listens], self.choice, self._happened,
                (str(options['DEFAULT']['host']), _RPC))
        all_in_one.write_options(theirs, options)
        ours = self.folder / f'{name}.ours.conf'
        if role != 'conductor':
            all_in_one.write_options(ours, self._our_options(
                name, f'http://127.0.0.1:{port}'))
        self.processes.append(process.Process(
            role, name, self.folder, ('--config-file', str(theirs)),
            f'http://127.0.0.1:{port}/' if port else None, {
                **self._environment,
                'OS_IRONIC_RESERVATIONS_CONFIG_FILE': str(ours)},
            self._release(name), listens,
            # NOTE: one that nothing kills needs no other to stand by.
            alone=role == 'all' and bool(self.mix.faults)))
        return port

    def _reconciler(self, name: str) -> None:
        path = self.folder / f'{name}.ours.conf'
        all_in_one.write_options(path, self._our_options(name, self.url))
        self.processes.append(process.Process(
            'reconciler', name, self.folder, ('--config-file', str(path)),
            environment=self._environment, path=self._release(name)))
        self.processes[-1].start()

    def _silent(self, target: tuple[str, int]) -> bool:
        """Return whether a balancer would know that an API does not answer."""
        return any(each.stopped_for > _NOTICED and each.url is not None
                   and each.url.endswith(f':{target[1]}/')
                   for each in self.processes)

    def _release(self, name: str) -> tuple[pathlib.Path, ...]:
        """Return where the release is that a process runs, if another one.

        NOTE: a folder with nothing but the package, since all else that a
        process of the storm needs is of this checkout.
        """
        if self._beside is None or name not in _BESIDE:
            return ()
        return self._before(self._beside)

    def _before(self, checkout: pathlib.Path) -> tuple[pathlib.Path, ...]:
        folder = self.folder / 'beside'
        folder.mkdir(exist_ok=True)
        package = folder / before.PACKAGE
        if not package.exists():
            package.symlink_to(checkout.resolve() / package.name)
        return (folder,)

    def go_back(self) -> None:
        """Have all of ours run the release that runs beside, as it is.

        The tables stay what they are, as the documentation tells operators.
        """
        if self._beside is None:
            raise ValueError('There is no release to go back to.')
        for each in self.of('api', 'all', 'reconciler'):
            if each.name not in _BESIDE:
                each.replace(self._before(self._beside))

    def _proxied(self, name: str) -> str:
        """Return the URL of our database for one process."""
        url = sa.make_url(self.ours)
        if url.host is None:
            return self.ours
        number = len(self.proxies)
        at = url.host, int(url.port or 0)
        servers = self.servers
        self.proxies[name] = database_proxy.DatabaseProxy(
            self.wire, lambda: [at] if servers is None
            else servers.addresses(number))
        return url.set(port=self.proxies[name].port).render_as_string(
            hide_password=False)

    def _our_options(self, name: str, ironic: str) -> all_in_one.Options:
        return {
            'DEFAULT': {'state_path': self.folder},
            'database': {'connection': self._proxied(name),
                         **({} if self.servers is None
                            else self.servers.options)},
            'oslo_policy': {'policy_file': self.folder / 'our-policy.yaml'},
            'reservations': {'min_ttl': 1, 'sweep_interval': 1,
                             'max_per_class': _by_class(
                                 self.mix.reserved_of_class)},
            'guard': {'in_flight_timeout': self.times.in_flight,
                      'rpc_timeout': self.times.conductor,
                      'claim_ttl': self.times.claim},
            'leases': {'claim_ttl': self.times.claim, 'max_backoff': 2,
                       'tenant_properties': _PROPERTIES,
                       'workers': 4, 'queue_interval': 1,
                       'hosts': 'all' if self.all_hosts else 'opened',
                       'no_show_after': _by_class(self.mix.no_show),
                       'max_hosts_per_class': _by_class(self.mix.of_class),
                       'owner_notice': self.mix.owner_notice,
                       'no_show_warn_before': _WARNED_BEFORE,
                       **self._charging()},
            'ironic': {'poll_interval': 1, 'full_poll_interval': 5,
                       'claim_ttl': self.times.claim, 'timeout': 10,
                       'auth_type': 'admin_token', 'endpoint': ironic,
                       'endpoint_override': ironic,
                       'token': people.SERVICE.token},
            **({} if self._subscriber is None else {'notices': {
                'webhook_urls': self._subscriber.url,
                'webhook_allowed_hosts': '127.0.0.1',
                'webhook_secret_file': self._subscriber.secret_file,
                'webhook_timeout': 3, 'max_backoff': 2,
                'before_start_time': 5, 'claim_ttl': self.times.claim}}),
            **({} if self.placement is None else {'placement': {
                'enabled': True, 'auth_type': 'admin_token',
                'endpoint': self.placement.url,
                'endpoint_override': self.placement.url,
                'token': placement.TOKEN, 'timeout': 5, 'grace': 8,
                'recover_interval': 1, 'hosts_interval': 5,
                'audit_interval': 10, 'claim_ttl': self.times.claim}})}

    def _charging(self) -> dict[str, object]:
        return {} if self._charger is None else {
            'enforcement_timeout': 3,
            **{name.removeprefix('leases__'): value
               for name, value in self._charger.options().items()}}

    def _ironic_options(self, role: str, port: int) -> all_in_one.Options:
        # NOTE: an address of its own for each conductor: with another port
        # than the usual one Ironic 39 does not find its own locks again. It
        # is that of a proxy, with the conductor behind it.
        known, address = _address(), _address()
        options: dict[str, dict[str, object]] = {
            'DEFAULT': {
                'auth_strategy': 'keystone',
                'enabled_hardware_types': 'fake-hardware',
                'rpc_transport': ('none' if self.kind == 'sqlite'
                                  else 'json-rpc'),
                'host': (known if role == 'conductor' else 'all-in-one'),
                'state_path': self.folder,
                'hash_ring_reset_interval': 5},
            'keystone_authtoken': {'auth_type': 'none'},
            'database': {'connection': self._theirs},
            'oslo_policy': {'policy_file': self.folder / 'policy.yaml'},
            'json_rpc': {'auth_strategy': 'noauth', 'host_ip': address,
                         'timeout': self.times.rpc},
            'api': {'host_ip': '127.0.0.1', 'port': port,
                    'middleware': 'storm_recorder,reservations'},
            'fake': {'deploy_delay': '0,2'},
            'conductor': {'automated_clean': False,
                          'heartbeat_interval': 2,
                          # NOTE: a conductor that is stopped or killed is
                          # itself again soon; its nodes stay with it.
                          'heartbeat_timeout': 120,
                          'node_locked_retry_attempts': 2,
                          'periodic_max_workers': 20},
            'oslo_concurrency': {'lock_path': self.folder}}
        for kind, name in all_in_one._INTERFACES.items():
            options['DEFAULT'][f'enabled_{kind}_interfaces'] = name
        return options

    def _wait_for_conductors(self) -> None:
        wanted = 1 if self.kind == 'sqlite' else 2
        with self.session() as session:
            self.processes[-1]._child.wait_until(lambda: len(  # type: ignore
                self._conductors(session)) >= wanted, 240)

    def _conductors(self, session: requests.Session) -> list[Any]:
        try:
            answer = session.get(f'{self.url}/v1/drivers', timeout=5)
            return [host for driver in answer.json()['drivers']
                    for host in driver['hosts']] if answer.ok else []
        except (requests.RequestException, ValueError, KeyError):
            return []

    def _enroll(self) -> None:
        with self.session() as session:
            session.headers[exchange.IRONIC_VERSION] = '1.109'
            for name, count in self.mix.classes.items():
                for number in range(count):
                    uuid = str(uuid_module.UUID(
                        int=self.choice.getrandbits(128), version=4))
                    if self.choice.random() < self.mix.owned:
                        self.owners[uuid] = str(self.choice.choice(
                            people.ALL_TENANTS).project)
                    self._enroll_one(session, uuid, f'{name}-{number}', name)
                    self.nodes[uuid] = name

    def _enroll_one(self, session: requests.Session, uuid: str, name: str,
                    resource_class: str) -> None:
        for step in enrolled.steps(uuid, name, resource_class,
                                   self.owners.get(uuid)):
            _insist(session, step.method, self.url + step.path, step.body,
                    None if step.version is None else {
                        exchange.IRONIC_VERSION: step.version})


def _by_class(numbers: Mapping[str, int]) -> str:
    return ','.join(f'{name}:{number}' for name, number in numbers.items())


def _address() -> str:
    """Return an address of this machine that nobody else is likely to use."""
    return '127.{}.{}.{}'.format(*(
        random.SystemRandom().randint(1, 250) for _ in range(3)))


def _insist(session: requests.Session, method: str, url: str, body: Any,
            headers: dict[str, str] | None = None) -> None:
    """Ask until it is done; a busy machine takes its time.

    :raises RuntimeError: it is not done after a while.
    """
    for _ in range(10):
        answer = session.request(method, url, json=body, headers=headers,
                                 timeout=60)
        if answer.ok or (method == 'POST' and answer.status_code == 409):
            return
        time.sleep(1)
    raise RuntimeError(f'{method} {url}: {answer.text[:500]}')
