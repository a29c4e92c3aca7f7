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

"""Windows that were deleted before their dates are found to be forgotten

Revision ID: 0028
Revises: 0027
"""

from ironic_reservations.db.migrations import steps

revision = '0028'
down_revision = '0027'

_ENDED = 'ix_maintenance_windows_updated_at'


def upgrade():
    with steps.alter_table('maintenance_windows') as windows:
        windows.index(_ENDED, ['updated_at'])


def downgrade():
    with steps.alter_table('maintenance_windows') as windows:
        windows.drop_index(_ENDED)
