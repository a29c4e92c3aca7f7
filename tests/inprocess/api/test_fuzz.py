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

"""Reservations: requests made from the description, valid and broken."""

import itertools
from typing import Any
import uuid

import schemathesis
import testscenarios

from ironic_reservations.api import versions
from tests.inprocess.api import fuzzing
from tests.inprocess.api import world

#: The version is generated, too.
_ANY = None
_NODES = [str(uuid.UUID(int=number)) for number in range(1, 9)]


class _VersionedCase(testscenarios.WithScenarios, fuzzing.FuzzCase):

    minor: int | None

    def fuzz_nodes(self, refused: bool) -> None:
        """Send generated requests about nodes, at a version."""
        for node in _NODES:
            self.world.ironic.add(uuid=node)
        if self.minor is not _ANY:
            self.version = {versions.HEADER: f'{versions.SERVICE_TYPE} '
                                             f'1.{self.minor}'}
        self.fuzz(_NODES, refused)


class TestNeverA500(_VersionedCase):
    """Every operation, at every version, with valid and broken data."""

    scenarios = [
        (f'{operation}_at_{minor}_{mode.value}',
         {'operation': operation, 'minor': minor, 'mode': mode})
        for operation, minor, mode in itertools.product(
            ('show_version', 'create_reservation',
             'list_reservations', 'show_reservation', 'renew_reservation',
             'delete_reservation'),
            (_ANY, versions.MINIMUM, versions.PICK, versions.MAXIMUM),
            (fuzzing.POSITIVE, fuzzing.NEGATIVE))
        # This operation has no parameter except a version.
        if operation != 'show_version' or minor is _ANY]

    mode: schemathesis.GenerationMode

    def test_answers_are_as_described(self) -> None:
        """No answer is a 500 or differs from the description."""
        # At an old version most keys are unknown.
        self.fuzz_nodes(refused=self.mode is fuzzing.NEGATIVE
                        and self.minor == versions.MAXIMUM)

    def aim(self, case: Any, node: str) -> None:
        """Let a request name existing nodes and an existing reservation."""
        if isinstance(case.body, dict) and 'node_uuid' in case.body:
            if self.mode is fuzzing.POSITIVE:
                case.body['node_uuid'] = [node, *_NODES]
        if case.path_parameters and self.mode is fuzzing.POSITIVE:
            made = world.request(
                self.world, 'POST', '/v1/reservations',
                {'instance_uuid': node, 'node_uuid': [node]})
            self.assertEqual(201, made.status)
            case.path_parameters['uuid'] = made.json['reservation']['uuid']


class TestMaintenances(_VersionedCase):
    """Maintenance windows, at the latest version, or at any."""

    scenarios = [
        (f'{operation}_at_{minor}_{mode.value}',
         {'operation': operation, 'minor': minor, 'mode': mode})
        for operation, minor, mode in itertools.product(
            ('create_maintenance', 'list_maintenances', 'show_maintenance',
             'delete_maintenance'),
            (_ANY, versions.MAXIMUM), (fuzzing.POSITIVE, fuzzing.NEGATIVE))
        # The other operations have only a version that could be wrong.
        if operation == 'create_maintenance' or minor is _ANY
        or mode is fuzzing.POSITIVE]

    def test_answers_are_as_described(self) -> None:
        """No answer is a 500 or differs from the description."""
        self.fuzz_nodes(refused=False)

    def aim(self, case: Any, node: str) -> None:
        """Let a request name an existing node."""
        if (isinstance(case.body, dict) and 'nodes' in case.body
                and self.mode is fuzzing.POSITIVE):
            case.body['nodes'] = [node]
