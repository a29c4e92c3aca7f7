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


"""Requests on their way to Ironic have names, states and tickets

Revision ID: 0009
Revises: 0008
"""

import sqlalchemy as sa

from ironic_reservations.db.migrations import steps

revision = '0009'
down_revision = '0008'


def upgrade():
    with steps.alter_table('passages') as passages:
        for column in (sa.Column('token', sa.String(36)),
                       sa.Column('state', sa.String(16)),
                       sa.Column('act', sa.String(32)),
                       sa.Column('lease_id', sa.String(36)),
                       sa.Column('seen', sa.String(64)),
                       sa.Column('seen_at', steps.INSTANT)):
            passages.add_column(column)
        passages.unique('uq_passages_token', ['token'])
    steps.create_index('ix_passages_lease_id', 'passages', ['lease_id'])
    with steps.alter_table('nodes') as nodes:
        nodes.add_column(sa.Column('let_through', sa.String(36)))


def downgrade():
    with steps.alter_table('nodes') as nodes:
        nodes.drop_column('let_through')
    steps.drop_index('ix_passages_lease_id', 'passages')
    with steps.alter_table('passages') as passages:
        passages.drop_unique('uq_passages_token')
        for name in ('seen_at', 'seen', 'lease_id', 'act', 'state', 'token'):
            passages.drop_column(name)
