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

"""A request is found by its id among the changes

Revision ID: 0033
Revises: 0032
"""

import sqlalchemy as sa

from ironic_reservations.db.migrations import steps

revision = '0033'
down_revision = '0032'


def upgrade():
    with steps.alter_table('changes') as changes:
        changes.alter_column('node_uuid', nullable=True)
        changes.add_column(sa.Column('change_id', sa.String(36)))
        changes.unique('uq_changes_change_id', ['change_id'])


def downgrade():
    steps.execute('DELETE FROM changes WHERE node_uuid IS NULL')
    with steps.alter_table('changes') as changes:
        changes.drop_unique('uq_changes_change_id')
        changes.drop_column('change_id')
        changes.alter_column('node_uuid', nullable=False)
