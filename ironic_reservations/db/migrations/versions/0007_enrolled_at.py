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

"""When Ironic was told of a node: another time, another node

Revision ID: 0007
Revises: 0006
"""

import sqlalchemy as sa

from ironic_reservations.db.migrations import steps

revision = '0007'
down_revision = '0006'


def upgrade():
    with steps.alter_table('nodes') as nodes:
        nodes.add_column(sa.Column('enrolled_at', sa.String(64)))


def downgrade():
    with steps.alter_table('nodes') as nodes:
        nodes.drop_column('enrolled_at')
