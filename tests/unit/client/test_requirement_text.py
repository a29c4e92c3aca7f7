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

"""Requirements: the service reads the condition that the user typed."""

from __future__ import annotations

import json

import testtools

from ironic_reservations.model import requirements
from ironic_reservations_client import requirement_text

HOST = {'vcpus': '16', 'rack': 'r1', 'resource_class': 'gold',
        'traits': frozenset({'CUSTOM_NVME', 'CUSTOM_GPU'})}


class WishesTest(testtools.TestCase):
    """The texts are parsed by the service's own code."""

    def matches(self, *conditions, **more):
        """Return whether the host matches."""
        return requirements.parse(
            '', requirement_text.properties(conditions, **more)).matches(HOST)

    def test_operators(self):
        """Numbers are compared as numbers."""
        for condition in ('vcpus>=8', 'vcpus = 16', 'vcpus==16', 'rack!=r2',
                          'vcpus>9', 'vcpus<100', 'vcpus<=16'):
            self.assertTrue(self.matches(condition), condition)
        for condition in ('vcpus>=17', 'rack=r2', 'missing!=1', 'vcpus<16'):
            self.assertFalse(self.matches(condition), condition)

    def test_all_of_them_hold(self):
        """They hold together with class and traits."""
        self.assertTrue(self.matches(
            'vcpus>=8', 'rack=r1', resource_class='gold',
            traits=['CUSTOM_NVME', 'CUSTOM_GPU']))
        for wrong in ({'resource_class': 'iron'},
                      {'traits': ['CUSTOM_NVME', 'CUSTOM_ARM']}):
            self.assertFalse(self.matches('vcpus>=8', **wrong), wrong)

    def test_nothing_asked(self):
        """Without a condition, the text is empty, as Blazar accepts it."""
        self.assertEqual('', requirement_text.properties())
        self.assertTrue(self.matches())

    def test_values_are_quoted(self):
        """Values are quoted in any case."""
        self.assertEqual(
            ['==', '$note', 'a "b" = c'],
            json.loads(requirement_text.properties(['note=a "b" = c'])))

    def test_what_is_no_condition(self):
        """The refusal shows how to write a condition."""
        for text in ('', 'vcpus', '=8', 'vcpus=', 'vcpus 8', '>=8',
                     'vcpus=>8', 'vcpus=<8', 'vcpus = >8', 'vcpus<>8'):
            error = self.assertRaises(
                ValueError, requirement_text.properties, [text])
            self.assertIn('vcpus>=8', str(error), text)
