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

"""The tables of the first release

Revision ID: 0001
Revises: (none)
"""

import sqlalchemy as sa

from ironic_reservations.db.migrations import steps

revision = '0001'
down_revision = None

#: In the order in which they are created.
_TABLES = (
    'nodes', 'changes', 'node_traits', 'hosts', 'host_capabilities',
    'capabilities', 'leases', 'lease_reservations', 'lease_events',
    'instance_reservations', 'maintenance_windows', 'maintenance_nodes',
    'reservations', 'histories', 'in_flight_requests', 'handovers', 'claims',
    'lease_usage', 'usage_periods', 'usable_bookings', 'observations', 'holds',
    'providers_seen', 'placement_drift', 'calendar_tokens', 'outbox',
    'enforcement_terms')


def upgrade():
    _create_nodes()
    _create_hosts()
    _create_leases()
    _create_maintenance()
    _create_bookings()
    _create_usage()
    _create_placement()
    _create_notices()


def _create_nodes():
    steps.create_table(
        'nodes',
        sa.Column('id', sa.Integer, primary_key=True),
        sa.Column('uuid', sa.String(36), nullable=False, unique=True),
        sa.Column('generation', sa.BigInteger, nullable=False),
        sa.Column('name', sa.String(255)),
        sa.Column('resource_class', sa.String(80)),
        sa.Column('provision_state', sa.String(15)),
        sa.Column('instance_uuid', sa.String(36)),
        sa.Column('maintenance', sa.Boolean, nullable=False),
        sa.Column('retired', sa.Boolean, nullable=False),
        sa.Column('reservable', sa.Boolean, nullable=False),
        sa.Column('parent_node', sa.String(36)),
        sa.Column('owner', sa.String(255)),
        sa.Column('lessee', sa.String(255)),
        sa.Column('properties', sa.Text),
        sa.Column('inventories', sa.Text),
        sa.Column('enrolled_at', sa.String(64)),
        sa.Column('observed_at', steps.INSTANT, nullable=False),
        sa.Column('revision', sa.BigInteger,
                  nullable=False, server_default='0'),
        sa.Column('let_through', sa.String(36)),
        indexes=[['resource_class', 'provision_state'], ['parent_node']],
        autoincrement=True)
    steps.create_table(
        'changes',
        sa.Column('seq', steps.BIG, primary_key=True),
        sa.Column('node_uuid', sa.String(36)),
        sa.Column('generation', sa.BigInteger),
        sa.Column('change_id', sa.String(36), unique=True),
        autoincrement=True)
    steps.create_table(
        'node_traits',
        sa.Column('node_uuid', sa.String(36),
                  sa.ForeignKey('nodes.uuid', ondelete='CASCADE'),
                  primary_key=True),
        sa.Column('trait', sa.String(255), primary_key=True))


def _create_hosts():
    steps.create_table(
        'hosts',
        sa.Column('id', sa.Integer, primary_key=True),
        sa.Column('node_uuid', sa.String(36),
                  sa.ForeignKey('nodes.uuid'), nullable=False, unique=True),
        sa.Column('reservable', sa.Boolean, nullable=False),
        sa.Column('created_at', steps.INSTANT, nullable=False),
        sa.Column('updated_at', steps.INSTANT),
        sa.Column('excluded', sa.Boolean,
                  nullable=False, server_default=sa.false()),
        autoincrement=True)
    steps.create_table(
        'host_capabilities',
        sa.Column('host_id', sa.Integer,
                  sa.ForeignKey('hosts.id', ondelete='CASCADE'),
                  primary_key=True),
        sa.Column('name', sa.String(64), primary_key=True),
        sa.Column('value', sa.Text, nullable=False))
    steps.create_table(
        'capabilities',
        sa.Column('name', sa.String(64), primary_key=True),
        sa.Column('id', sa.String(36), nullable=False, unique=True),
        sa.Column('private', sa.Boolean, nullable=False),
        sa.Column('created_at', steps.INSTANT, nullable=False),
        sa.Column('updated_at', steps.INSTANT))


