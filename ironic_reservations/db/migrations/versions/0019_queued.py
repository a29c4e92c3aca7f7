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

"""Leases that wait for an earlier start

Revision ID: 0019
Revises: 0018
"""

import sqlalchemy as sa

from ironic_reservations.db.migrations import steps

revision = '0019'
down_revision = '0018'


def upgrade():
    with steps.alter_table('leases') as leases:
        leases.add_column(sa.Column('wanted_start', steps.INSTANT))
        leases.add_column(sa.Column('promised_start', steps.INSTANT))
        leases.add_column(sa.Column('priority', sa.Integer))
        leases.index('ix_leases_status_promised_start',
                     ['status', 'promised_start'])


def downgrade():
    with steps.alter_table('leases') as leases:
        leases.drop_index('ix_leases_status_promised_start')
        leases.drop_column('priority')
        leases.drop_column('promised_start')
        leases.drop_column('wanted_start')
