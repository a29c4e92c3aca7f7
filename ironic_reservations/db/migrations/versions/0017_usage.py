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

"""When nodes were given to leases, warned about, and deployed

Revision ID: 0017
Revises: 0016
"""

import sqlalchemy as sa

from ironic_reservations.db.migrations import steps

revision = '0017'
down_revision = '0016'


def upgrade():
    # NOTE: the release before leaves both NULL: what it binds is never taken
    # for a no-show.
    with steps.alter_table('reservations') as reservations:
        reservations.add_column(sa.Column('bound_at', steps.INSTANT))
        reservations.add_column(sa.Column('warned_at', steps.INSTANT))
    steps.create_table(
        'usage_periods',
        sa.Column('id', sa.Integer, nullable=False),
        sa.Column('booking_uuid', sa.String(36)),
        sa.Column('reservation_id', sa.String(36), nullable=False),
        sa.Column('lease_id', sa.String(36), nullable=False),
        sa.Column('project_id', sa.String(255)),
        sa.Column('resource_class', sa.String(255), nullable=False),
        sa.Column('kind', sa.String(16), nullable=False),
        sa.Column('starts_at', steps.INSTANT, nullable=False),
        sa.Column('ended_at', steps.INSTANT),
        sa.Column('hosts', sa.Integer, nullable=False),
        sa.Column('running', sa.SmallInteger),
        sa.PrimaryKeyConstraint('id', name='pk_usage_periods'),
        sa.UniqueConstraint('booking_uuid', 'running',
                            name='uq_usage_periods_booking_uuid_running'),
        indexes={'ix_usage_periods_running': ['running'],
                 'ix_usage_periods_ended_at': ['ended_at'],
                 'ix_usage_periods_project_id_ended_at': ['project_id',
                                                          'ended_at']},
        autoincrement=True)


def downgrade():
    steps.drop_table('usage_periods')
    with steps.alter_table('reservations') as reservations:
        reservations.drop_column('warned_at')
        reservations.drop_column('bound_at')
