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


"""The Placement service."""

from __future__ import annotations

from tools.stack import ground as stack_ground
from tools.stack import people

NAME = 'placement'


def make(ground: stack_ground.Ground, database: str, keystone: str) -> None:
    """Write its configuration; its tables come with its start."""
    ground.configure(NAME, 'placement.conf', {
        'DEFAULT': {'use_stderr': True},
        # NOTE: with its default, two servers that ask at once get one node.
        'placement': {'allocation_conflict_retry_count': 1},
        'placement_database': {'connection': database,
                               'sync_on_startup': True},
        'keystone_authtoken': people.token_options(keystone, NAME)})


def start(ground: stack_ground.Ground) -> None:
    """Start it."""
    ground.serve(NAME, 'placement.wsgi.api', {
        'OS_PLACEMENT_CONFIG_DIR': str(ground.folder_of(NAME))})
