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


"""A running Ironic with the guard, and plain HTTP to talk to it."""

import base64
from collections.abc import Callable
import contextlib
import dataclasses
import datetime
import http.client
import json
import tempfile
import time
from typing import Any
import uuid

import testtools

from ironic_reservations.clouds import ironic_versions
from tests.real import forked_ironic
from tools import all_in_one
from tools import enrolment

PROOF = 'OpenStack-Baremetal-Reservation'
OURS = {'OpenStack-API-Version': 'baremetal-reservation latest'}
_VERSION = 'X-OpenStack-Ironic-API-Version'
#: A call that takes longer than this hangs, also on a busy machine.
_WAIT = 300
#: Whether the installed Ironic is the oldest one that is supported, 35.0.
IS_OLDEST = ironic_versions.installed() == '1.111'


def add(path: str, value: Any) -> dict[str, Any]:
    """Return an entry of a patch."""
    return {'op': 'add', 'path': path, 'value': value}


def replace(path: str, value: Any) -> dict[str, Any]:
    """Return an entry of a patch that needs the field to be there."""
    return {'op': 'replace', 'path': path, 'value': value}


def remove(path: str) -> dict[str, Any]:
    """Return an entry of a patch that removes a field."""
    return {'op': 'remove', 'path': path}


@dataclasses.dataclass(frozen=True)
class Reply:
    """A decoded answer."""

    status: int
    headers: dict[str, str]
    document: Any

    @property
    def code(self) -> str | None:
        """The code of an error of ours."""
        if isinstance(self.document, dict) and 'errors' in self.document:
            return self.document['errors'][0]['code']
        return None


