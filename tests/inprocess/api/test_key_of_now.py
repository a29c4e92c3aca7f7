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


class TestKeyOfNow(asking.AskingCase):
    """A repeated request whose dates mean another instant each time."""

    nodes = {'rack-7': {}}
    version = asking.since(24)

    def lease(self, dates: dict[str, Any], status: int = 201,
              **headers: str) -> Any:
        """Request a lease, and return its id, if any."""
        answer = self.ask('POST', '/v1/leases', status, {
            'name': 'one', **dates, 'reservations': asking.hosts()},
            **headers)
        return answer['lease']['id'] if status == 201 else None

    def test_repeated_request_is_answered_with_the_lease_it_made(
            self) -> None:
        """A lease with an immediate notification, and one with open dates."""
        for key, dates in (
                ('told', {'start_date': 'now', 'before_end_date': 'now',
                          'end_date': '2050-01-02 10:00'}),
                ('open', {'between': ['now', '2050-01-02 10:00'],
                          'duration': 3600})):
            first, second = (self.lease(dates, idempotency_key=key)
                             for _ in range(2))
            self.assertEqual(first, second)
            self.ask('DELETE', f'/v1/leases/{first}', 204)

    def test_repeated_request_after_its_end(self) -> None:
        """The answer is the same, and not a second lease."""
        end = self.served.clock() + datetime.timedelta(hours=1)
        for number, dates in enumerate((
                {'start_date': 'now', 'end_date': end.isoformat()},
                {'between': ['now', end.isoformat()], 'duration': 1800})):
            made = self.lease(dates, idempotency_key=f'once-{number}')
            self.served.clock.ahead += datetime.timedelta(hours=2)
            self.assertEqual(made, self.lease(
                dates, idempotency_key=f'once-{number}'))
            self.lease(dates, 400, idempotency_key=f'another-{number}')
            self.lease(dates, 400)
            self.served.clock.ahead -= datetime.timedelta(hours=2)
            self.ask('DELETE', f'/v1/leases/{made}', 204)