def _create_leases():
    steps.create_table(
        'leases',
        sa.Column('id', sa.String(36), primary_key=True),
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
        sa.Column('request_key', sa.String(64), unique=True),
        sa.Column('request_digest', sa.String(64)),
        sa.Column('due_at', steps.INSTANT),
        sa.Column('attempts', sa.Integer, nullable=False),
        sa.Column('claimed_by', sa.String(255)),
        sa.Column('claimed_until', steps.INSTANT),
        sa.Column('between_from', steps.INSTANT),
        sa.Column('between_until', steps.INSTANT),
        sa.Column('fix_before', sa.Integer),
        sa.Column('fix_at', steps.INSTANT),
        sa.Column('wanted_start', steps.INSTANT),
        sa.Column('promised_start', steps.INSTANT),
        sa.Column('priority', sa.Integer),
        sa.Column('extensions', sa.Integer),
        indexes=[
            ['created_at', 'id'], ['due_at'], ['fix_at'],
            ['project_id', 'created_at'],
            ['project_id', 'status', 'created_at', 'id'],
            ['status', 'created_at', 'id'], ['status', 'promised_start'],
            ['status', 'updated_at']])
    steps.create_table(
        'lease_reservations',
        sa.Column('id', sa.String(36), primary_key=True),
        sa.Column('lease_id', sa.String(36),
                  sa.ForeignKey('leases.id', ondelete='CASCADE'),
                  nullable=False),
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
        indexes=[['lease_id']])
    steps.create_table(
        'lease_events',
        sa.Column('id', sa.String(36), primary_key=True),
        sa.Column('lease_id', sa.String(36),
                  sa.ForeignKey('leases.id', ondelete='CASCADE'),
                  nullable=False),
        sa.Column('event_type', sa.String(32), nullable=False),
        sa.Column('time', steps.INSTANT, nullable=False),
        sa.Column('status', sa.String(16), nullable=False),
        sa.Column('created_at', steps.INSTANT, nullable=False),
        sa.Column('updated_at', steps.INSTANT),
        sa.UniqueConstraint('lease_id', 'event_type'))
    steps.create_table(
        'instance_reservations',
        sa.Column('id', sa.String(36), primary_key=True),
        sa.Column('reservation_id', sa.String(36),
                  sa.ForeignKey('lease_reservations.id', ondelete='CASCADE'),
                  nullable=False, unique=True),
        sa.Column('vcpus', sa.Integer, nullable=False),
        sa.Column('memory_mb', sa.Integer, nullable=False),
        sa.Column('disk_gb', sa.Integer, nullable=False),
        sa.Column('amount', sa.Integer, nullable=False),
        sa.Column('affinity', sa.Boolean),
        sa.Column('flavor_id', sa.String(36)),
        sa.Column('aggregate_id', sa.Integer),
        sa.Column('server_group_id', sa.String(36)),
        sa.Column('source_flavor_id', sa.String(255)),
        sa.Column('request', sa.Text))


def _create_maintenance():
    steps.create_table(
        'maintenance_windows',
        sa.Column('id', sa.String(36), primary_key=True),
        sa.Column('name', sa.String(80), nullable=False),
        sa.Column('reason', sa.Text, nullable=False),
        sa.Column('starts_at', steps.INSTANT, nullable=False),
        sa.Column('ends_at', steps.INSTANT, nullable=False),
        sa.Column('drain', sa.Boolean, nullable=False),
        sa.Column('project_id', sa.String(255)),
        sa.Column('user_id', sa.String(255)),
        sa.Column('created_at', steps.INSTANT, nullable=False),
        sa.Column('updated_at', steps.INSTANT),
        indexes=[['ends_at'], ['updated_at']])
    steps.create_table(
        'maintenance_nodes',
        sa.Column('window_id', sa.String(36),
                  sa.ForeignKey('maintenance_windows.id', ondelete='CASCADE'),
                  primary_key=True),
        sa.Column('node_uuid', sa.String(36),
                  sa.ForeignKey('nodes.uuid', ondelete='CASCADE'),
                  primary_key=True),
        sa.Column('place', sa.Integer, nullable=False),
        sa.Column('starts_at', steps.INSTANT, nullable=False),
        sa.Column('ends_at', steps.INSTANT, nullable=False),
        indexes=[['node_uuid']])


