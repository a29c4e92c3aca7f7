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


"""Answers of a proxy, or of another service, at the address of ours."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ironicclient import exc
from openstack import exceptions

from ironic_reservations_client import availability
from ironic_reservations_client import calendar
from ironic_reservations_client import errors
from ironic_reservations_client import host
from ironic_reservations_client import lease
from ironic_reservations_client import lease_payload
from ironic_reservations_client import limits
from ironic_reservations_client import maintenance
from ironic_reservations_client import reservation
from ironic_reservations_client import sdk
from ironic_reservations_client import usage
from ironic_reservations_client.sdk import errors as sdk_errors
from ironic_reservations_client.sdk import leases
from ironic_reservations_client.sdk import maintenances
from tests import listening
from tests.unit.client import base

_JSON = {'Content-Type': 'application/json'}
_HTML = {'Content-Type': 'text/html'}
_PAGE = b'<html><body>Please sign in.</body></html>'
_FOREIGN: tuple[tuple[int, dict[str, str], bytes], ...] = (
    (200, _HTML, _PAGE), (200, _JSON, _PAGE), (200, _JSON, b''),
    (200, _JSON, b'null'), (200, _JSON, b'[]'), (200, _JSON, b'{}'),
    (200, _JSON, b'{"reservations": [{"uuid"'),
    (200, _JSON, b'{"reservation": null, "reservations": null}'),
    (200, {}, b''), (204, {}, b''), (302, _HTML, _PAGE),
    (302, {**_HTML, 'Location': '/login'}, _PAGE),
    (307, {**_HTML, 'Location': '/login'}, _PAGE))
_END = '2030-01-01T00:00:00Z'


class ForeignAnswersTest(base.ClientTestCase):

    def test_answers_of_others_have_a_sentence(self) -> None:
        """They were a TypeError, a KeyError or an AttributeError."""
        client = self.ironic()
        manager = reservation.ReservationManager(client)
        for self.service.foreign in _FOREIGN:
            for call in (lambda: manager.create(base.INSTANCE, self.one),
                         manager.list,
                         lambda: manager.get(base.UNKNOWN),
                         lambda: manager.renew(base.UNKNOWN, 60)):
                self._raises(exc.ClientException, call)

    def test_answers_of_others_in_openstacksdk(self) -> None:
        """Some were the JSONDecodeError of requests."""
        conn = self.connection()
        for self.service.foreign in _FOREIGN:
            for call in (lambda: sdk.reserve(conn, [self.one]),
                         lambda: sdk.reservations(conn),
                         lambda: sdk.get(conn, base.UNKNOWN)):
                self._raises(exceptions.SDKException, call)

    def test_every_kind_of_resource(self) -> None:
        """Each answer is checked in the same place."""
        self.service.foreign = (200, _JSON, b'{"about": {}}')
        client = self.ironic()
        conn = self.connection()
        parts = [lease_payload.hosts(1)]
        for kind, call in (
                (errors, lambda: lease.LeaseManager(client).list()),
                (errors, lambda: lease.LeaseManager(client).create(
                    'one', _END, parts)),
                (errors, lambda: host.HostManager(client).list()),
                (errors, lambda: maintenance.MaintenanceManager(
                    client).list()),
                (errors, lambda: limits.LimitsManager(client).get()),
                (errors, lambda: usage.UsageManager(client).get()),
                (errors, lambda: calendar.CalendarManager(client).get()),
                (errors, lambda: availability.AvailabilityManager(
                    client).get()),
                (sdk_errors, lambda: sdk.limits(conn)),
                (sdk_errors, lambda: leases.leases(conn)),
                (sdk_errors, lambda: leases.lease(conn, 'one', _END, parts)),
                (sdk_errors, lambda: leases.calendar(conn)),
                (sdk_errors, lambda: maintenances.maintenances(conn))):
            self._raises(kind.ForeignAnswer, call)

    def test_a_page_of_a_proxy_is_no_deletion(self) -> None:
        """The deletion succeeded, though the service got no request."""
        self.service.foreign = (200, _HTML, _PAGE)
        manager = reservation.ReservationManager(self.ironic())
        self._raises(errors.ForeignAnswer,
                     lambda: manager.delete(base.UNKNOWN))
        conn = self.connection()
        self._raises(sdk_errors.ForeignAnswer,
                     lambda: sdk.release(conn, base.UNKNOWN))

    def test_redirections_that_never_end(self) -> None:
        """python-ironicclient would follow them until the stack is full."""
        self.service.foreign = (
            302, {'Location': f'{self.service.url}/v1/reservations'}, b'')
        manager = reservation.ReservationManager(self.ironic())
        self._raises(errors.ForeignAnswer, manager.list)
        self._raises(sdk_errors.ForeignAnswer,
                     lambda: sdk.reservations(self.connection()))

    def test_the_version_of_ironic_is_not_known(self) -> None:
        """The commands ask for it first; it was a RuntimeError."""
        page = self.useFixture(listening.Listening(_page))
        manager = reservation.ReservationManager(
            self.ironic(page.url, os_ironic_api_version='latest'))
        error = self.assertRaises(errors.ForeignAnswer, manager.list)
        self.assertIn(f'The answer of {page.url}/v1/ is not', str(error))

    def _raises(self, kind: type[Exception], call: Callable[[], Any]) -> None:
        error = self.assertRaises(kind, call)
        self.assertRegex(
            str(error), f'^The answer of ({self.service.url})?/v1/[a-z/0-9-]* '
            'is not one of the reservation service .*[.] Check the endpoint')


def _page(_environ: dict[str, Any], start: Any) -> list[bytes]:
    start('200 OK', [*_HTML.items()])
    return [_PAGE]
