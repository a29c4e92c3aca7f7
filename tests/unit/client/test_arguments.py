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
from typing import Any

from ironic_reservations_client import host
from ironic_reservations_client import lease
from ironic_reservations_client import maintenance
from ironic_reservations_client import reservation
from ironic_reservations_client import sdk
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
