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


"""The Image service, with its images in files."""

from __future__ import annotations

from tools.stack import ground as stack_ground
from tools.stack import people

NAME = 'glance'
_MANAGE = ('from glance.cmd import manage; sys.argv[0] = "glance-manage"; '
           'sys.exit(manage.main())')
_STORES = {'files': 'images', 'os_glance_staging_store': 'staging',
           'os_glance_tasks_store': 'tasks'}


def make(ground: stack_ground.Ground, database: str, keystone: str) -> None:
    """Make its tables.

    :raises NotStarted: a command of it failed.
    """
    folder = ground.folder_of(NAME)
    path = ground.configure(NAME, 'glance-api.conf', {
        'DEFAULT': {'enabled_backends': 'files:file', 'use_stderr': True},
        'database': {'connection': database},
        'glance_store': {'default_backend': 'files'},
        'keystone_authtoken': people.token_options(keystone, NAME),
        'paste_deploy': {
            'flavor': 'keystone',
            'config_file': stack_ground.DATA / 'glance/glance-api-paste.ini'},
        **{store: {'filesystem_store_datadir': folder / name}
           for store, name in _STORES.items()}})
    ground.run(NAME, _MANAGE, '--config-file', str(path), 'db_sync')


def start(ground: stack_ground.Ground) -> None:
    """Start it."""
    ground.serve(NAME, 'glance.wsgi.api', {
        'OS_GLANCE_CONFIG_DIR': str(ground.folder_of(NAME))})
