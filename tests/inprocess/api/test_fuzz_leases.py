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

"""Leases and hosts: requests made from the description, valid and broken."""

import itertools
from typing import Any

import testscenarios

from ironic_reservations.api import versions
from tests.inprocess.api import asking
from tests.inprocess.api import fuzzing
from tests.inprocess.api import world

_NAMES = [f'node-{number}' for number in range(4)]
_LEASE = {'name': 'ours', 'start_date': '2050-01-01 10:00',
          'end_date': '2050-01-02 10:00', 'reservations': [
              {'resource_type': 'physical:host', 'min': 1, 'max': 2},
              {'resource_type': 'virtual:instance', 'vcpus': 4,
               'memory_mb': 1024, 'disk_gb': 0, 'amount': 1}]}
_OF_INSTANCES = {'amount', 'vcpus', 'memory_mb', 'disk_gb', 'affinity'}


class TestNeverA500(testscenarios.WithScenarios, fuzzing.FuzzCase):
    """Every operation, with valid and broken data."""

    scenarios = [
        (f'{operation}_{mode.value}', {'operation': operation, 'mode': mode})
        for operation, mode in itertools.product(
            ('create_lease', 'list_leases', 'show_lease', 'update_lease',
             'delete_lease', 'add_host', 'list_hosts', 'show_host',
             'update_host', 'delete_host', 'list_allocations',
             'show_allocation', 'list_properties', 'update_property',
             'show_availability'),
            (fuzzing.POSITIVE, fuzzing.NEGATIVE))
        # A path with any text and no body cannot be wrong.
        if mode is fuzzing.POSITIVE
        or operation not in ('show_host', 'delete_host')]

    version = {versions.HEADER: asking.since(versions.MAXIMUM)}

    def test_answers_are_as_described(self) -> None:
        """No answer is a 500 or differs from the description."""
        for name in _NAMES:
            self.world.ironic.add(
                name=name, resource_class='gold',
                properties=(('cpus', '8'), ('memory_mb', '2048')))
        for name in _NAMES[:-1]:
            self.assertEqual(201, world.request(
                self.world, 'POST', '/v1/os-hosts',
                {'name': name, 'gpu': 'h100'}).status)
        self.fuzz(_NAMES, refused=self.mode is fuzzing.NEGATIVE)

    def aim(self, case: Any, node: str) -> None:
        """Let a request name existing hosts and an existing lease."""
        if self.mode is not fuzzing.POSITIVE:
            return
        if isinstance(case.body, dict):
            self._aim_body(case.body, node)
        if self.operation == 'show_availability':
            case.query = {key: value for key, value in case.query.items()
                          if key in ('resource_class', 'duration')}
            case.query['count'] = 1
            case.query.setdefault('duration', 60)
        if not case.path_parameters:
            return
        if 'name' in case.path_parameters:
            case.path_parameters['name'] = 'gpu'
        elif self.operation.endswith('lease'):
            made = world.request(self.world, 'POST', '/v1/leases', _LEASE)
            if made.status == 201:
                lease = made.json['lease']
                case.path_parameters['id'] = lease['id']
                for each in self._reservations(case.body):
                    of_instances = not _OF_INSTANCES.isdisjoint(each)
                    each['id'] = lease['reservations'][of_instances]['id']
        else:
            case.path_parameters['id'] = node

    def _aim_body(self, body: dict[str, Any], node: str) -> None:
        if self.operation == 'add_host':
            body.pop('resource_class', None)
            body['name'] = node
        for key in ('start_date', 'start', 'end_date', 'end'):
            if key in body:
                body[key] = _LEASE[f'{key.removesuffix("_date")}_date']
        for each in self._reservations(body):
            for key in ('hypervisor_properties', 'resource_properties'):
                each.pop(key, None)

    @staticmethod
    def _reservations(body: Any) -> list[dict[str, Any]]:
        found = body.get('reservations') if isinstance(body, dict) else None
        return list(found or ())
