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

"""The lower bounds are read as pip reads them."""

from __future__ import annotations

import pathlib

import testtools

from tools import oldest

_ROOT = pathlib.Path(__file__).parents[3]


class BoundsTest(testtools.TestCase):

    def test_names_and_extras(self):
        self.assertEqual({'a-b.c': '1.2', 'd': '3'}, oldest.bounds(
            '# of >=9\na-b.c>=1.2 # MIT\n\nd[more]>=3,<4\n'))

    def test_each_requirement_has_one(self):
        for file in oldest.FILES:
            text = (_ROOT / file).read_text()
            self.assertEqual(
                sum(bool(line) and not line.startswith('#')
                    for line in text.splitlines()), len(oldest.bounds(text)))

    def test_bounds_of_both_distributions_are_the_same(self):
        """One environment has both, and exactly one of each library."""
        first, second = (oldest.bounds((_ROOT / file).read_text())
                         for file in oldest.FILES)
        both = first.keys() & second.keys()
        self.assertEqual({name: first[name] for name in both},
                         {name: second[name] for name in both})
