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


"""An all-in-one Ironic with the strategy keystone, without a Keystone.

The tokens are those of keystonemiddleware's own fixture: the middleware is
unchanged, and the fixture answers for Keystone.
"""

import uuid

from keystoneauth1 import fixture as ksa_fixture
from keystonemiddleware import fixture

from tools import ironic_service

PROJECTS = {name: uuid.uuid5(uuid.NAMESPACE_DNS, name).hex
            for name in ('one', 'two')}
#: In the place of a project.
DOMAIN = 'domain'
#: Token, project (None: the whole system; '': no scope), roles.
TOKENS = {
    'token-of-the-system': (None, ('admin', 'member', 'reader')),
    'token-of-our-service': (None, ('admin', 'member', 'reader')),
    'token-of-nova': (None, ('admin', 'member', 'reader', 'service')),
    'token-of-one': (PROJECTS['one'], ('member', 'reader')),
    'token-of-admin-of-one': (PROJECTS['one'], (
        'admin', 'manager', 'member', 'reader')),
    'token-of-two': (PROJECTS['two'], ('member', 'reader')),
    'token-of-reader-of-one': (PROJECTS['one'], ('reader',)),
    'token-of-the-domain': (DOMAIN, ('admin', 'manager', 'member', 'reader')),
    'token-without-scope': ('', ()),
    'token-of-foreign-admin': (PROJECTS['two'], (
        'admin', 'manager', 'member', 'reader', 'service')),
}


def main() -> None:
    """Serve with the arguments of the service."""
    tokens = fixture.AuthTokenFixture()
    tokens.setUp()
    for token_id, (project, roles) in TOKENS.items():
        token = ksa_fixture.V3Token(user_name=token_id)
        if project is None:
            token.set_system_scope()
        elif project == DOMAIN:
            token.set_domain_scope()
        elif project:
            token.set_project_scope(id=project)
        for role in roles:
            token.add_role(name=role)
        tokens.add_token(token, token_id)
    ironic_service.main()


if __name__ == '__main__':
    main()
