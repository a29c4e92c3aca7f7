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

from __future__ import annotations

from ironic_reservations.api import standalone
from ironic_reservations.api import wsgi
from tests.inprocess.api import world


class Standalone(world.World):
    """The application with the authentication of its configuration."""

    # NOTE: the fixture of keystonemiddleware answers for this Keystone.
    file = ('[keystone_authtoken]\n'
            'www_authenticate_uri = http://keystone.example/\n'
            'auth_type = password\n'
            'auth_url = http://keystone.example/\n')

    def make_app(self) -> wsgi.Application:
        """Make it as ironic-reservations-api does."""
        return standalone.with_engine(self.conf, self.engine)