def _create_bookings():
    steps.create_table(
        'reservations',
        sa.Column('id', sa.Integer, primary_key=True),
        sa.Column('uuid', sa.String(36), nullable=False, unique=True),
        sa.Column('node_uuid', sa.String(36),
                  sa.ForeignKey('nodes.uuid'), nullable=False),
        sa.Column('instance_uuid', sa.String(36)),
        sa.Column('created_at', steps.INSTANT, nullable=False),
        sa.Column('updated_at', steps.INSTANT),
        sa.Column('starts_at', steps.INSTANT),
        sa.Column('expires_at', steps.INSTANT, nullable=False),
        sa.Column('state', sa.String(16), nullable=False),
        sa.Column('project_id', sa.String(255)),
        sa.Column('user_id', sa.String(255)),
        sa.Column('lease_reservation_id', sa.String(36),
                  sa.ForeignKey('lease_reservations.id')),
        sa.Column('place', sa.Integer),
        sa.Column('window_id', sa.String(36),
                  sa.ForeignKey('maintenance_windows.id')),
        sa.Column('lessee', sa.String(255)),
        sa.Column('lessee_before', sa.String(255)),
        sa.Column('bound_at', steps.INSTANT),
        sa.Column('warned_at', steps.INSTANT),
        sa.Column('acted', sa.Boolean,
                  nullable=False, server_default=sa.false()),
        sa.Column('immediate', sa.SmallInteger),
        sa.UniqueConstraint('node_uuid', 'immediate'),
        sa.UniqueConstraint('instance_uuid', 'immediate'),
        sa.UniqueConstraint('lease_reservation_id', 'place'),
        sa.UniqueConstraint('window_id', 'node_uuid'),
        indexes=[
            ['expires_at'], ['lessee'],
            ['node_uuid', 'immediate', 'state', 'starts_at'], ['project_id'],
            ['state', 'starts_at']],
        autoincrement=True)
    steps.create_table(
        'histories',
        sa.Column('id', sa.Integer, primary_key=True, autoincrement=False),
        sa.Column('generation', sa.BigInteger, nullable=False),
        sa.Column('server', sa.String(80), nullable=False),
        sa.Column('uncertain_until', steps.INSTANT))
    steps.create_table(
        'in_flight_requests',
        sa.Column('id', sa.Integer, primary_key=True),
        sa.Column('node_uuid', sa.String(36),
                  sa.ForeignKey('nodes.uuid', ondelete='CASCADE'),
                  nullable=False),
        sa.Column('reservation_uuid', sa.String(36)),
        sa.Column('instance_uuid', sa.String(36)),
        sa.Column('expires_at', steps.INSTANT, nullable=False),
        sa.Column('token', sa.String(36), nullable=False, unique=True),
        sa.Column('state', sa.String(16), nullable=False),
        sa.Column('act', sa.String(32)),
        sa.Column('lease_id', sa.String(36)),
        sa.Column('seen', sa.String(64)),
        sa.Column('seen_at', steps.INSTANT),
        indexes=[['lease_id'], ['node_uuid']],
        autoincrement=True)
    steps.create_table(
        'handovers',
        sa.Column('node_uuid', sa.String(36),
                  sa.ForeignKey('nodes.uuid', ondelete='CASCADE'),
                  primary_key=True),
        sa.Column('holder', sa.String(36), nullable=False),
        sa.Column('document', steps.LONG_TEXT),
        sa.Column('acts', sa.Text, nullable=False),
        sa.Column('unanswered', steps.LONG_TEXT, nullable=False),
        sa.Column('dirty', sa.Boolean, nullable=False),
        sa.Column('settles_at', steps.INSTANT, nullable=False),
        sa.Column('settled', sa.Boolean, nullable=False),
        sa.Column('phase', sa.String(16), nullable=False))
    steps.create_table(
        'claims',
        sa.Column('name', sa.String(64), primary_key=True),
        sa.Column('owner', sa.String(255), nullable=False),
        sa.Column('expires_at', steps.INSTANT, nullable=False),
        indexes=[['expires_at']])


def _create_usage():
    steps.create_table(
        'lease_usage',
        sa.Column('reservation_id', sa.String(36), primary_key=True),
        sa.Column('resource_class', sa.String(255), primary_key=True),
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
        indexes=[['ended_at'], ['project_id', 'ended_at']])
    steps.create_table(
        'usage_periods',
        sa.Column('id', sa.Integer, primary_key=True),
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
        sa.UniqueConstraint('booking_uuid', 'running'),
        indexes=[
            ['ended_at'], ['lease_id'], ['project_id', 'ended_at'],
            ['running']],
        autoincrement=True)
    steps.create_table(
        'usable_bookings',
        sa.Column('booking_uuid', sa.String(36), primary_key=True),
        sa.Column('since', steps.INSTANT, nullable=False))
    steps.create_table(
        'observations',
        sa.Column('name', sa.String(32), primary_key=True),
        sa.Column('since', steps.INSTANT, nullable=False),
        sa.Column('looked_at', steps.INSTANT, nullable=False))


