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

"""Nodes are put back as they were before the acts of their holders

Revision ID: 0029
Revises: 0028
"""

import sqlalchemy as sa
from sqlalchemy.dialects import mysql

from ironic_reservations.db.migrations import steps

revision = '0029'
down_revision = '0028'


def upgrade():
    steps.create_table(
        'handovers',
        sa.Column('node_uuid', sa.String(36), nullable=False),
        sa.Column('holder', sa.String(36), nullable=False),
        sa.Column('document', sa.Text().with_variant(
            mysql.MEDIUMTEXT(), 'mysql', 'mariadb')),
        sa.Column('acts', sa.Text, nullable=False),
        sa.Column('dirty', sa.Boolean, nullable=False),
        sa.Column('settles_at', steps.INSTANT, nullable=False),
        sa.Column('phase', sa.String(16), nullable=False),
        sa.PrimaryKeyConstraint('node_uuid', name='pk_handovers'),
        sa.ForeignKeyConstraint(
            ['node_uuid'], ['nodes.uuid'], ondelete='CASCADE',
            name='fk_handovers_node_uuid'))


def downgrade():
    steps.drop_table('handovers')
