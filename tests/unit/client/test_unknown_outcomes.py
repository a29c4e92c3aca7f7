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


"""Requests of which nobody knows whether they were carried out."""

from __future__ import annotations

import contextlib
import io
import json
import socket
import threading
import types
from typing import Any

import fixtures
from ironicclient import exc
from keystoneauth1 import exceptions as ksa_exceptions

from ironic_reservations import errors as api_errors
from ironic_reservations_client import errors
from ironic_reservations_client import lease as leases
from ironic_reservations_client import refusal
from ironic_reservations_client import session
from ironic_reservations_client.osc import lease
from ironic_reservations_client.osc import maintenance
from ironic_reservations_client.osc import reservation
from tests.unit.client import base

_LEASE = (lease.CreateLease, 'my lab', '--duration', '1h')
_RESERVATION = (reservation.CreateReservation, base.UNKNOWN, '--instance',
                base.INSTANCE)
_MAINTENANCE = (maintenance.CreateMaintenance, 'bios', '--node', base.UNKNOWN,
                '--duration', '1h')
_CREATIONS = {
    _LEASE: 'It is not known whether the lease was made: "reservation lease '
    'list --name \'my lab\'" lists it. With --key, the command can be '
    'repeated safely.',
    (*_LEASE, '--key', 'a'): 'It is not known whether the lease was made: '
    '"reservation lease list --name \'my lab\'" lists it. With the same '
    '--key, the command can be repeated safely.',
    _RESERVATION: 'It is not known whether a node was reserved: '
    f'"reservation list --instance {base.INSTANCE}" lists the reservation. '
    'With the same --instance, the command can be repeated safely.',
    _MAINTENANCE: 'It is not known whether the maintenance window was made: '
    '"reservation maintenance list" lists it.'}


