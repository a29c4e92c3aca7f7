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


"""The exceptions of both libraries are alike."""

from __future__ import annotations

import json
from typing import Any

from ironicclient import exc
from openstack import exceptions

from ironic_reservations import errors as service_errors
from ironic_reservations_client import errors
from ironic_reservations_client import reservation
from ironic_reservations_client import sdk
from ironic_reservations_client.sdk import errors as sdk_errors
from tests.unit.client import base

_JSON = {'Content-Type': 'application/json'}
_KEYSTONE = 'The request you have made requires authentication.'


class ErrorClassesTest(base.ClientTestCase):

    def test_each_status_has_its_class(self) -> None:
        """openstacksdk lacked those of 401, 406 and 503."""
        for name, sent in {
                'BadRequest': service_errors.InvalidValue('x'),
                'Unauthorized': service_errors.Unauthorized('x'),
                'Forbidden': service_errors.Forbidden('x'),
                'NotFound': service_errors.ReservationNotFound('x'),
                'NotAcceptable': service_errors.VersionNotAcceptable('x'),
                'Conflict': service_errors.UuidInUse('x'),
                'ServiceUnavailable':
                    service_errors.DatabaseUnavailable('x')}.items():
            for error in self._errors(name, [sent, sent]):
                self.assertEqual(sent.code, error.code)

    def test_the_authentication_before_the_service_has_no_code(self) -> None:
        """The text of Keystone was lost, or the class was of any error."""
        for body, told in (
                ({'error': {'message': _KEYSTONE, 'code': 401,
                            'title': 'Unauthorized'}}, _KEYSTONE),
                ({'error': 'no'}, 'The request carries no valid credentials.'),
                ({}, 'The request carries no valid credentials.')):
            self.service.foreign = (401, _JSON, json.dumps(body).encode())
            for error in self._errors('Unauthorized', []):
                self.assertIsNone(error.code)
                self.assertEqual(f'{told} (HTTP 401)', str(error))

    def _errors(self, name: str, answers: list[Any]) -> list[Any]:
        """Return the error of each library.

        :param name: the name of the expected class.
        :param answers: the errors of the service.
        """
        self.service.answers = answers
        manager = reservation.ReservationManager(self.ironic(max_retries=0))
        conn = self.connection()
        found = []
        for kind, library, call in (
                (errors, exc.ClientException, manager.list),
                (sdk_errors, exceptions.HttpException,
                 lambda: sdk.reservations(conn))):
            error = self.assertRaises(library, call)
            self.assertIs(getattr(kind, name), type(error))
            found.append(error)
        return found
