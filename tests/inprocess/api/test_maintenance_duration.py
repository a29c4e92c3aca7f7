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


import datetime
from typing import Any

from tests.inprocess.api import asking

FOUR_HOURS = datetime.timedelta(hours=4)


class TestMaintenanceDuration(asking.AskingCase):
    """A maintenance window that is booked by its duration."""

    nodes = {'rack-7': {}}
    version = asking.since(28)

    def book(self, status: int = 201, path: str = '/v1/maintenances',
             version: str | None = None, **body: Any) -> Any:
        """Request a window of the node."""
        headers = asking.OPERATOR | ({} if version is None else {
            'openstack_api_version': f'baremetal-reservation {version}'})
        return self.ask('POST', path, status, {
            'name': 'firmware', 'nodes': ['rack-7'], **body},
            idempotency_key='once', **headers)

    def length(self, answer: Any) -> datetime.timedelta:
        """Return the length of the window in an answer."""
        starts_at, ends_at = (
            datetime.datetime.fromisoformat(answer['maintenance'][key])
            for key in ('starts_at', 'ends_at'))
        return ends_at - starts_at

    def test_a_window_from_now_on_has_its_duration(self) -> None:
        """A repeated request is answered with it, also a while later."""
        seconds = round(FOUR_HOURS.total_seconds())
        self.assertEqual(FOUR_HOURS, self.length(self.book(
            200, '/v1/maintenances?dry_run=true', duration=seconds)))
        made = self.book(duration=seconds)
        self.assertEqual(FOUR_HOURS, self.length(made))
        self.served.clock.ahead += datetime.timedelta(minutes=5)
        self.assertEqual(made['maintenance']['uuid'], self.book(
            duration=seconds)['maintenance']['uuid'])

    def test_a_window_from_a_date_on(self) -> None:
        """Its end is computed by the service."""
        self.assertEqual('2050-01-01T14:00:00+00:00', self.book(
            starts_at='2050-01-01T10:00:00+00:00',
            duration=4 * 3600)['maintenance']['ends_at'])

    def test_neither_or_both_are_refused(self) -> None:
        """The text says which to send."""
        end = '2050-01-01T10:00:00+00:00'
        for body, text in (
                ({}, 'ends_at is missing. Send it, or duration.'),
                ({'ends_at': end, 'duration': 60}, 'Send one of them.'),
                ({'starts_at': '9000-06-01T00:00:00+00:00',
                  'duration': 2 ** 31 - 1}, 'the last possible year is 9000'),
                ({'starts_at': '9999-06-01T00:00:00+00:00',
                  'duration': 2 ** 31 - 1}, 'the last possible year is 9000'),
                ({'duration': 0}, 'seconds from 1')):
            self.assertIn(text, self.book(400, **body)['errors'][0]['detail'],
                          body)
        self.assertIn('duration', self.book(
            400, version='1.27', duration=60)['errors'][0]['detail'])
        self.assertIn('ends_at is missing. Send it.', self.book(
            400, version='1.27')['errors'][0]['detail'])
