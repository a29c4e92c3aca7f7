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

"""Notices that are to be sent

Revision ID: 0015
Revises: 0014
"""

import sqlalchemy as sa

from ironic_reservations.db.migrations import steps

revision = '0015'
down_revision = '0014'


def upgrade():
    steps.create_table(
        'outbox',
        sa.Column('id', sa.String(36), nullable=False),
        sa.Column('notice_id', sa.String(36), nullable=False),
        sa.Column('channel', sa.String(16), nullable=False),
        sa.Column('target', sa.String(64), nullable=False),
        sa.Column('kind', sa.String(32), nullable=False),
        sa.Column('lease_id', sa.String(36), nullable=False),
        sa.Column('project_id', sa.String(255)),
        sa.Column('user_id', sa.String(255)),
        sa.Column('payload', sa.Text, nullable=False),
        sa.Column('created_at', steps.INSTANT, nullable=False),
        sa.Column('due_at', steps.INSTANT),
        sa.Column('attempts', sa.Integer, nullable=False),
        sa.Column('claimed_by', sa.String(36)),
        sa.Column('claimed_until', steps.INSTANT),
        sa.Column('done_at', steps.INSTANT),
        sa.Column('outcome', sa.String(16)),
        sa.Column('complaint', sa.Text),
        sa.PrimaryKeyConstraint('id', name='pk_outbox'),
        indexes={
            'ix_outbox_channel_target_due_at': (
                'channel', 'target', 'due_at'),
            'ix_outbox_due_at_created_at': ('due_at', 'created_at'),
            'ix_outbox_done_at': ('done_at',)})


def downgrade():
    steps.drop_table('outbox')
