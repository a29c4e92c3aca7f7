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


"""Commands in the locale C, in which Python knows ASCII only."""

from __future__ import annotations

import io
import types
from typing import Any

from ironic_reservations_client import errors
from ironic_reservations_client.osc import host
from ironic_reservations_client.osc import lease
from tests.unit.client import base

_NAME = 'zürich ☃'


class LocaleTest(base.ClientTestCase):

    def test_a_name_is_printed(self) -> None:
        """The 'ascii' codec could not encode it."""
        self.service.hosts = [{'id': '1', 'name': _NAME, 'status': 'UP',
                               'resource_class': None, 'reservable': True}]
        shown = self._run(host.ListHosts)
        self.assertIn('z\\xfcrich \\u2603', shown)

    def test_a_name_is_read(self) -> None:
        """Surrogates were not allowed in the query."""
        typed = _NAME.encode().decode('ascii', 'surrogateescape')
        for command, *words in ((lease.ShowLease, typed),
                                (lease.ListLeases, '--name', typed)):
            self.assertRaises(errors.NotServed, self._run, command, *words)
            self.assertEqual(_NAME,
                             self.service.requests[-1]['query']['name'])

    def _run(self, command: type[Any], *words: str) -> str:
        raw = io.BytesIO()
        out = io.TextIOWrapper(raw, encoding='ascii')
        app = types.SimpleNamespace(
            stdout=out,
            client_manager=types.SimpleNamespace(baremetal=self.ironic()))
        instance = command(app, None)
        parser = instance.get_parser('baremetal reservation')
        instance.run(parser.parse_args(words))
        out.flush()
        return raw.getvalue().decode('ascii')
