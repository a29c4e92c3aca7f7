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


"""The real commands, as processes, against a real Ironic."""

import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
from typing import Any
import uuid

import testtools

from tests.inprocess.client import loaded
from tests.real import distribution
from tests.real import ironic as real_ironic
from tools import enrolment

ROOT = pathlib.Path(__file__).parents[3]
EXAMPLES = ROOT / 'doc' / 'source' / 'examples'
PLUGIN = ROOT / 'plugins' / 'ironic-cli'
TIMEOUT = 600
_VARIES = re.compile(
    r'\d{4}-\d\d-\d\d[ T]\d\d:\d\d:\d\d(?:[.]\d+)?'
    r'|(?:req-)?[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}')
RESERVATION = ('baremetal', 'reservation')
LEASE = (*RESERVATION, 'lease')


def masked(text: str) -> str:
    """Return a text without what differs from run to run."""
    return ' '.join(_VARIES.sub('*', text).split())


class ClientTestCase(testtools.TestCase):
    """One Ironic for the tests of a class, each of which has its own nodes.

    :cvar ironic: the service.
    """

    ironic: real_ironic.RealIronic

    @classmethod
    def setUpClass(cls) -> None:
        """Start Ironic with our middleware in it."""
        super().setUpClass()
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.folder = pathlib.Path(folder.name)
        cls.ironic = real_ironic.RealIronic(
            reservations={'reservations': {'min_ttl': 1}})
        cls.ironic.setUp()
        cls.addClassCleanup(cls.ironic.cleanUp)
        cls.commands = cls.folder / 'commands'
        cls.commands.mkdir()
        for name in loaded.NAMES:
            loaded.commands().write_client(cls.commands / name, name)
        cls.environment = loaded.environment(
            cls.folder, OS_AUTH_TYPE='none', OS_ENDPOINT=cls.ironic.url,
            PATH=os.pathsep.join([
                str(cls.commands),
                str(pathlib.Path(sys.executable).parent),
                os.environ['PATH']]),
            PYTHONPATH=os.pathsep.join(
                [str(cls.folder / 'plugin'),
                 os.environ.get('PYTHONPATH', '')]).rstrip(os.pathsep))

    @classmethod
    def install_plugin(cls) -> None:
        """Install plugins/ironic-cli as pip does, in a folder of its own."""
        plugin = cls.folder / 'plugin'
        distribution.install(PLUGIN, plugin)
        loaded.commands().write_client(cls.commands / 'ironic',
                                       str(plugin / 'bin' / 'ironic'))

    def nodes(self, count: int = 1,
              resource_class: str = 'baremetal') -> list[enrolment.Enrolled]:
        """Enroll nodes that no other test has."""
        return self.ironic.enroll(
            count, prefix=f'n{uuid.uuid4().hex[:8]}',
            resource_class=resource_class)

    def command(self, *args: str | os.PathLike[str], status: int = 0,
                timeout: float = TIMEOUT) -> subprocess.CompletedProcess[str]:
        """Run a command, or a script in Python; it must end with the status.
        """
        if args[0] in loaded.NAMES or str(args[0]).endswith('.py'):
            done = loaded.commands().run([*map(str, args)], self.environment,
                                         timeout)
        else:
            done = subprocess.run(
                args, env=self.environment, capture_output=True, text=True,
                stdin=subprocess.DEVNULL, timeout=timeout)
        self.assertEqual(
            status, done.returncode,
            f'{args}\n{done.stdout}\n{done.stderr}\n'
            f'{self.ironic.service.log_tail()}')
        return done

    def refused(self, told: str, *args: str | os.PathLike[str],
                status: int = 1) -> None:
        """Run a command that fails, and check what it says of it."""
        self.assertIn(told, self.command(*args, status=status).stderr)

    def json_of(self, *args: str) -> Any:
        """Run a command with ``-f json``, and return what that means."""
        return json.loads(self.command(*args, '-f', 'json').stdout)

    def held(self, ident: str) -> dict[str, Any] | None:
        """Return what the server has of a reservation."""
        answer = self.ironic.session.get(
            f'{self.ironic.url}/v1/reservations/{ident}', headers={
                'OpenStack-API-Version': 'baremetal-reservation latest'})
        return answer.json()['reservation'] if answer.ok else None

    def provision_state(self, node: enrolment.Enrolled) -> str:
        """Return what Ironic says of a node."""
        return self.ironic.session.get(
            f'{self.ironic.url}/v1/nodes/{node.uuid}', headers={
                # NOTE: the oldest versions know no state "available".
                'X-OpenStack-Ironic-API-Version': 'latest'}).json()[
                    'provision_state']


class LeaseTestCase(ClientTestCase):
    """Two hosts of a class of their own, and a name for a lease.

    :ivar of_kind: the options that request the class.
    """

    def setUp(self) -> None:
        """Open the hosts."""
        super().setUp()
        kind = f'class-{uuid.uuid4().hex[:8]}'
        self.enrolled = self.nodes(2, resource_class=kind)
        self.command(*RESERVATION, 'host', 'import', '--resource-class', kind)
        self.of_kind = ('--resource-class', kind)
        self.name = f'lease-{uuid.uuid4().hex[:8]}'
