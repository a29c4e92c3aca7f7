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
import itertools
import logging
from typing import Any
import uuid

import fixtures
import hypothesis
import schemathesis
from schemathesis import checks
from schemathesis.specs.openapi import checks as openapi_checks
import testscenarios
import testtools

from ironic_reservations.api import identity
from ironic_reservations.api import versions
from tests.api import world

_EXAMPLES = 40
#: The version is part of what is made up.
_ANY = None
_NODES = [str(uuid.UUID(int=number)) for number in range(1, 9)]
#: What an answer must be, whatever was asked.
_CHECKS = [checks.not_a_server_error,
           openapi_checks.status_code_conformance,
           openapi_checks.content_type_conformance,
           openapi_checks.response_headers_conformance,
           openapi_checks.response_schema_conformance,
           openapi_checks.unsupported_method,
           openapi_checks.allow_header_conformance]
#: What must be refused; not at an old version, where most is.
_REFUSED = [openapi_checks.negative_data_rejection]


class TestNeverA500(testscenarios.WithScenarios, testtools.TestCase):
    """Every operation, at every version, with good data and with bad."""

    scenarios = [
        (f'{operation}_at_{minor}_{mode.value}',
         {'operation': operation, 'minor': minor, 'mode': mode})
        for operation, minor, mode in itertools.product(
            ('show_version', 'create_reservation',
             'list_reservations', 'show_reservation', 'renew_reservation',
             'delete_reservation'),
            (_ANY, versions.MINIMUM, versions.PICK, versions.MAXIMUM),
            (schemathesis.GenerationMode.POSITIVE,
             schemathesis.GenerationMode.NEGATIVE))
        # NOTE: that one takes nothing but a version.
        if operation != 'show_version' or minor is _ANY]

    operation: str
    minor: int | None
    mode: schemathesis.GenerationMode

    def setUp(self) -> None:
        super().setUp()
        self.useFixture(fixtures.FakeLogger(level=logging.ERROR))
        self.world = self.useFixture(
            world.World(identity.administrator, 'noauth'))
        for node in _NODES:
            self.world.ironic.add(uuid=node)

    def test_answers_are_as_described(self) -> None:
        """No 500, no answer that the description does not have."""
        found = self._described().find_operation_by_id(self.operation)
        expected = [*_CHECKS]
        if (self.mode is schemathesis.GenerationMode.NEGATIVE
                and self.minor == versions.MAXIMUM):
            expected += _REFUSED

        @hypothesis.settings(
            max_examples=_EXAMPLES, derandomize=True, database=None,
            deadline=None,
            suppress_health_check=list(hypothesis.HealthCheck))
        @hypothesis.given(case=found.as_strategy(generation_mode=self.mode),
                          node=hypothesis.strategies.sampled_from(_NODES),
                          known=hypothesis.strategies.booleans())
        def run(case: Any, node: str, known: bool) -> None:
            if known:
                self._aim(case, node)
            answer = case.call(headers={} if self.minor is _ANY else {
                versions.HEADER: f'{versions.SERVICE_TYPE} 1.{self.minor}'})
            case.validate_response(answer, checks=expected)

        run()

    def _described(self) -> Any:
        raw = world.request(self.world, 'GET', '/openapi.json').json
        raw['servers'] = [{'url': '/'}]
        if self.minor is not _ANY:
            # NOTE: otherwise a header that was broken on purpose would be
            # expected to be refused, though it is never sent.
            for operation in self._operations(raw):
                operation['parameters'] = [
                    each for each in operation['parameters']
                    if not each.get('$ref', '').endswith('/Version')]
        out = schemathesis.openapi.from_dict(raw)
        out.app = self.world
        return out

    @staticmethod
    def _operations(raw: Any) -> Iterator[Any]:
        for path in raw['paths'].values():
            for method, operation in path.items():
                if method != 'parameters':
                    yield operation

    def _aim(self, case: Any, node: str) -> None:
        """Have a request hit something: nodes and a reservation that are."""
        if isinstance(case.body, dict) and 'node_uuid' in case.body:
            if self.mode is schemathesis.GenerationMode.POSITIVE:
                case.body['node_uuid'] = [node, *_NODES]
        if case.path_parameters and (
                self.mode is schemathesis.GenerationMode.POSITIVE):
            made = world.request(
                self.world, 'POST', '/v1/reservations',
                {'instance_uuid': node, 'node_uuid': [node]})
            self.assertEqual(201, made.status)
            case.path_parameters['uuid'] = made.json['reservation']['uuid']
