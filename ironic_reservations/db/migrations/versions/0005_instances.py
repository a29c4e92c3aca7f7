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

"""Reservations of instances

Revision ID: 0005
Revises: 0004
"""

import sqlalchemy as sa

from ironic_reservations.db.migrations import steps

revision = '0005'
down_revision = '0004'


def upgrade():
    steps.create_table(
        'instance_reservations',
        sa.Column('id', sa.String(36), nullable=False),
        sa.Column('reservation_id', sa.String(36), nullable=False),
        sa.Column('vcpus', sa.Integer, nullable=False),
        sa.Column('memory_mb', sa.Integer, nullable=False),
        sa.Column('disk_gb', sa.Integer, nullable=False),
        sa.Column('amount', sa.Integer, nullable=False),
        sa.Column('affinity', sa.Boolean),
        sa.Column('flavor_id', sa.String(36)),
        sa.Column('aggregate_id', sa.Integer),
        sa.Column('server_group_id', sa.String(36)),
        sa.Column('source_flavor_id', sa.String(255)),
        sa.Column('request', sa.Text),
        sa.PrimaryKeyConstraint('id', name='pk_instance_reservations'),
        sa.ForeignKeyConstraint(
            ['reservation_id'], ['lease_reservations.id'],
            name='fk_instance_reservations_reservation_id',
            ondelete='CASCADE'),
        sa.UniqueConstraint('reservation_id',
                            name='uq_instance_reservations_reservation_id'))


def downgrade():
    # NOTE: a lease of instances without this is one that nobody can serve;
    # db.migrate asks before the rows are lost.
    steps.drop_table('instance_reservations')
