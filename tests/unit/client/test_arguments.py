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


"""Arguments that Python programs get wrong."""

from __future__ import annotations

from collections.abc import Callable
import contextlib
from typing import Any

from ironic_reservations_client import calendar
from ironic_reservations_client import errors
from ironic_reservations_client import host
from ironic_reservations_client import lease
from ironic_reservations_client import lease_payload
from ironic_reservations_client import maintenance
from ironic_reservations_client import reservation
from ironic_reservations_client import sdk
from ironic_reservations_client import usage
from ironic_reservations_client.sdk import leases
from ironic_reservations_client.sdk import maintenances
from tests.unit.client import base


class MissingIdsTest(base.ClientTestCase):
    """An empty id is not the list of all."""

    def test_an_empty_id_is_refused(self) -> None:
        """The list was read, and an empty object returned."""
        client = self.ironic()
        held = reservation.ReservationManager(client)
        leased = lease.LeaseManager(client)
        opened = host.HostManager(client)
        windows = maintenance.MaintenanceManager(client)
        self._refused(held.get, held.delete, held.deploy,
                      lambda ident: held.renew(ident, 60),
                      leased.get, leased.delete, leased.wait,
                      lambda ident: leased.change(ident, name='x'),
                      lambda ident: leased.put(ident, {}),
                      opened.get, opened.delete, opened.change,
                      windows.get, windows.delete)

    def test_an_empty_id_is_refused_in_openstacksdk(self) -> None:
        """A resource that was never made has no id, either."""
        conn = self.connection()
        calls = [self._with(conn, function) for function in (
            sdk.get, sdk.release, sdk.deploy, leases.get, leases.end,
            leases.get_host, leases.close_host, leases.change_host,
            maintenances.end)]
        self._refused(*calls, lambda ident: sdk.renew(conn, ident, 60),
                      lambda ident: leases.change(conn, ident, name='x'))
        self.assertRaises(ValueError, sdk.get, conn, sdk.Reservation())

    def _with(self, conn: Any, function: Callable[..., Any]
              ) -> Callable[[Any], Any]:
        return lambda ident: function(conn, ident)

    def _refused(self, *calls: Callable[[Any], Any]) -> None:
        for call in calls:
            for ident in ('', None):
                error = self.assertRaises(ValueError, call, ident)
                self.assertRegex(str(error), '^The id of the [a-z]+ is '
                                 'missing[.]$')
        self.assertEqual([], [
            each for each in self.service.requests
            if each['path'].strip('/') not in ('', 'v1')])


class OneOfSeveralTest(base.ClientTestCase):
    """One value, where a list of values is expected, is a list of one."""

    def test_one_node(self) -> None:
        """The request had a node for each character of the UUID."""
        conn = self.connection()
        node = conn.baremetal.get_node(self.two)
        self.assertEqual(self.one, sdk.reserve(conn, self.one).node_id)
        self.assertEqual(self.two, sdk.reserve(conn, node).node_id)
        maintenances = maintenance.MaintenanceManager(self.ironic())
        self._sent(lambda: maintenances.create('x', nodes=self.one))
        self.assertEqual([self.one],
                         self.service.requests[-1]['body']['nodes'])

    def test_one_reservation(self) -> None:
        """It was split into its keys."""
        part = lease_payload.hosts(1)
        self.assertEqual([part], lease_payload.creation(
            'x', None, part, duration=60)['reservations'])
        self.assertEqual([part], lease_payload.flexible(
            'x', 'now', '2030-01-01T00:00:00Z', 60, part)['reservations'])
        self.assertEqual([part], lease_payload.change(
            reservations=part)['reservations'])
        self.assertNotIn('reservations', lease_payload.change(
            name='x', reservations=iter(())))

    def test_one_field(self) -> None:
        """The service was asked for the fields u, u, i and d."""
        manager = reservation.ReservationManager(self.ironic())
        conn = self.connection()
        made = manager.create(base.INSTANCE, self.one)
        for call in (lambda: manager.get(made.uuid, fields='uuid'),
                     lambda: manager.list(fields='uuid'),
                     lambda: sdk.get(conn, made.uuid, fields='uuid'),
                     lambda: sdk.reservations(conn, fields='uuid')):
            call()
            self.assertEqual('uuid',
                             self.service.requests[-1]['query']['fields'])

    def test_one_trait_or_condition_or_group(self) -> None:
        """The same, for the other lists."""
        self.assertEqual(
            lease_payload.hosts(traits=['CUSTOM_A'], conditions=['vcpus>=8']),
            lease_payload.hosts(traits='CUSTOM_A', conditions='vcpus>=8'))
        client = self.ironic()
        for name, call in (
                ('by', lambda: usage.UsageManager(client).get(by='day')),
                ('resource_class', lambda: calendar.CalendarManager(
                    client).get(resource_classes='day'))):
            self._sent(call)
            self.assertEqual('day', self.service.requests[-1]['query'][name])

    def _sent(self, call: Callable[[], Any]) -> None:
        """Send a request; the service need not have the resource."""
        with contextlib.suppress(errors.NotServed):
            call()
