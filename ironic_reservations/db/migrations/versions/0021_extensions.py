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

"""How often leases have been extended

Revision ID: 0021
Revises: 0020
"""

import sqlalchemy as sa

from ironic_reservations.db.migrations import steps

revision = '0021'
down_revision = '0020'


def upgrade():
    with steps.alter_table('leases') as leases:
        leases.add_column(sa.Column('extensions', sa.Integer))


def downgrade():
    with steps.alter_table('leases') as leases:
        leases.drop_column('extensions')
