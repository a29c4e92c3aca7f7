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

"""The text of a refusal: the error, and the valid request."""

from typing import Any

import testscenarios
import testtools

from tests.inprocess.api import world

PATH = '/v1/reservations'
INSTANCE = '11111111-0000-0000-0000-000000000001'


class TestSentences(testscenarios.WithScenarios, testtools.TestCase):
    """Each names its subject once, and ends with one full stop."""

    scenarios = [(name, {'request': request, 'sentence': sentence})
                 for name, request, sentence in (
        ('key_that_is_missing', ('POST', PATH, {}),
         'The key instance_uuid is missing. Send it.'),
        ('null_for_what_is_needed',
         ('POST', PATH, {'instance_uuid': None}),
         'instance_uuid must not be null. Send a value.'),
        ('null_for_what_may_be_left_out',
         ('POST', PATH, {'instance_uuid': INSTANCE, 'ttl': None}),
         'ttl must not be null. Send a value, or leave the key out.'),
        ('null_for_a_body', ('POST', PATH, None, b'null'),
         'The body is null, and an object is expected.'),
        ('nothing_to_choose_from',
         ('POST', PATH, {'instance_uuid': INSTANCE}),
         'The request does not say which nodes to choose from. Send '
         'node_uuid, or resource_class, or traits, or flavor.'),
        ('query_where_none_is_read', ('GET', '/v1?x=1'),
         "There is no query parameter 'x': this request takes none."),
        ('method_of_another_path', ('PUT', PATH),
         "The method 'PUT' is not allowed at this path. Allowed here: GET, "
         'HEAD, POST, OPTIONS.'),
    )]

    request: tuple[Any, ...]
    sentence: str

    def test_sentence(self) -> None:
        """The text is shown unchanged."""
        served = self.useFixture(world.OpenWorld())
        method, path, document, raw = (*self.request, None, None)[:4]
        answer = world.request(served, method, path, document, raw=raw)
        self.assertEqual(self.sentence, answer.detail)
