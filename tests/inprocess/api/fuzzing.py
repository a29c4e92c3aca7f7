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

"""Requests that are made from the OpenAPI description, valid and broken."""

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
#: Words in a path at the place of an id.
_PATHS = {'allocations', 'properties'}
POSITIVE = schemathesis.GenerationMode.POSITIVE
NEGATIVE = schemathesis.GenerationMode.NEGATIVE
#: The checks of each answer.
_CHECKS = [checks.not_a_server_error,
           openapi_checks.status_code_conformance,
           openapi_checks.content_type_conformance,
           openapi_checks.response_headers_conformance,
           openapi_checks.response_schema_conformance,
           openapi_checks.unsupported_method,
           openapi_checks.allow_header_conformance]


class FuzzCase(testtools.TestCase):
    """One operation, with valid or broken data.

    :ivar version: the header with a version; ``None``: it is generated, too.
    """

    operation: str
    mode: schemathesis.GenerationMode
    version: dict[str, str] | None = None

    def setUp(self) -> None:
        super().setUp()
        self.useFixture(fixtures.FakeLogger(level=logging.ERROR))
        # Otherwise the constants of the loaded modules would change the
        # generated data from one run to the next.
        self.patch(providers, '_get_local_constants', providers.Constants)
        self.world = self.useFixture(world.OpenWorld())

    def fuzz(self, nodes: list[str], refused: bool) -> None:
        """Send generated requests.

        :param nodes: nodes for the requests.
        :param refused: whether a request that breaks the description must be
            refused.
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
                # The generated id may be the path of another operation.
                expected = [checks.not_a_server_error,
                            openapi_checks.allow_header_conformance]
            elif refused and answer.status_code != 413:
                # The checks do not know that 413 is a refusal, too.
                expected.append(openapi_checks.negative_data_rejection)
            case.validate_response(answer, checks=expected)

        try:
            run()
        except failures.FailureGroup as found_wrong:
            # NOTE: this group of errors is not an Exception, and would end the
            # whole run.
            self.fail('\n'.join(str(each) for each
                                in found_wrong.exceptions))

    def aim(self, case: Any, node: str) -> None:
        """Let a request name an existing object."""
        raise NotImplementedError

    def _described(self) -> Any:
        raw = world.request(self.world, 'GET', '/openapi.json').json
        raw['servers'] = [{'url': '/'}]
        if self.version is not None:
            # NOTE: otherwise schemathesis would expect a refusal for a broken
            # header that is never sent.
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
