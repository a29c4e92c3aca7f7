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

import sqlalchemy as sa

from ironic_reservations.db.migrations import steps

revision = '0006'
down_revision = '0005'


def upgrade():
    with steps.alter_table('nodes') as nodes:
        nodes.add_column(sa.Column('inventories', sa.Text))
    with steps.alter_table('holds') as holds:
        holds.add_column(sa.Column('amounts', sa.Text))
        holds.alter_column('resource_class', nullable=True)
        holds.alter_column('live', type_=sa.String(36),
                           postgresql_using='live::varchar')
    steps.execute("UPDATE holds SET live = 'node' WHERE live = '1'")


def downgrade():
    # NOTE: shares of compute hosts stay in Placement; db.migrate asks before
    # the rows are lost that would take them back.
    if steps.has_column('holds', 'amounts'):
        steps.execute('DELETE FROM holds WHERE amounts IS NOT NULL')
        steps.execute("UPDATE holds SET live = '1' WHERE live IS NOT NULL")
    with steps.alter_table('holds') as holds:
        holds.alter_column('live', type_=sa.SmallInteger(),
                           postgresql_using='live::smallint')
        holds.alter_column('resource_class', nullable=False)
        # NOTE: last, for it tells whether the rows have been seen to.
        holds.drop_column('amounts')
    with steps.alter_table('nodes') as nodes:
        nodes.drop_column('inventories')
