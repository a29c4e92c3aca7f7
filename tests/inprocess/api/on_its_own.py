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

"""The API on its own, with its own authentication."""

import base64
import pathlib
from typing import Any

import bcrypt
import fixtures

from ironic_reservations.api import standalone
from ironic_reservations.api import wsgi
from tests.inprocess.api import world


def keystone_at(url: str) -> str:
    """Return a configuration that asks a Keystone."""
    return ('[keystone_authtoken]\n'
            'www_authenticate_uri = http://keystone.example/\n'
            f'auth_type = password\nauth_url = {url}/\n')


def passwords(**users: str) -> str:
    """Return the text of a file of users with their passwords."""
    return ''.join(
        f'{user}:{bcrypt.hashpw(word.encode(), bcrypt.gensalt(4)).decode()}\n'
        for user, word in users.items())


def basic(user: str, password: str) -> dict[str, str]:
    """Return the header by which a user of the file is identified."""
    token = base64.b64encode(f'{user}:{password}'.encode()).decode()
    return {'authorization': f'Basic {token}'}


class Standalone(world.World):
    """The application with the authentication of its configuration.

    :param file: the text of the file; by default the fixture of
        keystonemiddleware answers for Keystone.
    """

    def __init__(self, file: str = keystone_at('http://keystone.example'),
                 **options: Any) -> None:
        super().__init__(**options)
        self.file = file

    def make_app(self) -> wsgi.Application:
        """Make the application as ironic-reservations-api does."""
        return standalone.with_engine(self.conf, self.engine)


class WithUsers(Standalone):
    """The application with http_basic.

    :param users: the passwords of the users, by their names.
    :ivar users: the file of them.
    """

    def __init__(self, users: dict[str, str], **options: Any) -> None:
        super().__init__(auth_strategy='http_basic', **options)
        self._passwords = users

    def _setUp(self) -> None:
        self.users = pathlib.Path(
            self.useFixture(fixtures.TempDir()).path, 'htpasswd')
        self.users.write_text(passwords(**self._passwords))
        self._options['http_basic_auth_user_file'] = str(self.users)
        super()._setUp()
