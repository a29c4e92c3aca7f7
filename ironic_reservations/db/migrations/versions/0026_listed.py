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

"""A list of live leases looks at no more of them than it shows

Revision ID: 0026
Revises: 0025
"""

from ironic_reservations.db.migrations import steps

revision = '0026'
down_revision = '0025'

_ALL = 'ix_leases_status_created_at_id'
_OF_PROJECT = 'ix_leases_project_id_status_created_at_id'
#: Which is the beginning of the new one.
_BEFORE = 'ix_leases_project_id_status'


def upgrade():
    with steps.alter_table('leases') as leases:
        leases.index(_ALL, ['status', 'created_at', 'id'])
        leases.index(_OF_PROJECT, ['project_id', 'status', 'created_at',
                                   'id'])
        leases.drop_index(_BEFORE)


def downgrade():
    with steps.alter_table('leases') as leases:
        leases.index(_BEFORE, ['project_id', 'status'])
        leases.drop_index(_OF_PROJECT)
        leases.drop_index(_ALL)
