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

from __future__ import annotations

import argparse
from unittest import mock

from ironicclient import exc
from keystoneauth1 import exceptions as ksa_exceptions
import testtools

from ironic_reservations_client import errors
from ironic_reservations_client.osc import calendar


class TestWatch(testtools.TestCase):
    """Errors that end ``--watch``, and errors that do not."""

    def setUp(self) -> None:
        super().setUp()
        self.command = calendar.ShowCalendar(mock.Mock(), None)
        self.command._tag = 'seen'

    def again(self, error: Exception) -> object:
        """Repeat the request, which fails."""
        with mock.patch.object(self.command, '_read_calendar',
                               side_effect=error):
            return self.command._again(argparse.Namespace(watch=0))

    def test_watch_outlives_what_passes(self) -> None:
        """The service, a proxy or the network may be down for a while."""
        for kind in (ksa_exceptions.ConnectTimeout,
                     ksa_exceptions.ConnectFailure,
                     exc.ConnectionRefused, exc.InternalServerError,
                     exc.BadGateway, exc.ServiceUnavailable,
                     exc.GatewayTimeout, errors.ForeignAnswer):
            self.assertEqual((None, str(kind('down'))),
                             self.again(kind('down')), kind)
        self.assertEqual((None, 'cut off'), self.again(
            ksa_exceptions.UnknownConnectionError('cut off', OSError())))

    def test_watch_ends_at_what_stays(self) -> None:
        """Another attempt would make no difference."""
        for kind in (exc.Unauthorized, exc.BadRequest,
                     ksa_exceptions.SSLError):
            self.assertRaises(kind, self.again, kind('no'))
