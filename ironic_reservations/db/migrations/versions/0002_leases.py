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

"""Leases, the hosts that they are on, and their place on the timeline

Revision ID: 0002
Revises: 0001
"""

import sqlalchemy as sa

from ironic_reservations.db.migrations import steps

revision = '0002'
down_revision = '0001'


def upgrade():
    _create_hosts()
    _create_leases()
    with steps.alter_table('nodes') as nodes:
        nodes.add_column(sa.Column('properties', sa.Text))
        nodes.add_column(sa.Column('revision', sa.Integer, nullable=False,
                                   server_default='0'))
    with steps.alter_table('reservations') as reservations:
        reservations.alter_column('instance_uuid', nullable=True)
        reservations.add_column(sa.Column('starts_at', steps.INSTANT))
        reservations.add_column(
            sa.Column('lease_reservation_id', sa.String(36)))
        reservations.add_column(sa.Column('place', sa.Integer))
        reservations.add_column(sa.Column('lessee', sa.String(255)))
        reservations.add_column(sa.Column('lessee_before', sa.String(255)))
        reservations.unique(
            'uq_reservations_lease_reservation_id_place',
            ['lease_reservation_id', 'place'])
        reservations.foreign_key(
            'fk_reservations_lease_reservation_id', ['lease_reservation_id'],
            'lease_reservations', ['id'])
        reservations.index('ix_reservations_state_starts_at',
                                  ['state', 'starts_at'])


def _create_hosts():
    steps.create_table(
        'hosts',
        sa.Column('id', sa.Integer, nullable=False),
        sa.Column('node_uuid', sa.String(36), nullable=False),
        sa.Column('reservable', sa.Boolean, nullable=False),
        sa.Column('created_at', steps.INSTANT, nullable=False),
        sa.Column('updated_at', steps.INSTANT),
        sa.PrimaryKeyConstraint('id', name='pk_hosts'),
        sa.UniqueConstraint('node_uuid', name='uq_hosts_node_uuid'),
        sa.ForeignKeyConstraint(['node_uuid'], ['nodes.uuid'],
                                name='fk_hosts_node_uuid'),
        autoincrement=True)
    steps.create_table(
        'host_capabilities',
        sa.Column('host_id', sa.Integer, nullable=False),
        sa.Column('name', sa.String(64), nullable=False),
        sa.Column('value', sa.Text, nullable=False),
        sa.PrimaryKeyConstraint('host_id', 'name',
                                name='pk_host_capabilities'),
        sa.ForeignKeyConstraint(['host_id'], ['hosts.id'],
                                name='fk_host_capabilities_host_id',
                                ondelete='CASCADE'))
    steps.create_table(
        'capabilities',
        sa.Column('name', sa.String(64), nullable=False),
        sa.Column('id', sa.String(36), nullable=False),
        sa.Column('private', sa.Boolean, nullable=False),
        sa.Column('created_at', steps.INSTANT, nullable=False),
        sa.Column('updated_at', steps.INSTANT),
        sa.PrimaryKeyConstraint('name', name='pk_capabilities'),
        sa.UniqueConstraint('id', name='uq_capabilities_id'))


