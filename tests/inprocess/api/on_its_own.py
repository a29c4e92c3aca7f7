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

from typing import Any

import bcrypt

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
