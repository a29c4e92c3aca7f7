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

"""Requests made from the OpenAPI description, and broken on purpose."""

from __future__ import annotations

from collections.abc import Iterator
import logging
from typing import Any

import fixtures
import hypothesis
from hypothesis.internal.conjecture import providers
import schemathesis
from schemathesis import checks
from schemathesis.core import failures
from schemathesis.specs.openapi import checks as openapi_checks
import testtools

from tests import examples
from tests.inprocess.api import world

_EXAMPLES = examples.drawn(40)
#: What stands in a path where an id may stand.
_PATHS = {'allocations', 'properties'}
POSITIVE = schemathesis.GenerationMode.POSITIVE
NEGATIVE = schemathesis.GenerationMode.NEGATIVE
#: What an answer must be, whatever was asked.
_CHECKS = [checks.not_a_server_error,
           openapi_checks.status_code_conformance,
           openapi_checks.content_type_conformance,
           openapi_checks.response_headers_conformance,
           openapi_checks.response_schema_conformance,
           openapi_checks.unsupported_method,
           openapi_checks.allow_header_conformance]


class FuzzCase(testtools.TestCase):
    """One operation, with good data or with bad.

    :ivar version: the header that asks for one; ``None`` makes it a part of
        what is made up.
    """

    operation: str
    mode: schemathesis.GenerationMode
    version: dict[str, str] | None = None

    def setUp(self) -> None:
        super().setUp()
        self.useFixture(fixtures.FakeLogger(level=logging.ERROR))
        # NOTE: what is drawn from the constants of the modules that happen to
        # be loaded differs from one run to the next.
        self.useFixture(fixtures.MonkeyPatch(
            'hypothesis.internal.conjecture.providers._get_local_constants',
            providers.Constants))
        self.world = self.useFixture(world.OpenWorld())

    def fuzz(self, nodes: list[str], refused: bool) -> None:
        """Send what is made up.

        :param nodes: that requests may be about.
        :param refused: whether what breaks the description must be refused.
        """
        found = self._described().find_operation_by_id(self.operation)

        @hypothesis.settings(
            max_examples=_EXAMPLES,
            deadline=None,
            suppress_health_check=list(hypothesis.HealthCheck))
        @hypothesis.given(case=found.as_strategy(generation_mode=self.mode),
                          node=hypothesis.strategies.sampled_from(nodes),
                          known=hypothesis.strategies.booleans())
        def run(case: Any, node: str, known: bool) -> None:
            if known:
                self.aim(case, node)
            answer = case.call(headers=self.version or {})
            expected = [*_CHECKS]
            if (answer.status_code == 405 and
                    _PATHS & {*(case.path_parameters or {}).values()}):
                # NOTE: the id that was made up is the path of another.
                expected = [checks.not_a_server_error,
                            openapi_checks.allow_header_conformance]
            elif refused and answer.status_code != 413:
                # NOTE: too large is a refusal, too, which is not known there.
                expected.append(openapi_checks.negative_data_rejection)
            case.validate_response(answer, checks=expected)

        try:
            run()
        except failures.FailureGroup as found_wrong:
            # NOTE: it is no Exception, and would end the whole run.
            self.fail('\n'.join(str(each) for each
                                in found_wrong.exceptions))

    def aim(self, case: Any, node: str) -> None:
        """Have a request hit something that is there."""
        raise NotImplementedError

    def _described(self) -> Any:
        raw = world.request(self.world, 'GET', '/openapi.json').json
        raw['servers'] = [{'url': '/'}]
        if self.version is not None:
            # NOTE: otherwise a header that was broken on purpose would be
            # expected to be refused, though it is never sent.
            for operation in self._operations(raw):
                operation['parameters'] = [
                    each for each in operation['parameters']
                    if not each.get('$ref', '').endswith('Version')]
        out = schemathesis.openapi.from_dict(raw)
        out.app = self.world
        return out

    @staticmethod
    def _operations(raw: Any) -> Iterator[Any]:
        for path in raw['paths'].values():
            for method, operation in path.items():
                if method != 'parameters':
                    yield operation
