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


"""The Identity service."""

from __future__ import annotations

import grp
import os
import pwd

from tools.stack import ground as stack_ground
from tools.stack import people

NAME = 'keystone'
_MANAGE = ('from keystone.cmd import manage; sys.argv[0] = "keystone-manage"; '
           'sys.exit(manage.main())')


def make(ground: stack_ground.Ground, database: str) -> None:
    """Make its tables and keys, and its administrator.

    :raises NotStarted: a command of it failed.
    """
    folder = ground.folder_of(NAME)
    keys = {}
    for kind in ('fernet_tokens', 'fernet_receipts', 'credential'):
        (folder / kind).mkdir(mode=0o700)
        keys[kind] = {'key_repository': folder / kind}
    path = ground.configure(NAME, 'keystone.conf', {
        'DEFAULT': {'use_stderr': True},
        'database': {'connection': database}, **keys,
        # NOTE: of passwords that everybody knows.
        'identity': {'password_hash_rounds': 4, 'max_password_length': 72},
        # NOTE: longer than anybody looks at the cloud.
        'token': {'expiration': 86400}})
    owner = ('--keystone-user', pwd.getpwuid(os.getuid()).pw_name,
             '--keystone-group', grp.getgrgid(os.getgid()).gr_name)
    for arguments in (
            ('db_sync',), ('fernet_setup', *owner),
            ('credential_setup', *owner),
            ('bootstrap', '--bootstrap-password', people.PASSWORD,
             '--bootstrap-region-id', people.REGION,
             '--bootstrap-public-url', f'{ground.url(NAME)}/v3')):
        ground.run(NAME, _MANAGE, '--config-file', str(path), *arguments)


def start(ground: stack_ground.Ground) -> None:
    """Start it, and wait until it answers."""
    ground.serve(NAME, 'keystone.wsgi.api', {
        'OS_KEYSTONE_CONFIG_DIR': str(ground.folder_of(NAME))})
    ground.wait_for(NAME)
