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

"""Starts the Ironic of :mod:`.keystone_ironic`."""

from collections.abc import Mapping

import requests

from tests.real import forked_ironic


def token(name: str) -> dict[str, str]:
    """Return the header that identifies a user."""
    return {'X-Auth-Token': f'token-of-{name}'}


class WithKeystone(forked_ironic.ForkedIronic):
    """Runs the script with the tokens instead of the plain service."""

    module = 'tests.inprocess.guard.keystone_ironic'

    def session(self) -> requests.Session:
        session = super().session()
        session.headers.update(token('the-system'))
        return session


def make(folder: str, kind: type[WithKeystone] = WithKeystone,
         options: Mapping[str, Mapping[str, object]] | None = None,
         ironic: Mapping[str, object] | None = None,
         **reservations: Mapping[str, object]) -> WithKeystone:
    """Return an Ironic with the strategy keystone.

    :param options: further options of Ironic.
    :param ironic: further options for our requests to it; the others are
        shared.
    """
    more = options or {}
    return kind(
        folder,
        options={**more,
                 'DEFAULT': {'auth_strategy': 'keystone',
                             **more.get('DEFAULT', {})},
                 'keystone_authtoken': {'auth_type': 'none'}},
        reservations={
            **reservations,
            'ironic': {'auth_type': 'admin_token',
                       'endpoint': 'http://not.asked.invalid',
                       'token': 'token-of-our-service', **(ironic or {})}})
