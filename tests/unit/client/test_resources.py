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

"""The client's description of resources is that of the API."""

from __future__ import annotations

from collections.abc import Mapping
import pathlib
from typing import Any

import testtools
import yaml

from ironic_reservations_client import fields
from ironic_reservations_client import resources
from ironic_reservations_client.osc import zone
from tests.unit.client import commands

_API = (pathlib.Path(__file__).parents[3] / 'ironic_reservations' / 'api'
        / 'openapi.yaml')
#: The schema of answers, and that of requests for a new resource.
_SCHEMAS = ((resources.RESERVATION, 'Reservation', 'NewReservation'),
            (resources.LEASE, 'Lease', 'NewLease'),
            (resources.HOST, 'Host', 'NewHost'),
            (resources.MAINTENANCE, 'Maintenance', 'NewMaintenance'))
_TYPES = {fields.Kind.FLAG: 'boolean', fields.Kind.NUMBER: 'integer',
          fields.Kind.SECONDS: 'integer', fields.Kind.OBJECTS: 'array',
          fields.Kind.WINDOW: 'array', fields.Kind.TEXTS: 'array'}
#: The answer to a dry run has it beside the lease.
_BESIDE = {('lease', 'moves')}
#: Blazar's clients ask for it, and it is always empty.
_UNUSED = {'trust_id'}


def _has_type(schema: Mapping[str, Any], name: str) -> bool:
    """Check whether a schema allows a type."""
    if 'const' in schema:
        return name == 'integer' and isinstance(schema['const'], int)
    return name in schema.get('type', []) or any(
        _has_type(each, name)
        for key in ('oneOf', 'anyOf') for each in schema.get(key, ()))


def _answered(resource: fields.Resource) -> list[fields.Field]:
    return [field for field in resource.fields if field.answered
            and (resource.name, field.name) not in _BESIDE]


class ResourcesTest(testtools.TestCase):

    @classmethod
    def setUpClass(cls) -> None:
        super().setUpClass()
        cls.schemas = yaml.safe_load(_API.read_text())[
            'components']['schemas']

    def test_answers_have_the_fields_that_are_described(self) -> None:
        """And no others, by which a column could be forgotten."""
        for resource, answer, _ in _SCHEMAS:
            with self.subTest(resource.name):
                self.assertEqual(
                    set(self.schemas[answer]['properties']) - _UNUSED,
                    {field.name for field in _answered(resource)} - _UNUSED,
                    f'openapi.yaml ({answer}), and resources.py')

    def test_requests_have_the_fields_that_commands_set(self) -> None:
        for resource, _, request in _SCHEMAS:
            with self.subTest(resource.name):
                self.assertEqual(
                    set(), {field.name for field in resource.fields
                            if field.create}
                    - set(self.schemas[request]['properties']),
                    f'not in openapi.yaml ({request})')

    def test_kinds_are_the_types_of_the_api(self) -> None:
        for resource, answer, _ in _SCHEMAS:
            known = self.schemas[answer]['properties']
            self.assertEqual([], [
                field.name for field in _answered(resource)
                if field.kind in _TYPES
                and not _has_type(known[field.name], _TYPES[field.kind])])

    def test_a_field_that_is_not_there_is_refused(self) -> None:
        """A keyword that is spelled wrong is no silent wish."""
        error = self.assertRaises(TypeError, resources.LEASE.body, ends='now')
        self.assertIn("'ends'", str(error))

    def test_each_option_that_is_described_is_one_of_a_command(self) -> None:
        there = {action.help for name, kind in commands.described()
                 for action in kind(None, None).get_parser(name)._actions}
        for resource in resources.ALL:
            for field in resource.fields:
                texts = {field.create, field.change,
                         *(field.opposite or ())[1:]} - {''}
                self.assertEqual(
                    set(), texts - there,
                    f'{resource.name} {field.name}: no command has the '
                    'option; name it in options.of() of one in osc/')

    def test_the_help_of_a_command_is_made_of_sentences(self) -> None:
        """It is shown without its lines, as "... proof Active nodes ..."."""
        for name, kind in commands.described():
            head, *more = kind(None, None).get_description().split('\n\n')
            if more:
                self.assertEqual('.', head[-1], name)

    def test_times_and_durations_in_tables(self) -> None:
        """Those of all resources, and of the objects in them."""
        self.assertEqual(
            {'start_date', 'end_date', 'time', 'created_at', 'updated_at',
             'expires_at', 'starts_at', 'ends_at', 'until', 'earliest',
             'origin', 'since', 'latest', 'between', 'promised_start',
             'lent_until'}, zone._INSTANTS)
        self.assertEqual({'duration', 'fix_before'}, zone._DURATIONS)
