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


"""All services together."""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Mapping
from concurrent import futures
import contextlib
import datetime
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import time
from typing import Any

from keystoneauth1 import exceptions as ksa_exc
from keystoneauth1 import session as ksa_session

from tools import all_in_one
from tools import child
from tools import enrolment
from tools.stack import glance
from tools.stack import ground as stack_ground
from tools.stack import ironic
from tools.stack import keystone
from tools.stack import neutron
from tools.stack import nova
from tools.stack import people
from tools.stack import placement
from tools.stack import scratch

NODES, RESOURCE_CLASS = 4, 'gold'
FLAVOR, IMAGE = 'gold', 'nothing'
#: A variable of the environment that names a folder for the logs.
LOGS = 'IRONIC_RESERVATIONS_STACK_LOGS'
#: How long until Nova can give the nodes to servers, in seconds.
READY_TIMEOUT = 120

_DATABASES = ('keystone', 'glance', 'placement', 'ironic', 'reservations',
              'nova_api', 'nova', 'nova_cell0')
_NODE = {'properties': {'cpus': 4, 'memory_mb': 8192, 'local_gb': 100,
                        'cpu_arch': 'x86_64'}}
#: With the oldest version that takes "networks: none", and one that Placement
#: filters with.
_COMPUTE, _PLACEMENT = 'compute 2.90', 'placement 1.38'


