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

"""Which nodes have changed, for whoever keeps what is promised of them

Revision ID: 0011
Revises: 0010
"""

import sqlalchemy as sa

from ironic_reservations.db.migrations import steps

revision = '0011'
down_revision = '0010'


def upgrade():
    # NOTE: the release before writes nothing here; what it changes is found
    # by comparing generations.
    steps.create_table(
        'changes',
        sa.Column('seq', steps.BIG, nullable=False),
        sa.Column('node_uuid', sa.String(36), nullable=False),
        sa.Column('generation', sa.BigInteger),
        sa.PrimaryKeyConstraint('seq', name='pk_changes'),
        autoincrement=True)


def downgrade():
    steps.drop_table('changes')
