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

"""JSON that is nested too deeply is found without recursion."""

from __future__ import annotations

import json

import testtools

from ironic_reservations.model import nesting

_MANY = nesting.MOST_STRINGS


class NestingTestCase(testtools.TestCase):

    def test_as_many_levels_as_may_be_and_one_more(self):
        for opening, closing in ((b'[', b']'), (b'{"a":', b'}')):
            for beside in (b'', b'[1, {}], '):
                deep = beside.join([opening] * 9) + b'1' + closing * 9
                nesting.check(deep, 10)
                nesting.check(deep[:-1], 10)
        nesting.check(b'[' * 10 + b']' * 10, 10)
        self.assertRaises(nesting.TooDeep, nesting.check,
                          b'[' * 11 + b']' * 11, 10)
        self.assertRaises(nesting.TooDeep, nesting.check,
                          b'[{},' * 10 + b'{}' + b']' * 10, 10)

    def test_brackets_in_strings_are_none(self):
        for text in ('[' * 99, '"[' * 99, '\\"[' * 99, '\\\\"[' * 99,
                     '\\', '[\n[\u2028['):
            nesting.check(json.dumps([text]).encode(), 1)

    def test_what_is_no_json_is_not_gone_into_either(self):
        for raw in (b'[' * 980, b'{' * 980, b'[' * 980 + b'"',
                    b'"' + b'"[' * 3 + b'[' * 980,
                    b'[' * 500 + b']' * 499 + b'[' * 480):
            self.assertRaises(nesting.TooDeep, nesting.check, raw, 25)
        for raw in (b'', b'"', b'"\\', b']' * 980, b'][' * 25, b'\xff'):
            nesting.check(raw, 25)

    def test_strings_may_be_long_and_values_may_not_be_many(self):
        nesting.check(b'["' + b'\\"' * 10**6 + b'"]', 1)
        for raw in (b'"",' * _MANY, b'1,' * nesting.MOST_BARE,
                    b'[]' * nesting.MOST_BARE):
            self.assertRaises(nesting.TooManyParts, nesting.check, raw, 25)
