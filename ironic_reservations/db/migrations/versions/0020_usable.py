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

"""Since when nodes that nobody deploys can be deployed without a break

Revision ID: 0020
Revises: 0019
"""

import sqlalchemy as sa

from ironic_reservations.db.migrations import steps

revision = '0020'
down_revision = '0019'


def upgrade():
    steps.create_table(
        'usable_bookings',
        sa.Column('booking_uuid', sa.String(36), nullable=False),
        sa.Column('since', steps.INSTANT, nullable=False),
        sa.PrimaryKeyConstraint('booking_uuid', name='pk_usable_bookings'))
    steps.create_table(
        'looks',
        sa.Column('name', sa.String(32), nullable=False),
        sa.Column('since', steps.INSTANT, nullable=False),
        sa.Column('looked_at', steps.INSTANT, nullable=False),
        sa.PrimaryKeyConstraint('name', name='pk_looks'))


def downgrade():
    steps.drop_table('looks')
    steps.drop_table('usable_bookings')
