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

import sqlalchemy as sa

from ironic_reservations.db.migrations import steps

revision = '0004'
down_revision = '0003'


def upgrade():
    steps.create_table(
        'placement_drift',
        sa.Column('kind', sa.String(32), nullable=False),
        sa.Column('found', sa.Integer, nullable=False),
        sa.Column('remaining', sa.Integer, nullable=False),
        sa.Column('audited_at', steps.INSTANT, nullable=False),
        sa.PrimaryKeyConstraint('kind', name='pk_placement_drift'))


def downgrade():
    steps.drop_table('placement_drift')