class Cloud:
    """The whole cloud, from nothing.

    :param reservations: options of ours.
    :param driver: of the nova-compute that has the nodes of Ironic.
    :param environment: of that nova-compute, beside that of this process.
    :param say: told how far it is.
    :ivar nodes: those of Ironic.
    :ivar projects: ids, by name.
    """

    ironic: ironic.Ironic
    compute: nova.Compute

    def __init__(self, reservations: all_in_one.Options | None = None,
                 driver: str = nova.STOCK_DRIVER,
                 environment: Mapping[str, str] | None = None,
                 say: Callable[[str], None] = lambda text: None) -> None:
        self._reservations = reservations or {}
        self._driver = driver
        self._environment = environment
        self._say = say
        self._stack = contextlib.ExitStack()
        self._sessions: dict[people.Person, ksa_session.Session] = {}
        self.nodes: list[enrolment.Enrolled] = []
        self.projects: dict[str, str] = {}
        self.image = ''

    def __enter__(self) -> Cloud:
        try:
            self._start()
        except child.NotStarted:
            self._stack.close()
            raise
        except BaseException as failure:
            if hasattr(self, 'ground'):
                failure.add_note(self.ground.log_tails())
            self._stack.close()
            raise
        return self

    def __exit__(self, *failure: object) -> None:
        self._stack.close()

    @property
    def keystone_url(self) -> str:
        """The root of Keystone."""
        return self.ground.url(keystone.NAME)

    def session(self, person: people.Person) -> ksa_session.Session:
        """Return a session of HTTP as somebody."""
        if person not in self._sessions:
            self._sessions[person] = people.session(self.keystone_url, person)
        return self._sessions[person]

    def new_compute(self, host: str, driver: str, **words: Any
                    ) -> nova.Compute:
        """Return one more nova-compute, to be started."""
        return nova.Compute(self.ground, self.broker, self.keystone_url, host,
                            driver, **words)

    def change_driver(self, driver: str, path: str = '') -> None:
        """Start the nova-compute of Ironic again, with another driver.

        :param driver: below nova.virt.
        :param path: where it looks for modules first.
        """
        self.compute.kill()
        self.compute = self.new_compute(
            'compute-ironic', driver,
            environment={'PYTHONPATH': path} if path else None)
        self.compute.start()
        self.wait_for_start(self.compute)

    def wait_for_start(self, compute: nova.Compute) -> None:
        """Wait until a nova-compute reports that it works, anew.

        :raises NotStarted: that takes too long.
        """
        begun = datetime.datetime.now(datetime.UTC).replace(tzinfo=None)

        def reports() -> bool:
            return any(
                each['state'] == 'up' and each['updated_at'] is not None
                and datetime.datetime.fromisoformat(
                    each['updated_at']) > begun
                for each in self.compute_api(
                    people.ADMIN, 'GET', '/os-services?binary=nova-compute'
                    f'&host={compute.host}')['services'])
        self.wait_until(f'{compute.name} works', reports, READY_TIMEOUT)

    def ask(self, person: people.Person, method: str, url: str,
            body: Any = None, version: str | None = None) -> Any:
        """Ask a service, and give what it answers.

        :raises HttpError: it refuses.
        """
        answer = self.session(person).request(
            url, method, json=body, headers={
                'Accept': 'application/json',
                **({} if version is None else
                   {'OpenStack-API-Version': version})})
        return answer.json() if answer.content else None

    def compute_api(self, person: people.Person, method: str, path: str,
                    body: Any = None) -> Any:
        """Ask Nova."""
        return self.ask(person, method,
                        f'{self.ground.url(nova.API)}/v2.1{path}', body,
                        _COMPUTE)

    def placement_api(self, method: str, path: str, body: Any = None) -> Any:
        """Ask Placement, as the administrator."""
        return self.ask(people.ADMIN, method,
                        f'{self.ground.url(placement.NAME)}{path}', body,
                        _PLACEMENT)

    def run_openstack(self, person: people.Person, *arguments: str) -> str:
        """Run the ``openstack`` command as somebody; give what it prints.

        :raises CalledProcessError: it failed.
        """
        return self.run_command(person, 'openstack', *arguments)

    def run_command(self, person: people.Person, name: str,
                    *arguments: str) -> str:
        """Run a command as somebody; give what it prints.

        :raises CalledProcessError: it failed.
        """
        return subprocess.run(
            [str(pathlib.Path(sys.executable).with_name(name)),
             *arguments], check=True, text=True, stdin=subprocess.DEVNULL,
            capture_output=True, timeout=120, env={
                **{key: value for key, value in os.environ.items()
                   if not key.startswith('OS_')},
                **people.environment(self.keystone_url, person)}).stdout

    def wait_until(self, what: str, ready: Callable[[], Any],
                   timeout: float) -> Any:
        """Ask until the answer is true; give it.

        :param what: for people.
        :param timeout: in seconds.
        :raises NotStarted: it took longer; the text ends with the logs.
        """
        deadline = time.monotonic() + timeout
        while True:
            answer = ready()
            if answer:
                return answer
            for running in self.ground.children.values():
                if running.process.poll() is not None:
                    raise child.NotStarted(
                        f'{running.name} has ended with '
                        f'{running.process.returncode}:\n'
                        f'{running.log_tail()}')
            if time.monotonic() > deadline:
                raise child.NotStarted(
                    f'Within {timeout:.0f} s it was not so that {what}.\n'
                    f'{self.ground.log_tails()}')
            time.sleep(0.3)

    def _start(self) -> None:
        self.ground = stack_ground.Ground(pathlib.Path(
            self._stack.enter_context(tempfile.TemporaryDirectory(
                prefix='ironic-stack-'))))
        self._stack.callback(self._keep_logs)
        self._databases = scratch.Databases(
            self._stack.enter_context(scratch.mariadb()))
        self._stack.callback(self._databases.drop)
        self.broker, self.own_broker = self._stack.enter_context(
            scratch.broker())
        self._stack.callback(self.ground.end)
        urls = {name: self._databases.make(name) for name in _DATABASES}
        self.nova_database = urls['nova']
        self.ironic = ironic.Ironic(
            self.ground, urls['ironic'], urls['reservations'],
            self.keystone_url, self._reservations)
        self._stack.callback(self.ironic.kill)
        self._make(urls)
        self._say('Starting Glance, Placement, Ironic and Nova ...')
        neutron.start(self.ground)
        placement.start(self.ground)
        glance.start(self.ground)
        # NOTE: the conductor of Nova ends by itself where it is not there.
        self.ground.wait_for(placement.NAME)
        nova.start(self.ground)
        self.ironic.start(stack_ground.START_TIMEOUT)
        self.nodes = self.ironic.enroll(NODES, RESOURCE_CLASS, 'node', **_NODE)
        for name in (neutron.NAME, glance.NAME, nova.API):
            self.ground.wait_for(name)
        self.compute = self.new_compute('compute-ironic', self._driver,
                                        environment=self._environment)
        self.compute.start()
        self._furnish()
        self._say('Waiting for Nova to have found the nodes ...')
        self.wait_for_nodes(len(self.nodes))

    def _keep_logs(self) -> None:
        """Copy the logs to where the environment says."""
        there = os.environ.get(LOGS)
        if there:
            shutil.copytree(self.ground.logs, there, dirs_exist_ok=True)

    def _make(self, urls: Mapping[str, str]) -> None:
        self._say('Making the tables of all services ...')
        with futures.ThreadPoolExecutor(3) as pool:
            nova_made = pool.submit(
                nova.make, self.ground, urls, self.broker, self.keystone_url)
            others = [
                pool.submit(self._make_keystone, urls),
                pool.submit(self.ironic.make),
                pool.submit(glance.make, self.ground, urls['glance'],
                            self.keystone_url)]
            placement.make(self.ground, urls['placement'], self.keystone_url)
            for made in (*others, nova_made):
                made.result()

    def _make_keystone(self, urls: Mapping[str, str]) -> None:
        keystone.make(self.ground, urls['keystone'])
        keystone.start(self.ground)
        directory = people.Directory(self.keystone_url)
        directory.fill()
        directory.offer({
            'image': self.ground.url(glance.NAME),
            'placement': self.ground.url(placement.NAME),
            'baremetal': self.ironic.url,
            'network': self.ground.url(neutron.NAME),
            'compute': f'{self.ground.url(nova.API)}/v2.1',
            'baremetal-reservation': f'{self.ironic.url}/reservation',
            'reservation': f'{self.ironic.url}/v1'})
        self.projects = directory.projects

    def _furnish(self) -> None:
        """Make a flavor and an image."""
        self.make_flavor(FLAVOR, {f'resources:CUSTOM_{RESOURCE_CLASS.upper()}':
                                  '1'})
        root = self.ground.url(glance.NAME)
        self.image = self.ask(people.ADMIN, 'POST', f'{root}/v2/images', {
            'name': IMAGE, 'visibility': 'public', 'disk_format': 'raw',
            'container_format': 'bare'})['id']
        self.session(people.ADMIN).put(
            f'{root}/v2/images/{self.image}/file', data=b'\0' * 1024,
            headers={'Content-Type': 'application/octet-stream'})

    def make_flavor(self, name: str, resources: Mapping[str, str]) -> None:
        """Make a public flavor that asks for nothing but these."""
        self.compute_api(people.ADMIN, 'POST', '/flavors', {'flavor': {
            'name': name, 'id': name, 'ram': 8192, 'vcpus': 4, 'disk': 100}})
        self.compute_api(
            people.ADMIN, 'POST', f'/flavors/{name}/os-extra_specs', {
                'extra_specs': {'resources:VCPU': '0',
                                'resources:MEMORY_MB': '0',
                                'resources:DISK_GB': '0', **resources}})

    def add_nodes(self, count: int, prefix: str) -> list[enrolment.Enrolled]:
        """Enrol more nodes, and wait until Nova has found them."""
        nodes = self.ironic.enroll(count, RESOURCE_CLASS, prefix, **_NODE)
        self.wait_for_nodes(len(self.nodes) + count)
        return nodes

    def wait_for_nodes(self, count: int) -> None:
        """Wait until servers can be made on that many nodes.

        :raises NotStarted: that takes too long.
        """
        name = f'CUSTOM_{RESOURCE_CLASS.upper()}'

        def ready() -> bool:
            try:
                there = self.placement_api(
                    'GET', f'/resource_providers?resources={name}:1')
                hosts = self.compute_api(
                    people.ADMIN, 'GET', '/os-hypervisors')
            except ksa_exc.HttpError:
                return False
            return (len(there['resource_providers']) >= count
                    and len(hosts['hypervisors']) >= count)
        self.wait_until(f'{count} nodes are free for Nova', ready,
                        READY_TIMEOUT)
