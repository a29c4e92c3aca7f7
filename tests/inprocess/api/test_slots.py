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
"""GET /v1/availability?slots=N: the first possible starts."""

from tests.inprocess.api import asking

_PATH = ('/v1/availability?start_date=2050-01-01+08:00'
         '&end_date=2050-01-01+20:00')


class TestSlots(asking.AskingCase):
    """One host, with two leases."""

    options = {'leases__project_limits': True,
               'leases__max_horizon': 10 ** 9,
               'leases__max_leases_per_project': 3}
    nodes = {'host': {'resource_class': 'gold'}}

    def setUp(self) -> None:
        super().setUp()
        self.book('01 09', '01 11')
        self.book('01 13', '01 15')

    def post(self, start: str, end: str, status: int = 201) -> None:
        """Request a lease at a slot."""
        self.ask('POST', '/v1/leases', status, {
            'name': 'lease', 'start_date': start, 'end_date': end,
            'reservations': asking.hosts()})

    def slots(self, query: str) -> list[tuple[str, str]]:
        found = self.ask('GET', f'{_PATH}&{query}')['availability']
        return [(each['start_date'], each['end_date'])
                for each in found['slots']]

    def test_each_can_be_had(self) -> None:
        """Each slot is accepted as it is in the answer."""
        slots = self.slots('count=1&duration=7200&slots=20')
        self.assertEqual(
            [('2050-01-01T11:00:00+00:00', '2050-01-01T13:00:00+00:00'),
             ('2050-01-01T15:00:00+00:00', '2050-01-01T17:00:00+00:00')],
            slots)
        self.assertEqual(slots[:1],
                         self.slots('count=1&duration=7200&slots=1'))
        self.post(*slots[1])
        # This was the last lease that the project may have.
        self.assertEqual([], self.slots('count=1&duration=7200&slots=20'))
        self.post(*slots[0], status=403)

    def test_only_those_who_ask_are_told(self) -> None:
        """Other requests get no such key."""
        found = self.ask('GET', f'{_PATH}&count=1&duration=60')
        self.assertNotIn('slots', found['availability'])

    def test_bad_requests(self) -> None:
        """The refusal names the parameter."""
        for query, said in (
                ('count=1&duration=60&slots=0', 'from 1 to 20'),
                ('count=1&duration=60&slots=21', 'from 1 to 20'),
                ('count=1&duration=60&slots=-1', 'from 1 to 20'),
                ('count=1&duration=60&slots=one', 'from 1 to 20'),
                ('count=1&duration=60&slots=', 'from 1 to 20'),
                ('slots=2', '"count" and "duration"'),
                ('count=1&slots=2', 'duration')):
            refused = self.ask('GET', f'{_PATH}&{query}', 400)
            self.assertIn(said, refused['error_message'])

    def test_older_versions_have_none(self) -> None:
        """A version of Blazar alone does not have them either."""
        for version in ('reservation 1.0', None, asking.since(6)):
            refused = self.ask('GET', f'{_PATH}&count=1&duration=60&slots=2',
                               400, version=version)
            self.assertIn('version 1.7', refused['error_message'])