class UnknownOutcomesTest(base.ClientTestCase):

    def test_the_time_out_of_a_proxy(self) -> None:
        """The error was only "Gateway Timeout (HTTP 504)"."""
        for status in (502, 504):
            self.service.foreign = (status, {'Content-Type': 'text/html'},
                                    b'')
            for command, hint in _CREATIONS.items():
                error = self.assertRaises(exc.HttpServerError, self._run,
                                          self.service.url, *command)
                head, told = str(error).split('\n')
                self.assertIn(f'(HTTP {status})', head)
                self.assertEqual(hint, told)

    def test_a_connection_that_closes(self) -> None:
        """The service may have read the request before."""
        url = self._closing()
        for command, hint in _CREATIONS.items():
            error = self.assertRaises(errors.NotReachable, self._run, url,
                                      *command)
            self.assertEqual(hint, str(error).split('\n')[-1])

    def test_a_connection_that_closes_for_ever(self) -> None:
        """Only the first try arrived; the last error was "refused"."""
        for command, hint in _CREATIONS.items():
            error = self.assertRaises(errors.NotReachable, self._run,
                                      self._closing(once=True), *command)
            self.assertEqual(hint, str(error).split('\n')[-1])

    def test_a_lost_request_before_a_refusal(self) -> None:
        """The service, which restarts, refuses the second try."""
        self.service.answers = [api_errors.DatabaseUnavailable('No.')] * 9
        tries: list[str] = []
        real = session.TwinSession._request_once

        def once(this: Any, url: str, method: str, **more: Any) -> Any:
            tries.append(url)
            if len(tries) == 1:
                raise ksa_exceptions.ConnectFailure(
                    f'Unable to {url}') from ConnectionResetError()
            return real(this, url, method, **more)

        self.useFixture(fixtures.MonkeyPatch(
            f'{session.__name__}.TwinSession._request_once', once))
        error = self.assertRaises(errors.ServiceUnavailable, self._run,
                                  self.service.url, *_RESERVATION)
        head, hint = str(error).split('\n')
        self.assertIn('[service.database_unavailable]', head)
        self.assertEqual(_CREATIONS[_RESERVATION], hint)

    def test_an_accepted_offer_that_is_lost(self) -> None:
        """The error was the text of the refusal before it."""
        url = self._closing()
        body = {'errors': [{
            'status': 409, 'code': 'lease.refused', 'detail': 'No.',
            'offers': [{'kind': 'later', 'detail': '', 'lease': {}}]}]}
        real = leases.LeaseManager.post
        tries = []

        def post(manager: Any, *given: Any) -> Any:
            tries.append(given)
            if len(tries) > 1:
                return real(manager, *given)
            raise errors.Conflict(refusal.read(json.dumps(body)),
                                  exc.Conflict('No.'))

        self.useFixture(fixtures.MonkeyPatch(
            f'{leases.__name__}.LeaseManager.post', post))
        error = self.assertRaises(errors.NotReachable, self._run, url,
                                  *_LEASE, '--accept', 'later')
        self.assertEqual(_CREATIONS[_LEASE], str(error).split('\n')[-1])
        self.assertNotIn('No. [lease.refused]', str(error))

    def test_what_was_never_sent_is_known(self) -> None:
        """A dry run changes nothing; a refused connection neither."""
        error = self.assertRaises(errors.NotReachable, self._run,
                                  self.nobody(), *_LEASE)
        self.assertNotIn('not known', str(error))
        self.service.foreign = (504, {}, b'')
        for command in (_LEASE, _MAINTENANCE):
            error = self.assertRaises(exc.GatewayTimeout, self._run,
                                      self.service.url, *command, '--dry-run')
            self.assertNotIn('not known', str(error))

    def test_a_change_of_a_lease(self) -> None:
        """A repeated --extend extends the lease once more."""
        found = leases.Lease(None, {
            'id': base.UNKNOWN, 'end_date': '2030-01-01T00:00:00Z'},
            loaded=True)
        self.useFixture(fixtures.MonkeyPatch(
            f'{leases.__name__}.LeaseManager.find', lambda *_: found))
        self.service.foreign = (504, {}, b'')
        error = self.assertRaises(
            exc.GatewayTimeout, self._run, self.service.url, lease.SetLease,
            'x', '--extend', '1h')
        self.assertEqual(
            'It is not known whether the lease was changed: "reservation '
            f'lease show {base.UNKNOWN}" shows it.',
            str(error).split('\n')[-1])

    def _run(self, url: str, command: type[Any], *args: str) -> None:
        _run(self.ironic(url, max_retries=1), io.StringIO(), command, *args)

    def _closing(self, once: bool = False) -> str:
        """Return the URL of a server that closes each connection.

        :param once: whether it accepts only one.
        """
        listener = socket.create_server(('127.0.0.1', 0))

        def serve() -> None:
            with contextlib.suppress(OSError):
                while True:
                    connection, _ = listener.accept()
                    with connection:
                        connection.recv(65536)
                        if once:
                            listener.close()

        threading.Thread(target=serve, daemon=True).start()
        self.addCleanup(listener.close)
        return f'http://127.0.0.1:{listener.getsockname()[1]}'


class InterruptedTest(base.ClientTestCase):
    """Ctrl-C during ``--wait`` ends the wait, and not the lease."""

    def test_the_lease_is_named(self) -> None:
        """Nothing was printed, though the lease was made."""
        made = leases.Lease(None, {'id': base.UNKNOWN, 'name': 'my lab'},
                            loaded=True)

        def interrupted(*_: Any) -> None:
            raise KeyboardInterrupt

        for name, replacement in (('post', lambda *_: made),
                                  ('wait', interrupted)):
            self.useFixture(fixtures.MonkeyPatch(
                f'{leases.__name__}.LeaseManager.{name}', replacement))
        told = io.StringIO()
        self.assertRaises(KeyboardInterrupt, _run, self.ironic(), told,
                          *_LEASE, '--wait')
        self.assertEqual(
            f'The lease my lab ({base.UNKNOWN}) was made; "reservation lease '
            'delete \'my lab\'" ends it.\n', told.getvalue())


def _run(client: Any, told: io.StringIO, command: type[Any],
         *args: str) -> None:
    """Run a command.

    :param told: gets what the command prints on stderr.
    """
    app = types.SimpleNamespace(
        stdout=io.StringIO(),
        client_manager=types.SimpleNamespace(baremetal=client))
    with contextlib.redirect_stderr(told):
        instance = command(app, None)
        parser = instance.get_parser('baremetal reservation')
        instance.run(parser.parse_args(args))
