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

"""No offer and no queued lease ends after the last year of requests.

An offer did, and was refused with 400 when it was posted.
"""

from typing import Any

from tests.inprocess.api import asking


class TestLastYear(asking.AskingCase):
    """One host, with a lease shortly before the end of the last year."""

    nodes = {'host': {}}

    def setUp(self) -> None:
        super().setUp()
        self.post('30 00:00', '31 00:00', 201)

    def post(self, start: str, end: str, status: int, **more: str
             ) -> Any:
        """Request a lease in the last December."""
        return self.ask('POST', '/v1/leases', status, {
            **asking.lease('01 10', '01 12'),
            'start_date': f'9000-12-{start}', 'end_date': f'9000-12-{end}',
            **more})

    def test_offers_are_accepted(self) -> None:
        """A later window would end in the year 9001."""
        offers = self.post('29 12:00', '30 18:00', 409)['details']['offers']
        self.assertEqual(['earlier', 'shorter'],
                         [each['kind'] for each in offers])
        for each in offers:
            self.ask('POST', '/v1/leases?dry_run=true', 200, each['lease'])

    def test_later_window_in_the_last_year(self) -> None:
        """The last day has room for a lease of twenty hours."""
        offers = self.post('29 12:00', '30 08:00', 409)['details']['offers']
        self.assertIn(
            ('later', '9000-12-31 00:00'),
            [(each['kind'], each['lease']['start_date']) for each in offers])

    def test_lease_does_not_wait_for_another_year(self) -> None:
        """It would not end in the last year."""
        self.post('29 12:00', '30 18:00', 409, on_refusal='queue')
        self.post('29 12:00', '30 08:00', 201, on_refusal='queue')
