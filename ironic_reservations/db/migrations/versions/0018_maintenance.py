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

"""When operators have nodes for maintenance

Revision ID: 0018
Revises: 0017
"""

import sqlalchemy as sa

from ironic_reservations.db.migrations import steps

revision = '0018'
down_revision = '0017'


def upgrade():
    steps.create_table(
        'maintenance_windows',
        sa.Column('id', sa.String(36), nullable=False),
        sa.Column('name', sa.String(80), nullable=False),
        sa.Column('reason', sa.Text, nullable=False),
        sa.Column('starts_at', steps.INSTANT, nullable=False),
        sa.Column('ends_at', steps.INSTANT, nullable=False),
        sa.Column('drain', sa.Boolean, nullable=False),
        sa.Column('project_id', sa.String(255)),
        sa.Column('user_id', sa.String(255)),
        sa.Column('created_at', steps.INSTANT, nullable=False),
        sa.Column('updated_at', steps.INSTANT),
        sa.PrimaryKeyConstraint('id', name='pk_maintenance_windows'),
        indexes={'ix_maintenance_windows_ends_at': ('ends_at',)})
    steps.create_table(
        'maintenance_nodes',
        sa.Column('id', sa.Integer, nullable=False),
        sa.Column('window_id', sa.String(36), nullable=False),
        sa.Column('node_uuid', sa.String(36), nullable=False),
        sa.Column('starts_at', steps.INSTANT, nullable=False),
        sa.Column('ends_at', steps.INSTANT, nullable=False),
        sa.Column('state', sa.String(16), nullable=False),
        sa.PrimaryKeyConstraint('id', name='pk_maintenance_nodes'),
        sa.ForeignKeyConstraint(
            ['window_id'], ['maintenance_windows.id'], ondelete='CASCADE',
            name='fk_maintenance_nodes_window_id'),
        sa.ForeignKeyConstraint(
            ['node_uuid'], ['nodes.uuid'], ondelete='CASCADE',
            name='fk_maintenance_nodes_node_uuid'),
        sa.UniqueConstraint('window_id', 'node_uuid',
                            name='uq_maintenance_nodes_window_id_node_uuid'),
        indexes={
            'ix_maintenance_nodes_node_uuid_state': ('node_uuid', 'state'),
            'ix_maintenance_nodes_state_starts_at': ('state', 'starts_at')},
        autoincrement=True)


def downgrade():
    steps.drop_table('maintenance_nodes')
    steps.drop_table('maintenance_windows')