def _create_placement():
    steps.create_table(
        'holds',
        sa.Column('id', sa.Integer, primary_key=True),
        sa.Column('generation', sa.Integer, nullable=False),
        sa.Column('consumer_uuid', sa.String(36), nullable=False, unique=True),
        sa.Column('node_uuid', sa.String(36), nullable=False),
        sa.Column('owner', sa.String(36), nullable=False),
        sa.Column('resources', sa.Text, nullable=False),
        sa.Column('exclusive', sa.Boolean, nullable=False),
        sa.Column('project_id', sa.String(255), nullable=False),
        sa.Column('user_id', sa.String(255), nullable=False),
        sa.Column('instance_uuid', sa.String(36)),
        sa.Column('state', sa.String(16), nullable=False),
        sa.Column('confirmed', sa.Boolean, nullable=False),
        sa.Column('created_at', steps.INSTANT, nullable=False),
        sa.Column('updated_at', steps.INSTANT),
        sa.Column('deadline', steps.INSTANT, nullable=False),
        sa.Column('live', sa.String(36)),
        sa.UniqueConstraint('node_uuid', 'live'),
        indexes=[['owner'], ['state', 'deadline']],
        autoincrement=True)
    steps.create_table(
        'providers_seen',
        sa.Column('provider_uuid', sa.String(36), primary_key=True),
        sa.Column('generation', sa.Integer, nullable=False),
        sa.Column('kind', sa.String(32), nullable=False),
        sa.Column('fingerprint', sa.String(36)),
        sa.Column('seen_at', steps.INSTANT, nullable=False))
    steps.create_table(
        'placement_drift',
        sa.Column('kind', sa.String(32), primary_key=True),
        sa.Column('found', sa.Integer, nullable=False),
        sa.Column('remaining', sa.Integer, nullable=False),
        sa.Column('audited_at', steps.INSTANT, nullable=False))


def _create_notices():
    steps.create_table(
        'calendar_tokens',
        sa.Column('digest', sa.String(64), primary_key=True),
        sa.Column('owner', sa.String(64), nullable=False, unique=True),
        sa.Column('user_id', sa.String(255), nullable=False),
        sa.Column('project_id', sa.String(255), nullable=False),
        sa.Column('roles', sa.Text, nullable=False),
        sa.Column('created_at', steps.INSTANT, nullable=False),
        sa.Column('fingerprint', sa.String(64)))
    steps.create_table(
        'outbox',
        sa.Column('id', sa.String(36), primary_key=True),
        sa.Column('notice_id', sa.String(36), nullable=False),
        sa.Column('channel', sa.String(16), nullable=False),
        sa.Column('target', sa.String(64), nullable=False),
        sa.Column('kind', sa.String(32), nullable=False),
        sa.Column('lease_id', sa.String(36), nullable=False),
        sa.Column('project_id', sa.String(255)),
        sa.Column('user_id', sa.String(255)),
        sa.Column('payload', sa.Text, nullable=False),
        sa.Column('created_at', steps.INSTANT, nullable=False),
        sa.Column('due_at', steps.INSTANT),
        sa.Column('attempts', sa.Integer, nullable=False),
        sa.Column('claimed_by', sa.String(36)),
        sa.Column('claimed_until', steps.INSTANT),
        sa.Column('done_at', steps.INSTANT),
        sa.Column('outcome', sa.String(16)),
        sa.Column('complaint', sa.Text),
        sa.Column('sequence', sa.Integer),
        indexes=[
            ['channel', 'target', 'due_at'], ['done_at'],
            ['due_at', 'created_at'], ['lease_id', 'sequence'], ['notice_id'],
            ['outcome', 'channel', 'target', 'done_at']])
    steps.create_table(
        'enforcement_terms',
        sa.Column('lease_id', sa.String(36), primary_key=True),
        sa.Column('project_id', sa.String(255)),
        sa.Column('user_id', sa.String(255)),
        sa.Column('sequence', sa.Integer, nullable=False),
        sa.Column('terms', sa.Text, nullable=False))


def downgrade():
    for name in reversed(_TABLES):
        steps.drop_table(name)
