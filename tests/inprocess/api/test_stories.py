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

"""The declarative tests in stories/, over the whole application."""

import pathlib
from typing import Any
import unittest

from gabbi import driver
from gabbi.handlers import base

from tests.inprocess.api import fixtures


class ForbiddenStrings(base.ResponseHandler):
    """``response_forbidden_strings``: text that an answer must not contain."""

    test_key_suffix = 'forbidden_strings'
    test_key_value: list[str] = []

    def action(self, test: Any, forbidden: str, value: Any = None) -> None:
        """Search the answer for each of them."""
        test.assertNotIn(test.replace_template(forbidden), test.output)


def load_tests(loader: unittest.TestLoader, tests: Any,
               pattern: str | None) -> Any:
    """Make a test of each request of each story."""
    return driver.build_tests(
        str(pathlib.Path(__file__).parent / 'stories'), loader, host=None,
        test_loader_name=__name__, intercept=fixtures.current_app,
        fixture_module=fixtures,
        response_handlers=[ForbiddenStrings], safe_yaml=True)
