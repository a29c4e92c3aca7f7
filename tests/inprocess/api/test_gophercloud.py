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

"""The requests of gophercloud's client of Blazar, and the types of answers.

Go decodes JSON into typed fields: a number in a string, a string instead of a
number, or a time in another layout is an error, and null is the zero value.
The types here are those of the client.
"""

from collections.abc import Mapping
import pathlib
import re
from typing import Any

import yaml

from tests.inprocess.api import blazar_client

_STORY = pathlib.Path(__file__).parent / 'gophercloud.yaml'

#: Times of events and of rows, without a zone.
_INSTANT = re.compile(r'\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?', re.ASCII)
_WRITTEN = re.compile(r'\d{4}-\d\d-\d\d \d\d:\d\d:\d\d', re.ASCII)

_EVENT = {'id': str, 'lease_id': str, 'status': str, 'event_type': str,
          'time': _INSTANT, 'created_at': _WRITTEN, 'updated_at': _WRITTEN}
_RESERVATION = {
    'id': str, 'lease_id': str, 'status': str, 'missing_resources': bool,
    'resources_changed': bool, 'resource_id': str, 'resource_type': str,
    'min': int, 'max': int, 'hypervisor_properties': str, 'before_end': str,
    'amount': int, 'vcpus': int, 'memory_mb': int, 'disk_gb': int,
    'affinity': bool, 'resource_properties': str, 'flavor_id': str,
    'server_group_id': str, 'aggregate_id': int, 'created_at': _WRITTEN,
    'updated_at': _WRITTEN}
_TYPES: Mapping[str, Mapping[str, Any]] = {
    'Lease': {
        'id': str, 'name': str, 'start_date': _INSTANT,
        'end_date': _INSTANT, 'status': str, 'degraded': bool,
        'user_id': str, 'project_id': str, 'trust_id': str,
        'created_at': _WRITTEN, 'updated_at': _WRITTEN,
        'reservations': [_RESERVATION], 'events': [_EVENT]},
    'Host': {
        'id': str, 'hypervisor_hostname': str, 'hypervisor_type': str,
        'hypervisor_version': int, 'service_name': str, 'vcpus': int,
        'cpu_info': str, 'memory_mb': int, 'local_gb': int, 'status': str,
        'availability_zone': str, 'trust_id': str, 'reservable': bool,
        'created_at': _WRITTEN, 'updated_at': _WRITTEN},
    'Allocation': {'resource_id': str, 'reservations': [
        {'id': str, 'lease_id': str, 'start_date': _INSTANT,
         'end_date': _INSTANT}]},
    'ResourceProperty': {'property': str, 'private': bool, 'values': [str]},
    'UpdatedResourceProperty': {
        'id': str, 'resource_type': str, 'property_name': str,
        'private': bool, 'created_at': _INSTANT, 'updated_at': _INSTANT},
}
#: The fields that a caller needs to continue.
_NEEDED = {'Lease': ('id', 'name', 'start_date', 'end_date', 'status',
                     'reservations', 'events', 'created_at'),
           'Host': ('id', 'hypervisor_hostname', 'reservable', 'created_at'),
           'Allocation': ('resource_id', 'reservations'),
           'ResourceProperty': ('property',),
           'UpdatedResourceProperty': ('id', 'property_name', 'created_at')}


def undecodable(kind: Any, value: Any, where: str = '') -> list[str]:
    """Return where Go would give up.

    :param kind: the type of a field.
    """
    if value is None:
        return []
    if isinstance(kind, Mapping):
        if not isinstance(value, dict):
            return [f'{where} is no object']
        return [wrong for key, each in kind.items()
                for wrong in undecodable(each, value.get(key),
                                         f'{where}.{key}')]
    if isinstance(kind, list):
        if not isinstance(value, list):
            return [f'{where} is no list']
        return [wrong for place, each in enumerate(value)
                for wrong in undecodable(kind[0], each, f'{where}[{place}]')]
    if isinstance(kind, re.Pattern):
        fits = isinstance(value, str) and kind.fullmatch(value) is not None
    else:
        fits = type(value) is kind
    return [] if fits else [f'{where} is {value!r}']


class GophercloudTest(blazar_client.ClientCase):
    """All calls of the client, in order, on a cloud with a flavor."""

    def setUp(self) -> None:
        """Serve a node, and a Nova with a flavor for it."""
        super().setUp()
        self.kept['node'] = self.add_node(1).uuid

    def test_all_calls(self) -> None:
        """Each call gets the expected answer, in types that Go can decode."""
        for step in yaml.safe_load(_STORY.read_text()):
            answer, told = self.send(
                step['sends'], HTTP_USER_AGENT='gophercloud/v2.0.0')
            self.assertEqual(step['gets'], answer.status, told)
            if 'reads' in step:
                self.check(step, answer.json, told)

    def check(self, step: dict[str, Any], document: Any, told: str) -> None:
        """Decode an answer, and compare its fields."""
        found, reads = document[step['at']], step['reads']
        name = reads[0] if isinstance(reads, list) else reads
        kind = _TYPES[name]
        self.assertEqual([], undecodable(
            [kind] if isinstance(reads, list) else kind, found), told)
        for each in found if isinstance(reads, list) else [found]:
            self.assertEqual([], [key for key in _NEEDED[name]
                                  if each.get(key) is None], told)
        self.keep(step, found)
        if name == 'Lease' and not isinstance(reads, list):
            found = {**found, 'events': {
                event['event_type']: event for event in found['events']}}
        self.compare(self.filled(step.get('has', {})), found, told)
        for key in step.get('lacks', ()):
            self.assertNotIn(key, found, told)

    def compare(self, wanted: Any, found: Any, told: str) -> None:
        """Compare the required fields; others may follow."""
        if isinstance(wanted, dict):
            for key, value in wanted.items():
                self.assertIn(key, found, told)
                self.compare(value, found[key], told)
        elif isinstance(wanted, list):
            self.assertEqual(len(wanted), len(found), told)
            for mine, theirs in zip(wanted, found, strict=True):
                self.compare(mine, theirs, told)
        else:
            self.assertEqual(wanted, found, told)

    def test_what_go_cannot_decode(self) -> None:
        """The check in this module finds such values."""
        host = _TYPES['Host']
        self.assertEqual([], undecodable(host, {'id': '1', 'vcpus': None}))
        for wrong in ({'id': 1}, {'vcpus': '4'}, {'vcpus': True},
                      {'reservable': 'True'},
                      {'created_at': '2050-01-01T10:00:00'},
                      {'created_at': '2050-01-01 10:00:00Z'}):
            self.assertEqual(1, len(undecodable(host, wrong)), wrong)
        lease = _TYPES['Lease']
        for wrong in ({'end_date': '2050-01-01T10:00:00+00:00'},
                      {'events': {}}, {'reservations': [{'min': '1'}]}):
            self.assertEqual(1, len(undecodable(lease, wrong)), wrong)
