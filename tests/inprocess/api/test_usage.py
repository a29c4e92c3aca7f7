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

"""GET /v1/usage: the usage of leases, and the roles that may read it."""

from typing import Any

from tests.inprocess.api import asking

_PATH = '/v1/usage?first_day=2050-01-01&last_day=2050-01-03'


class TestUsage(asking.AskingCase):
    """Two projects with a lease each, from noon to noon."""

    nodes = {f'host-{number}': {'resource_class': 'gold'}
             for number in range(3)}
    version = asking.since(10)

    def setUp(self) -> None:
        super().setUp()
        self.book('01 12', '02 12', 2)
        self.book('01 12', '02 12', 1, who=asking.OTHER)

    def _told(self, more: str = '',
              who: dict[str, str] | None = None) -> list[tuple[Any, ...]]:
        found = self.ask('GET', _PATH + more, who=who)['usage']
        self.assertEqual(sum(row['promised'] for row in found['hours']),
                         found['total']['promised'])
        return [(row['day'], row['project_id'], row['resource_class'],
                 row['promised']) for row in found['hours']]

    def test_each_day_of_the_own_project(self) -> None:
        """Two hosts from noon to midnight, and until noon."""
        self.assertEqual([('2050-01-01', 'red', 'gold', 24.0),
                          ('2050-01-02', 'red', 'gold', 24.0)], self._told())

    def test_what_is_told_apart(self) -> None:
        """Other keys are null."""
        self.assertEqual([(None, None, 'gold', 48.0)], self._told('&by=class'))
        self.assertEqual([(None, None, 'gold', 72.0)], self._told(
            '&by=class&all_projects=true', asking.OPERATOR))
        self.assertEqual(
            [(None, 'blue', None, 24.0), (None, 'red', None, 48.0)],
            self._told('&by=project&all_projects=true', asking.OPERATOR))

    def test_others_are_for_administrators(self) -> None:
        """With one project in the query, or with all."""
        for more in ('&project=blue', '&all_projects=true'):
            refused = self.ask('GET', _PATH + more, 403)
            self.assertEqual('reservation:usage:get_all',
                             refused['errors'][0]['policy'])
        self.assertEqual(
            [('2050-01-01', 'blue', 'gold', 12.0),
             ('2050-01-02', 'blue', 'gold', 12.0)],
            self._told('&project=blue', asking.OPERATOR))

    def test_what_makes_no_sense_is_refused(self) -> None:
        """Before its version the path is not found."""
        for query in ('first_day=2050-01-32', 'first_day=20500101',
                      'first_day=2050-01-02&last_day=2050-01-01',
                      'first_day=2050-01-01&last_day=2051-01-02',
                      'by=hour', 'by=', 'all_projects=maybe', 'days=3',
                      'first_day=0001-01-01'):
            self.ask('GET', f'/v1/usage?{query}', 400)
        self.ask('GET', '/v1/usage', 404, version=asking.since(9))
        self.ask('GET', '/v1/usage')
