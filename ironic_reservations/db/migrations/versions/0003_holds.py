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

"""Holds in Placement, and what was seen there

Revision ID: 0003
Revises: 0002
"""

import sqlalchemy as sa

from ironic_reservations.db.migrations import steps

revision = '0003'
down_revision = '0002'


def upgrade():
    steps.create_table(
        'holds',
        sa.Column('id', sa.Integer, nullable=False),
        sa.Column('generation', sa.Integer, nullable=False),
        sa.Column('consumer_uuid', sa.String(36), nullable=False),
        sa.Column('node_uuid', sa.String(36), nullable=False),
        sa.Column('owner', sa.String(36), nullable=False),
        sa.Column('resource_class', sa.String(255), nullable=False),
        sa.Column('project_id', sa.String(255), nullable=False),
        sa.Column('user_id', sa.String(255), nullable=False),
        sa.Column('instance_uuid', sa.String(36)),
        sa.Column('state', sa.String(16), nullable=False),
        sa.Column('landed', sa.Boolean, nullable=False),
        sa.Column('created_at', steps.INSTANT, nullable=False),
        sa.Column('updated_at', steps.INSTANT),
        sa.Column('deadline', steps.INSTANT, nullable=False),
        sa.Column('live', sa.SmallInteger),
        sa.PrimaryKeyConstraint('id', name='pk_holds'),
        sa.UniqueConstraint('consumer_uuid', name='uq_holds_consumer_uuid'),
        sa.UniqueConstraint('node_uuid', 'live',
                            name='uq_holds_node_uuid_live'))
    steps.create_index('ix_holds_owner', 'holds', ['owner'])
    steps.create_index('ix_holds_state_deadline', 'holds',
                    ['state', 'deadline'])
    steps.create_table(
        'providers_seen',
        sa.Column('provider_uuid', sa.String(36), nullable=False),
        sa.Column('generation', sa.Integer, nullable=False),
        sa.Column('resource_class', sa.String(255), nullable=False),
        sa.Column('expected', sa.String(36)),
        sa.Column('seen_at', steps.INSTANT, nullable=False),
        sa.PrimaryKeyConstraint('provider_uuid', name='pk_providers_seen'))


def downgrade():
    # NOTE: what is held in Placement stays there; db.migrate asks before
    # the rows are lost that would take it back.
    steps.drop_table('providers_seen')
    steps.drop_table('holds')
