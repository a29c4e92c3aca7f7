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

"""Compute hosts, and shares of them

Revision ID: 0006
Revises: 0005
"""

from alembic import op
import sqlalchemy as sa

revision = '0006'
down_revision = '0005'


def upgrade():
    op.add_column('nodes', sa.Column('inventories', sa.Text))
    with op.batch_alter_table('holds') as batch:
        batch.add_column(sa.Column('amounts', sa.Text))
        batch.alter_column('resource_class', nullable=True,
                           existing_type=sa.String(255))
        batch.alter_column('live', type_=sa.String(36),
                           existing_type=sa.SmallInteger,
                           existing_nullable=True,
                           postgresql_using='live::varchar')
    op.execute("UPDATE holds SET live = 'node' WHERE live IS NOT NULL")


def downgrade():
    # NOTE: shares of compute hosts stay in Placement; db.migrate asks before
    # the rows are lost that would take them back.
    op.execute('DELETE FROM holds WHERE amounts IS NOT NULL')
    op.execute("UPDATE holds SET live = '1' WHERE live IS NOT NULL")
    with op.batch_alter_table('holds') as batch:
        batch.alter_column('live', type_=sa.SmallInteger,
                           existing_type=sa.String(36),
                           existing_nullable=True,
                           postgresql_using='live::smallint')
        batch.alter_column('resource_class', nullable=False,
                           existing_type=sa.String(255))
        batch.drop_column('amounts')
    # NOTE: not in a batch, see 0002.
    op.drop_column('nodes', 'inventories')