class GuardTestCase(testtools.TestCase):
    """One Ironic for the tests of a class; each test has its own nodes.

    :cvar users: the users of http_basic.
    :cvar reservations: options of ours, by section.
    """

    ironic: all_in_one.AllInOne
    users: dict[str, str] | None = None
    reservations: dict[str, dict[str, object]] = {}
    identity: dict[str, str] = {}

    @classmethod
    def setUpClass(cls) -> None:
        """Start Ironic with our middleware in it."""
        super().setUpClass()
        cls.ironic = cls.enterClassContext(cls.make(
            cls.enterClassContext(tempfile.TemporaryDirectory())))

    @classmethod
    def make(cls, folder: str) -> all_in_one.AllInOne:
        """Return the service that is started."""
        return forked_ironic.ForkedIronic(
            folder, users=cls.users, reservations=cls.reservations)

    def send(self, method: str, path: str, document: Any = None, *,
             raw: bytes | None = None, content_type: str = 'application/json',
             version: str = '1.109', chunked: bool = False,
             headers: dict[str, str] | None = None) -> Reply:
        """Send a request exactly as it is given.

        :param path: with the query, quoted.
        """
        if document is not None:
            raw = json.dumps(document).encode()
        sent = {_VERSION: version, 'Accept': 'application/json',
                **self.identity, **(headers or {})}
        if raw is not None and content_type:
            sent['Content-Type'] = content_type
        if raw is not None and chunked:
            # One chunk: a server that refuses the body may close the
            # connection before the last one.
            sent['Transfer-Encoding'] = 'chunked'
            raw = b'%x\r\n%b\r\n0\r\n\r\n' % (len(raw), raw)
        connection = http.client.HTTPConnection('127.0.0.1',
                                                self.ironic.port, timeout=60)
        try:
            # A server that refuses an unread body may close the connection
            # before all of it is sent; its answer can still be read, as
            # urllib3 does.
            with contextlib.suppress(BrokenPipeError):
                connection.request(method, path, raw, sent)
            answer = connection.getresponse()
            body = answer.read()
        finally:
            connection.close()
        try:
            decoded = json.loads(body)
        except ValueError:
            decoded = body
        return Reply(answer.status, {name.lower(): value for name, value
                                     in answer.getheaders()}, decoded)

    def enroll(self, count: int = 1, *, powered: bool = False,
               **fields: Any) -> list[enrolment.Enrolled]:
        """Create available nodes.

        :param powered: whether Ironic knows their power state, without which
            it does not allocate them.
        """
        with self.ironic.session() as session:
            session.headers.update(self.identity)
            nodes = enrolment.enroll(session, self.ironic.url, count,
                                     prefix=f'node-{uuid.uuid4().hex[:8]}',
                                     **fields)
        if powered:
            for node in nodes:
                self.send('PUT', f'/v1/nodes/{node.uuid}/states/power',
                          {'target': 'power on'})
                self.wait_for(lambda node=node: self.node(node.uuid)
                              ['power_state'] == 'power on')
        return nodes

    def node(self, ident: str) -> dict[str, Any]:
        """Read a node."""
        return self.send('GET', f'/v1/nodes/{ident}').document

    def reserve(self, *uuids: str, **wanted: Any) -> dict[str, Any]:
        """Reserve one of some nodes."""
        reply = self.send('POST', '/v1/reservations', {
            'instance_uuid': str(uuid.uuid4()), 'node_uuid': list(uuids),
            **wanted}, headers=OURS)
        self.assertEqual(201, reply.status, reply)
        return reply.document['reservation']

    def reserved(self, **fields: Any) -> tuple[enrolment.Enrolled, str]:
        """Make a node and reserve it; return it and the proof."""
        node, = self.enroll(**fields)
        return node, self.reserve(node.uuid)['uuid']

    def make_lease(self, uuid: str, properties: str,
                   holder: dict[str, str] | None = None) -> dict[str, Any]:
        """Open a node to leases, and lease a node with these properties.

        :param holder: who makes the lease, if it is somebody else.
        """
        opened = self.send('POST', '/v1/os-hosts', {'name': uuid},
                           headers=OURS)
        self.assertEqual(201, opened.status, opened)
        self.identity = holder or self.identity
        end = datetime.datetime.now(datetime.UTC) + datetime.timedelta(days=1)
        reply = self.send('POST', '/v1/leases', {
            'name': f'lease of {uuid}', 'start_date': 'now', 'events': [],
            'end_date': f'{end:%Y-%m-%d %H:%M}', 'reservations': [{
                'resource_type': 'physical:host', 'min': 1, 'max': 1,
                'hypervisor_properties': '',
                'resource_properties': properties}]}, headers=OURS)
        self.assertEqual(201, reply.status, reply)
        lease: dict[str, Any] = reply.document['lease']
        self.wait_for(lambda: self.send(
            'GET', f'/v1/leases/{lease["id"]}', headers=OURS
        ).document['lease']['status'] == 'ACTIVE')
        return lease

    def reservation(self, uuid: str) -> Reply:
        """Read a reservation."""
        return self.send('GET', f'/v1/reservations/{uuid}', headers=OURS)

    def provision(self, ident: str, target: str, proof: str | None = None,
                  **more: Any) -> Reply:
        """Request a provision state of a node."""
        return self.send(
            'PUT', f'/v1/nodes/{ident}/states/provision',
            {'target': target, **more},
            headers={} if proof is None else {PROOF: proof})

    def deploy(self, ident: str, proof: str | None = None,
               **more: Any) -> Reply:
        """Deploy a node."""
        return self.provision(ident, 'active', proof, **more)

    def bind(self, ident: str, instance: str,
             proof: str | None = None) -> Reply:
        """Write an instance on a node."""
        return self.send(
            'PATCH', f'/v1/nodes/{ident}',
            [replace('/instance_uuid', instance)],
            headers={} if proof is None else {PROOF: proof})

    def wait_for(self, happened: Callable[[], Any]) -> Any:
        """Repeat a query until its condition holds, and return its result."""
        deadline = time.monotonic() + _WAIT
        while time.monotonic() < deadline:
            seen = happened()
            if seen:
                return seen
            time.sleep(.05)
        self.fail(f'It did not happen within {_WAIT} s. The log of Ironic '
                  f'ends with:\n{self.ironic.log_tail()}')

    def wait_until(self, ident: str, state: str) -> None:
        """Wait until a node is in a state."""
        self.wait_for(lambda: self.node(ident)['provision_state'] == state)

    def assert_says(self, status: int, code: str | None, reply: Reply,
                    message: object = '') -> None:
        """Check the answer to a request, and its author.

        :param code: the code of an error of ours; ``None``: Ironic answers.
        """
        self.assertEqual((status, code), (reply.status, reply.code), message)

    def assert_needs_proof(self, reply: Reply, message: object = '') -> None:
        """Check that the guard refuses a request without a proof."""
        self.assert_says(403, 'reservation.proof_required', reply, message)

    def assert_untouched(self, uuid: str, message: str = '') -> None:
        """Check that nobody has taken a node."""
        node = self.node(uuid)
        self.assertEqual(
            ('available', None, None),
            (node['provision_state'], node['target_provision_state'],
             node['instance_uuid']), message)


class WithUsers(GuardTestCase):
    """Users and passwords; our own client uses those of bob."""

    users: dict[str, str] | None = {'alice': 'secret', 'bob': 'hidden'}
    reservations: dict[str, dict[str, object]] = {'ironic': {
        'auth_type': 'http_basic', 'username': 'bob', 'password': 'hidden',
        'endpoint': 'http://not.asked.invalid'}}
    identity = {'Authorization': 'Basic ' + base64.b64encode(
        b'alice:secret').decode()}