def _create_leases():
    steps.create_table(
        'leases',
        sa.Column('id', sa.String(36), nullable=False),
        sa.Column('generation', sa.Integer, nullable=False),
        sa.Column('name', sa.String(80), nullable=False),
        sa.Column('project_id', sa.String(255)),
        sa.Column('user_id', sa.String(255)),
        sa.Column('starts_at', steps.INSTANT, nullable=False),
        sa.Column('ends_at', steps.INSTANT, nullable=False),
        sa.Column('before_end_at', steps.INSTANT),
        sa.Column('status', sa.String(16), nullable=False),
        sa.Column('degraded', sa.Boolean, nullable=False),
        sa.Column('waiting', sa.Text),
        sa.Column('created_at', steps.INSTANT, nullable=False),
        sa.Column('updated_at', steps.INSTANT),
        sa.Column('request_key', sa.String(64)),
        sa.Column('request_digest', sa.String(64)),
        sa.Column('due_at', steps.INSTANT),
        sa.Column('attempts', sa.Integer, nullable=False),
        sa.Column('claimed_by', sa.String(255)),
        sa.Column('claimed_until', steps.INSTANT),
        sa.PrimaryKeyConstraint('id', name='pk_leases'),
        sa.UniqueConstraint('request_key', name='uq_leases_request_key'))
    steps.create_index('ix_leases_created_at_id', 'leases',
                    ['created_at', 'id'])
    steps.create_index('ix_leases_project_id_created_at', 'leases',
                    ['project_id', 'created_at'])
    steps.create_index('ix_leases_due_at', 'leases', ['due_at'])
    steps.create_table(
        'lease_reservations',
        sa.Column('id', sa.String(36), nullable=False),
        sa.Column('lease_id', sa.String(36), nullable=False),
        sa.Column('place', sa.Integer, nullable=False),
        sa.Column('resource_type', sa.String(32), nullable=False),
        sa.Column('resource_id', sa.String(36), nullable=False),
        sa.Column('status', sa.String(16), nullable=False),
        sa.Column('least', sa.Integer, nullable=False),
        sa.Column('most', sa.Integer, nullable=False),
        sa.Column('hypervisor_properties', sa.Text, nullable=False),
        sa.Column('resource_properties', sa.Text, nullable=False),
        sa.Column('before_end', sa.String(32), nullable=False),
        sa.Column('missing_resources', sa.Boolean, nullable=False),
        sa.Column('resources_changed', sa.Boolean, nullable=False),
        sa.Column('created_at', steps.INSTANT, nullable=False),
        sa.Column('updated_at', steps.INSTANT),
        sa.PrimaryKeyConstraint('id', name='pk_lease_reservations'),
        sa.ForeignKeyConstraint(['lease_id'], ['leases.id'],
                                name='fk_lease_reservations_lease_id',
                                ondelete='CASCADE'))
    steps.create_index('ix_lease_reservations_lease_id', 'lease_reservations',
                    ['lease_id'])
    steps.create_table(
        'lease_events',
        sa.Column('id', sa.String(36), nullable=False),
        sa.Column('lease_id', sa.String(36), nullable=False),
        sa.Column('event_type', sa.String(32), nullable=False),
        sa.Column('time', steps.INSTANT, nullable=False),
        sa.Column('status', sa.String(16), nullable=False),
        sa.Column('created_at', steps.INSTANT, nullable=False),
        sa.Column('updated_at', steps.INSTANT),
        sa.PrimaryKeyConstraint('id', name='pk_lease_events'),
        sa.UniqueConstraint('lease_id', 'event_type',
                            name='uq_lease_events_lease_id_event_type'),
        sa.ForeignKeyConstraint(['lease_id'], ['leases.id'],
                                name='fk_lease_events_lease_id',
                                ondelete='CASCADE'))


def downgrade():
    # NOTE: what is promised to leases has no place in the older tables;
    # db.migrate asks before rows are lost.
    if steps.has_column('reservations', 'lease_reservation_id'):
        steps.execute('DELETE FROM reservations '
                      'WHERE lease_reservation_id IS NOT NULL')
    with steps.alter_table('reservations') as reservations:
        reservations.drop_index('ix_reservations_state_starts_at')
        reservations.drop_foreign_key('fk_reservations_lease_reservation_id')
        reservations.drop_unique('uq_reservations_lease_reservation_id_place')
        for name in ('lessee_before', 'lessee', 'place',
                     'lease_reservation_id', 'starts_at'):
            reservations.drop_column(name)
        reservations.alter_column('instance_uuid', nullable=False)
    with steps.alter_table('nodes') as nodes:
        nodes.drop_column('revision')
        nodes.drop_column('properties')
    for name in ('lease_events', 'lease_reservations', 'leases',
                 'capabilities', 'host_capabilities', 'hosts'):
        steps.drop_table(name)
