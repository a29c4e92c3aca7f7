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

from alembic import op
import sqlalchemy as sa
from sqlalchemy.dialects import mysql

revision = '0003'
down_revision = '0002'

_INSTANT = sa.DateTime().with_variant(mysql.DATETIME(fsp=6), 'mysql',
                                      'mariadb')
_MYSQL = {'mysql_engine': 'InnoDB', 'mysql_charset': 'utf8mb4',
          'mysql_collate': 'utf8mb4_bin'}


def upgrade():
    op.create_table(
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
        sa.Column('created_at', _INSTANT, nullable=False),
        sa.Column('updated_at', _INSTANT),
        sa.Column('deadline', _INSTANT, nullable=False),
        sa.Column('live', sa.SmallInteger),
        sa.PrimaryKeyConstraint('id', name='pk_holds'),
        sa.UniqueConstraint('consumer_uuid', name='uq_holds_consumer_uuid'),
        sa.UniqueConstraint('node_uuid', 'live',
                            name='uq_holds_node_uuid_live'),
        **_MYSQL)
    op.create_index('ix_holds_owner', 'holds', ['owner'])
    op.create_index('ix_holds_state_deadline', 'holds',
                    ['state', 'deadline'])
    op.create_table(
        'providers_seen',
        sa.Column('provider_uuid', sa.String(36), nullable=False),
        sa.Column('generation', sa.Integer, nullable=False),
        sa.Column('resource_class', sa.String(255), nullable=False),
        sa.Column('expected', sa.String(36)),
        sa.Column('seen_at', _INSTANT, nullable=False),
        sa.PrimaryKeyConstraint('provider_uuid', name='pk_providers_seen'),
        **_MYSQL)


def downgrade():
    # NOTE: what is held in Placement stays there; db.migrate asks before
    # the rows are lost that would take it back.
    op.drop_table('providers_seen')
    op.drop_table('holds')
