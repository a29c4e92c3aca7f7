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

"""What is over: kept apart, found by an index, and never numbered again

Revision ID: 0008
Revises: 0007
"""

import sqlalchemy as sa

from ironic_reservations.db.migrations import steps

revision = '0008'
down_revision = '0007'


def upgrade():
    _number_for_good()
    _one_word_for_whole_nodes()
    with steps.alter_table('leases') as leases:
        leases.index('ix_leases_status_updated_at', ['status', 'updated_at'])
        leases.index('ix_leases_project_id_status', ['project_id', 'status'])
    steps.create_table(
        'lease_usage',
        sa.Column('reservation_id', sa.String(36), nullable=False),
        sa.Column('resource_class', sa.String(255), nullable=False),
        sa.Column('lease_id', sa.String(36), nullable=False),
        sa.Column('project_id', sa.String(255)),
        sa.Column('user_id', sa.String(255)),
        sa.Column('resource_type', sa.String(32), nullable=False),
        sa.Column('amount', sa.BigInteger, nullable=False),
        sa.Column('starts_at', steps.INSTANT, nullable=False),
        sa.Column('ended_at', steps.INSTANT, nullable=False),
        sa.Column('bookings', sa.Integer, nullable=False),
        sa.Column('promised_seconds', sa.BigInteger, nullable=False),
        sa.Column('bound_seconds', sa.BigInteger, nullable=False),
        sa.PrimaryKeyConstraint('reservation_id', 'resource_class',
                                name='pk_lease_usage'),
        indexes={'ix_lease_usage_ended_at': ['ended_at'],
                 'ix_lease_usage_project_id_ended_at': ['project_id',
                                                        'ended_at']})


def _number_for_good():
    # NOTE: a node that is enrolled again must not come to a generation that
    # an old plan may name, so that a new one begins far above all others.
    with steps.alter_table('nodes') as nodes:
        nodes.alter_column('generation', type_=sa.BigInteger())
    for table in ('nodes', 'reservations', 'passages', 'holds'):
        steps.never_use_ids_again(table)


def _one_word_for_whole_nodes():
    # NOTE: code from before 0006 writes '1' where this code writes 'node',
    # and two holds of one node did not collide. It is refused from here on,
    # and what it has written meanwhile is taken back or given the new word.
    steps.execute(
        "UPDATE holds SET state = 'releasing', live = NULL, "
        "generation = generation + 1 WHERE live = '1' AND node_uuid IN "
        '(SELECT node_uuid FROM (SELECT node_uuid FROM holds '
        "WHERE live = 'node') AS whole)")
    steps.execute("UPDATE holds SET live = 'node' WHERE live = '1'")
    with steps.alter_table('holds') as holds:
        holds.check('ck_holds_live', "live <> '1'")


def downgrade():
    with steps.alter_table('holds') as holds:
        holds.drop_check('ck_holds_live')
    # NOTE: rows keep being numbered for good: that harms no release.
    steps.execute('UPDATE nodes SET generation = generation % 1073741824 '
                  'WHERE generation >= 1073741824')
    with steps.alter_table('nodes') as nodes:
        nodes.alter_column('generation', type_=sa.Integer(),
                           postgresql_using='generation::integer')
    steps.drop_table('lease_usage')
    with steps.alter_table('leases') as leases:
        leases.drop_index('ix_leases_project_id_status')
        leases.drop_index('ix_leases_status_updated_at')
