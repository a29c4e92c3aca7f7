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

"""With which password a calendar shows whose leases

Revision ID: 0023
Revises: 0022
"""

import sqlalchemy as sa

from ironic_reservations.db.migrations import steps

revision = '0023'
down_revision = '0022'


def upgrade():
    with steps.alter_table('calendar_tokens') as tokens:
        tokens.add_column(sa.Column('fingerprint', sa.String(64)))


def downgrade():
    with steps.alter_table('calendar_tokens') as tokens:
        tokens.drop_column('fingerprint')
