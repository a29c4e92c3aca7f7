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


"""A real Ironic as a fixture."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import fixtures
import requests
from testtools import content

from tests.real import forked_ironic
from tools import all_in_one
from tools import enrolment


class RealIronic(fixtures.Fixture):
    """An all-in-one Ironic with fake hardware, on a free port.

    :param database: the SQLAlchemy URL of an empty database; by default
        SQLite.
    :param users: names and passwords for http_basic; by default noauth.
    :param middleware: whether our middleware is in its API.
    :param options: options of Ironic by section.
    :param reservations: options of ours by section.
    :ivar service: the process: stop, kill, start again.
    :ivar session: HTTP as the first of the users.
    """

    service: all_in_one.AllInOne
    session: requests.Session

    def __init__(self, *, database: str | None = None,
                 users: Mapping[str, str] | None = None,
                 middleware: bool = True,
                 options: all_in_one.Options | None = None,
                 reservations: all_in_one.Options | None = None) -> None:
        super().__init__()
        self._arguments: dict[str, Any] = {
            'database': database, 'users': users, 'middleware': middleware,
            'options': options, 'reservations': reservations}

    def _setUp(self) -> None:
        folder = self.useFixture(fixtures.TempDir()).path
        self.service = forked_ironic.ForkedIronic(folder, **self._arguments)
        self.session = self.service.session()
        self.addCleanup(self.session.close)
        self.addCleanup(self.service.kill)
        # A test that fails shows what Ironic thought of it.
        self.addDetail('ironic.log', content.Content(
            content.text_content('').content_type,
            lambda: [self.service.log_tail(200).encode()]))
        self.service.create_schema()
        self.service.start()

    @property
    def url(self) -> str:
        """The root of the API, without a version or a trailing slash."""
        return self.service.url

    def enroll(self, count: int = 1, **fields: Any
               ) -> list[enrolment.Enrolled]:
        """Create nodes that are available: see :mod:`tools.enrolment`."""
        return enrolment.enroll(self.session, self.url, count, **fields)
