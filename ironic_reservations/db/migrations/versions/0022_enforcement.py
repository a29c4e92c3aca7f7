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

"""Telling the enforcement service what has been committed.

Revision ID: 0022
Revises: 0021
"""

import sqlalchemy as sa

from ironic_reservations.db.migrations import steps

revision = '0022'
down_revision = '0021'


def upgrade():
    with steps.alter_table('outbox') as outbox:
        outbox.add_column(sa.Column('sequence', sa.Integer))
        outbox.index('ix_outbox_lease_id_sequence', ['lease_id', 'sequence'])
    steps.create_table(
        'enforcement_terms',
        sa.Column('lease_id', sa.String(36), nullable=False),
        sa.Column('project_id', sa.String(255)),
        sa.Column('user_id', sa.String(255)),
        sa.Column('sequence', sa.Integer, nullable=False),
        sa.Column('terms', sa.Text, nullable=False),
        sa.PrimaryKeyConstraint('lease_id', name='pk_enforcement_terms'))


def downgrade():
    steps.drop_table('enforcement_terms')
    with steps.alter_table('outbox') as outbox:
        outbox.drop_index('ix_outbox_lease_id_sequence')
        outbox.drop_column('sequence')
