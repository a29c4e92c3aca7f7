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

"""Node reservations

Revision ID: 0001
Revises: (none)
"""

import sqlalchemy as sa

from ironic_reservations.db.migrations import steps

revision = '0001'
down_revision = None


def upgrade():
    steps.create_table(
        'nodes',
        sa.Column('id', sa.Integer, nullable=False),
        sa.Column('uuid', sa.String(36), nullable=False),
        sa.Column('generation', sa.Integer, nullable=False),
        sa.Column('name', sa.String(255)),
        sa.Column('resource_class', sa.String(80)),
        sa.Column('provision_state', sa.String(15)),
        sa.Column('instance_uuid', sa.String(36)),
        sa.Column('maintenance', sa.Boolean, nullable=False),
        sa.Column('retired', sa.Boolean, nullable=False),
        sa.Column('reservable', sa.Boolean, nullable=False),
        sa.Column('owner', sa.String(255)),
        sa.Column('lessee', sa.String(255)),
        sa.Column('observed_at', steps.INSTANT, nullable=False),
        sa.PrimaryKeyConstraint('id', name='pk_nodes'),
        sa.UniqueConstraint('uuid', name='uq_nodes_uuid'))
    steps.create_index('ix_nodes_resource_class_provision_state', 'nodes',
                    ['resource_class', 'provision_state'])
    steps.create_table(
        'node_traits',
        sa.Column('node_uuid', sa.String(36), nullable=False),
        sa.Column('trait', sa.String(255), nullable=False),
        sa.PrimaryKeyConstraint('node_uuid', 'trait', name='pk_node_traits'),
        sa.ForeignKeyConstraint(['node_uuid'], ['nodes.uuid'],
                                name='fk_node_traits_node_uuid',
                                ondelete='CASCADE'))
    steps.create_table(
        'reservations',
        sa.Column('id', sa.Integer, nullable=False),
        sa.Column('uuid', sa.String(36), nullable=False),
        sa.Column('node_uuid', sa.String(36), nullable=False),
        sa.Column('instance_uuid', sa.String(36), nullable=False),
        sa.Column('created_at', steps.INSTANT, nullable=False),
        sa.Column('updated_at', steps.INSTANT),
        sa.Column('expires_at', steps.INSTANT, nullable=False),
        sa.Column('state', sa.String(16), nullable=False),
        sa.Column('project_id', sa.String(255)),
        sa.Column('user_id', sa.String(255)),
        sa.Column('immediate', sa.SmallInteger),
        sa.PrimaryKeyConstraint('id', name='pk_reservations'),
        sa.UniqueConstraint('uuid', name='uq_reservations_uuid'),
        sa.UniqueConstraint('node_uuid', 'immediate',
                            name='uq_reservations_node_uuid_immediate'),
        sa.UniqueConstraint('instance_uuid', 'immediate',
                            name='uq_reservations_instance_uuid_immediate'),
        sa.ForeignKeyConstraint(['node_uuid'], ['nodes.uuid'],
                                name='fk_reservations_node_uuid'))
    steps.create_index('ix_reservations_project_id', 'reservations',
                    ['project_id'])
    steps.create_index('ix_reservations_expires_at', 'reservations',
                    ['expires_at'])
    steps.create_table(
        'passages',
        sa.Column('id', sa.Integer, nullable=False),
        sa.Column('node_uuid', sa.String(36), nullable=False),
        sa.Column('reservation_uuid', sa.String(36)),
        sa.Column('instance_uuid', sa.String(36)),
        sa.Column('expires_at', steps.INSTANT, nullable=False),
        sa.PrimaryKeyConstraint('id', name='pk_passages'),
        sa.ForeignKeyConstraint(['node_uuid'], ['nodes.uuid'],
                                name='fk_passages_node_uuid',
                                ondelete='CASCADE'))
    steps.create_index('ix_passages_node_uuid', 'passages', ['node_uuid'])
    steps.create_table(
        'claims',
        sa.Column('name', sa.String(64), nullable=False),
        sa.Column('owner', sa.String(255), nullable=False),
        sa.Column('expires_at', steps.INSTANT, nullable=False),
        sa.PrimaryKeyConstraint('name', name='pk_claims'))


def downgrade():
    for name in ('claims', 'passages', 'reservations', 'node_traits',
                 'nodes'):
        steps.drop_table(name)
