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

"""Requests of Blazar's public clients are accepted, or refused with a reason.
"""

import pathlib
from typing import Any

import testscenarios
import yaml

from tests.inprocess.api import blazar_client
from tests.inprocess.api import world

_DOCUMENTS = pathlib.Path(__file__).parent / 'blazar-requests.yaml'


def _documents() -> list[tuple[str, dict[str, Any]]]:
    return [(each['of'], {'count': each['hosts'],
                          'requests': each['requests']})
            for each in yaml.safe_load(_DOCUMENTS.read_text())]


class TestRequests(testscenarios.WithScenarios, blazar_client.ClientCase):
    """The requests of each client, in order, on a cloud with a flavor.

    :ivar count: the number of hosts.
    """

    scenarios = _documents()
    count: int
    requests: list[dict[str, Any]]

    def setUp(self) -> None:
        super().setUp()
        for number in range(1, max(self.count, 1) + 1):
            self.add_node(number)
            if number <= self.count:
                world.request(self.world, 'POST', '/v1/os-hosts',
                              {'name': f'compute-{number}'}, version=None)

    def test_all(self) -> None:
        """Each request gets the answer of the document."""
        for step in self.requests:
            answer, told = self.send(step['sends'])
            self.assertEqual(step['gets'], answer.status, told)
            document = answer.json if answer.body else None
            if 'says' in step:
                self.assertIn(step['says'], document['error_message'], told)
                self.assertEqual(answer.status, document['error_code'], told)
            if 'has' in step:
                self.assertEqual([], list(blazar_client.differences(
                    self.filled(step['has']), document)), told)
            self.keep(step, document)
