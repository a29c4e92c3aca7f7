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

"""What the last audit of Placement has found

Revision ID: 0004
Revises: 0003
"""

from alembic import op
import sqlalchemy as sa
from sqlalchemy.dialects import mysql

revision = '0004'
down_revision = '0003'

_INSTANT = sa.DateTime().with_variant(mysql.DATETIME(fsp=6), 'mysql',
                                      'mariadb')


def upgrade():
    op.create_table(
        'placement_drift',
        sa.Column('kind', sa.String(32), nullable=False),
        sa.Column('found', sa.Integer, nullable=False),
        sa.Column('remaining', sa.Integer, nullable=False),
        sa.Column('audited_at', _INSTANT, nullable=False),
        sa.PrimaryKeyConstraint('kind', name='pk_placement_drift'),
        mysql_engine='InnoDB', mysql_charset='utf8mb4',
        mysql_collate='utf8mb4_bin')


def downgrade():
    op.drop_table('placement_drift')
