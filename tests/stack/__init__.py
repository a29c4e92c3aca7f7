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


"""Tests on a whole cloud, for which ``tox -e stack`` installs what they need.

Other runs of all tests leave them out.
"""

from __future__ import annotations

import os
import pathlib
import unittest

_ASKED_FOR = 'IRONIC_RESERVATIONS_STACK'


def load_tests(loader: unittest.TestLoader, tests: unittest.TestSuite,
               pattern: str | None) -> unittest.TestSuite:
    """Find the tests here, where they were asked for."""
    if os.environ.get(_ASKED_FOR) == '1':
        tests.addTests(loader.discover(str(pathlib.Path(__file__).parent),
                                       pattern or 'test*.py'))
    return tests
