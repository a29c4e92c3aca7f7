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

"""Dates that clients send back without seconds."""

import datetime
from typing import Any

from tests.inprocess.api import asking
from tests.inprocess.api import world

_MINUTE = '%Y-%m-%d %H:%M'


class TestSentBack(asking.AskingCase):
    """The date of a lease without its seconds is not a change."""

    nodes = {'compute-1': {'resource_class': 'gold'}}
    member = operator = {}
    version = None

    def serve(self) -> world.World:
        return world.OpenWorld()

    def setUp(self) -> None:
        super().setUp()
        # The clock is in the middle of a minute.
        now = self.served.clock()
        self.served.clock.ahead += datetime.timedelta(
            seconds=90 - now.second, microseconds=-now.microsecond)
        self.lease = self.ask('POST', '/v1/leases', 201, {
            'name': 'one', 'start_date': 'now',
            'end_date': '2050-01-02T10:00:30', 'reservations':
            asking.hosts()})['lease']
        self.path = f'/v1/leases/{self.lease["id"]}'

    def minutes(self, name: str) -> str:
        """Return a date of the lease as clients of Blazar write it."""
        return datetime.datetime.fromisoformat(
            self.lease[name]).strftime(_MINUTE)

    def changed(self, **what: Any) -> Any:
        """Change the lease."""
        return self.ask('PUT', self.path, 200, what)['lease']

    def test_start_of_a_lease_that_has_started(self) -> None:
        """The start keeps its seconds."""
        for start in (self.minutes('start_date'), self.lease['start_date']):
            for key in ('start_date', 'start'):
                changed = self.changed(**{
                    key: start, 'end_date': '2050-01-03 10:00'})
                self.assertEqual(self.lease['start_date'],
                                 changed['start_date'])

    def test_end(self) -> None:
        """The lease is not shortened by seconds."""
        self.assertEqual(self.lease, self.changed(
            start_date=self.minutes('start_date'),
            end_date=self.minutes('end_date')))

    def test_date_with_seconds_is_what_it_says(self) -> None:
        """This holds for zero seconds, too."""
        changed = self.changed(end_date='2050-01-02T10:00:00')
        self.assertEqual('2050-01-02T10:00:00.000000', changed['end_date'])

    def test_another_minute_is_another_start(self) -> None:
        """The start of a lease that has started cannot change."""
        start = datetime.datetime.fromisoformat(self.lease['start_date'])
        for minutes in (-1, 1):
            answer = self.ask('PUT', self.path, 409, {
                'start_date': (start + datetime.timedelta(
                    minutes=minutes)).strftime(_MINUTE)})
            self.assertEqual('lease.frozen', answer['code'])
