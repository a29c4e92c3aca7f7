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

"""By which token a calendar shows whose leases

Revision ID: 0013
Revises: 0012
"""

import sqlalchemy as sa

from ironic_reservations.db.migrations import steps

revision = '0013'
down_revision = '0012'


def upgrade():
    steps.create_table(
        'calendar_tokens',
        sa.Column('digest', sa.String(64), nullable=False),
        sa.Column('owner', sa.String(64), nullable=False),
        sa.Column('user_id', sa.String(255), nullable=False),
        sa.Column('project_id', sa.String(255), nullable=False),
        sa.Column('roles', sa.Text, nullable=False),
        sa.Column('created_at', steps.INSTANT, nullable=False),
        sa.PrimaryKeyConstraint('digest', name='pk_calendar_tokens'),
        sa.UniqueConstraint('owner', name='uq_calendar_tokens_owner'))


def downgrade():
    steps.drop_table('calendar_tokens')
