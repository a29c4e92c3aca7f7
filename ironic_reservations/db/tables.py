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

"""The tables. Each change of a table has a migration.

``nodes`` mirrors Ironic, except for ``generation``, which is raised with each
change of the node's bookings: of two transactions planned on the same
snapshot, exactly one commits.
"""

from __future__ import annotations

import datetime
from typing import Any

import sqlalchemy as sa
from sqlalchemy.dialects import mysql

metadata = sa.MetaData(naming_convention={
    'pk': 'pk_%(table_name)s',
    'fk': 'fk_%(table_name)s_%(column_0_name)s',
    'ix': 'ix_%(table_name)s_%(column_0_N_name)s',
    'uq': 'uq_%(table_name)s_%(column_0_N_name)s'})


class UTCDateTime(sa.types.TypeDecorator[datetime.datetime]):
    """An instant: zone-aware in Python, in UTC with microseconds in rows."""

    impl = sa.DateTime
    cache_ok = True

    def load_dialect_impl(self, dialect: sa.Dialect) -> Any:
        """Keep microseconds on MariaDB, which truncates them by default."""
        if dialect.name in ('mysql', 'mariadb'):
            return dialect.type_descriptor(mysql.DATETIME(fsp=6))
        return dialect.type_descriptor(sa.DateTime())

    def process_bind_param(self, value: datetime.datetime | None,
                           dialect: sa.Dialect) -> datetime.datetime | None:
        """Convert to UTC; raise ValueError for a time without a zone."""
        if value is None:
            return None
        if value.tzinfo is None:
            raise ValueError(f'{value} has no time zone')
        return value.astimezone(datetime.UTC).replace(tzinfo=None)

    def process_result_value(self, value: datetime.datetime | None,
                             dialect: sa.Dialect) -> datetime.datetime | None:
        """Return the time with its zone."""
        if value is None:
            return None
        return value.replace(tzinfo=datetime.UTC)


def _table(name: str, *items: sa.schema.SchemaItem,
           **options: Any) -> sa.Table:
    # Without this collation "gold" and "GOLD" would be equal, unlike on the
    # other databases.
    return sa.Table(name, metadata, *items, mysql_engine='InnoDB',
                    mysql_charset='utf8mb4', mysql_collate='utf8mb4_bin',
                    **options)


nodes = _table(
    'nodes',
    sa.Column('id', sa.Integer, primary_key=True),
    sa.Column('uuid', sa.String(36), nullable=False, unique=True),
    # Random, and never repeated for a uuid: see generations.
    sa.Column('generation', sa.BigInteger, nullable=False),
    sa.Column('name', sa.String(255)),
    sa.Column('resource_class', sa.String(80)),
    sa.Column('provision_state', sa.String(15)),
    sa.Column('instance_uuid', sa.String(36)),
    sa.Column('maintenance', sa.Boolean, nullable=False),
    sa.Column('retired', sa.Boolean, nullable=False),
    sa.Column('reservable', sa.Boolean, nullable=False),
    # The node whose power it shares.
    sa.Column('parent_node', sa.String(36)),
    sa.Column('owner', sa.String(255)),
    sa.Column('lessee', sa.String(255)),
    sa.Column('properties', sa.Text),
    # NULL for a node of Ironic, set for a compute host.
    sa.Column('inventories', sa.Text),
    # As Ironic returns it; only compared for equality.
    sa.Column('enrolled_at', sa.String(64)),
    sa.Column('observed_at', UTCDateTime, nullable=False),
    # Raised with the mirrored columns, so that a sum shows a process
    # which rows it has to read again.
    sa.Column('revision', sa.BigInteger, nullable=False, server_default='0'),
    # The token of the last request that was let through.
    sa.Column('let_through', sa.String(36)),
    sa.Index(None, 'resource_class', 'provision_state'),
    sa.Index(None, 'parent_node'),
    sqlite_autoincrement=True)

#: Which nodes have changed, for processes that cache their bookings; and which
#: requests have been committed.
changes = _table(
    'changes',
    sa.Column('seq', sa.BigInteger().with_variant(sa.Integer(), 'sqlite'),
              primary_key=True),
    # NULL for a request that changed no node.
    sa.Column('node_uuid', sa.String(36)),
    # NULL if the node's bookings have not changed, but other data of it.
    sa.Column('generation', sa.BigInteger),
    # The id of the request, in one of the rows that it wrote.
    sa.Column('change_id', sa.String(36), unique=True),
    sqlite_autoincrement=True)

node_traits = _table(
    'node_traits',
    sa.Column('node_uuid', sa.String(36),
              sa.ForeignKey('nodes.uuid', ondelete='CASCADE'),
              primary_key=True),
    sa.Column('trait', sa.String(255), primary_key=True))

reservations = _table(
    'reservations',
    sa.Column('id', sa.Integer, primary_key=True),
    sa.Column('uuid', sa.String(36), nullable=False, unique=True),
    sa.Column('node_uuid', sa.String(36), sa.ForeignKey('nodes.uuid'),
              nullable=False),
    # NULL for a node that is promised to a lease, or in a window.
    sa.Column('instance_uuid', sa.String(36)),
    sa.Column('created_at', UTCDateTime, nullable=False),
    sa.Column('updated_at', UTCDateTime),
    # NULL for a reservation, which starts when it is made.
    sa.Column('starts_at', UTCDateTime),
    sa.Column('expires_at', UTCDateTime, nullable=False),
    sa.Column('state', sa.String(16), nullable=False),
    sa.Column('project_id', sa.String(255)),
    sa.Column('user_id', sa.String(255)),
    sa.Column('lease_reservation_id', sa.String(36),
              sa.ForeignKey('lease_reservations.id')),
    sa.Column('place', sa.Integer),
    # Only for a node in a maintenance window.
    sa.Column('window_id', sa.String(36),
              sa.ForeignKey('maintenance_windows.id')),
    sa.Column('lessee', sa.String(255)),
    sa.Column('lessee_before', sa.String(255)),
    # When the lease got the node, and when its owner was warned that the
    # unused node is released. NULL if that has not happened.
    sa.Column('bound_at', UTCDateTime),
    sa.Column('warned_at', UTCDateTime),
    # Whether the holder of a reservation has acted on the node, which then
    # has to be restored before the reservation ends.
    sa.Column('acted', sa.Boolean, nullable=False,
              server_default=sa.false()),
    # 1 for a reservation; NULL for a booking of a lease or for a window,
    # since a node may have many: unique constraints ignore NULLs.
    sa.Column('immediate', sa.SmallInteger),
    sa.UniqueConstraint('node_uuid', 'immediate'),
    sa.UniqueConstraint('instance_uuid', 'immediate'),
    sa.UniqueConstraint('lease_reservation_id', 'place'),
    sa.UniqueConstraint('window_id', 'node_uuid'),
    sa.Index(None, 'project_id'),
    sa.Index(None, 'expires_at'),
    # Few rows have their node now, compared with future bookings.
    sa.Index(None, 'state', 'starts_at'),
    # Without these MariaDB reads all bookings of each node that might be
    # picked.
    sa.Index(None, 'node_uuid', 'immediate', 'state', 'starts_at'),
    sa.Index(None, 'lessee'),
    sqlite_autoincrement=True)

#: Nodes that an operator has opened to leases.
hosts = _table(
    'hosts',
    sa.Column('id', sa.Integer, primary_key=True),
    sa.Column('node_uuid', sa.String(36), sa.ForeignKey('nodes.uuid'),
              nullable=False, unique=True),
    sa.Column('reservable', sa.Boolean, nullable=False),
    sa.Column('created_at', UTCDateTime, nullable=False),
    sa.Column('updated_at', UTCDateTime),
    # Whether the configuration closes the host.
    sa.Column('excluded', sa.Boolean, nullable=False,
              server_default=sa.false()),
    sqlite_autoincrement=True)

#: Capabilities of hosts that an operator has set.
host_capabilities = _table(
    'host_capabilities',
    sa.Column('host_id', sa.Integer,
              sa.ForeignKey('hosts.id', ondelete='CASCADE'),
              primary_key=True),
    sa.Column('name', sa.String(64), primary_key=True),
    sa.Column('value', sa.Text, nullable=False))

#: The names of these capabilities, and whether they are private.
capabilities = _table(
    'capabilities',
    sa.Column('name', sa.String(64), primary_key=True),
    sa.Column('id', sa.String(36), nullable=False, unique=True),
    sa.Column('private', sa.Boolean, nullable=False),
    sa.Column('created_at', UTCDateTime, nullable=False),
    sa.Column('updated_at', UTCDateTime))

leases = _table(
    'leases',
    sa.Column('id', sa.String(36), primary_key=True),
    sa.Column('generation', sa.Integer, nullable=False),
    sa.Column('name', sa.String(80), nullable=False),
    sa.Column('project_id', sa.String(255)),
    sa.Column('user_id', sa.String(255)),
    sa.Column('starts_at', UTCDateTime, nullable=False),
    sa.Column('ends_at', UTCDateTime, nullable=False),
    sa.Column('before_end_at', UTCDateTime),
    sa.Column('status', sa.String(16), nullable=False),
    sa.Column('degraded', sa.Boolean, nullable=False),
    sa.Column('waiting', sa.Text),
    sa.Column('created_at', UTCDateTime, nullable=False),
    sa.Column('updated_at', UTCDateTime),
    # Digests of the client's idempotency key (with the project) and of
    # the request, so that a repeated request is served once. They are in this
    # row so that they last as long as the lease without another statement.
    sa.Column('request_key', sa.String(64), unique=True),
    sa.Column('request_digest', sa.String(64)),
    # The time when the reconciler has to work on the lease, NULL for never;
    # and the process that works on it, and until when.
    sa.Column('due_at', UTCDateTime),
    sa.Column('attempts', sa.Integer, nullable=False),
    sa.Column('claimed_by', sa.String(255)),
    sa.Column('claimed_until', UTCDateTime),
    # The window of open dates, and when they are fixed; NULL if the
    # owner has set the dates. fix_at is NULL once they are fixed.
    sa.Column('between_from', UTCDateTime),
    sa.Column('between_until', UTCDateTime),
    sa.Column('fix_before', sa.Integer),
    sa.Column('fix_at', UTCDateTime),
    # For a queued lease, which waits for an earlier start.
    sa.Column('wanted_start', UTCDateTime),
    sa.Column('promised_start', UTCDateTime),
    sa.Column('priority', sa.Integer),
    # The number of extensions since its start; NULL for none.
    sa.Column('extensions', sa.Integer),
    sa.Index(None, 'created_at', 'id'),
    sa.Index(None, 'status', 'promised_start'),
    sa.Index(None, 'project_id', 'created_at'),
    sa.Index(None, 'fix_at'),
    sa.Index(None, 'due_at'),
    # Few leases are live, compared with past leases.
    sa.Index(None, 'status', 'updated_at'),
    # For lists, which show leases by the time at which they were made.
    sa.Index(None, 'status', 'created_at', 'id'),
    sa.Index(None, 'project_id', 'status', 'created_at', 'id'))

lease_reservations = _table(
    'lease_reservations',
    sa.Column('id', sa.String(36), primary_key=True),
    sa.Column('lease_id', sa.String(36),
              sa.ForeignKey('leases.id', ondelete='CASCADE'),
              nullable=False, index=True),
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
    sa.Column('created_at', UTCDateTime, nullable=False),
    sa.Column('updated_at', UTCDateTime))

lease_events = _table(
    'lease_events',
    sa.Column('id', sa.String(36), primary_key=True),
    sa.Column('lease_id', sa.String(36),
              sa.ForeignKey('leases.id', ondelete='CASCADE'),
              nullable=False),
    sa.Column('event_type', sa.String(32), nullable=False),
    sa.Column('time', UTCDateTime, nullable=False),
    sa.Column('status', sa.String(16), nullable=False),
    sa.Column('created_at', UTCDateTime, nullable=False),
    sa.Column('updated_at', UTCDateTime),
    sa.UniqueConstraint('lease_id', 'event_type'))

#: The requirements of instance reservations.
instance_reservations = _table(
    'instance_reservations',
    sa.Column('id', sa.String(36), primary_key=True),
    sa.Column('reservation_id', sa.String(36),
              sa.ForeignKey('lease_reservations.id', ondelete='CASCADE'),
              nullable=False, unique=True),
    sa.Column('vcpus', sa.Integer, nullable=False),
    sa.Column('memory_mb', sa.Integer, nullable=False),
    sa.Column('disk_gb', sa.Integer, nullable=False),
    sa.Column('amount', sa.Integer, nullable=False),
    # NULL: no affinity, neither true nor false.
    sa.Column('affinity', sa.Boolean),
    # The private flavor of the reservation.
    sa.Column('flavor_id', sa.String(36)),
    sa.Column('aggregate_id', sa.Integer),
    sa.Column('server_group_id', sa.String(36)),
    # The flavor that was requested, and a copy of it, since it may be
    # changed or deleted while the lease lasts.
    sa.Column('source_flavor_id', sa.String(255)),
    sa.Column('request', sa.Text))

#: The totals of leases, kept for good after the leases are deleted.
lease_usage = _table(
    'lease_usage',
    sa.Column('reservation_id', sa.String(36), primary_key=True),
    # A class of Placement for instances; empty for nodes without one.
    sa.Column('resource_class', sa.String(255), primary_key=True),
    sa.Column('lease_id', sa.String(36), nullable=False),
    sa.Column('project_id', sa.String(255)),
    sa.Column('user_id', sa.String(255)),
    sa.Column('resource_type', sa.String(32), nullable=False),
    # The amount of the class for each booking; 1 for a node.
    sa.Column('amount', sa.BigInteger, nullable=False),
    # The start of the first booking, and the end of the last one.
    sa.Column('starts_at', UTCDateTime, nullable=False),
    sa.Column('ended_at', UTCDateTime, nullable=False),
    # The number of hosts or instances; the sum of the durations of their
    # bookings in seconds; and the same sum for started bookings.
    sa.Column('bookings', sa.Integer, nullable=False),
    sa.Column('promised_seconds', sa.BigInteger, nullable=False),
    sa.Column('bound_seconds', sa.BigInteger, nullable=False),
    sa.Index(None, 'ended_at'),
    sa.Index(None, 'project_id', 'ended_at'))

#: The periods in which nodes were promised, bound and deployed.
usage_periods = _table(
    'usage_periods',
    sa.Column('id', sa.Integer, primary_key=True),
    # The booking whose node was deployed; NULL for rows that sum up
    # several bookings.
    sa.Column('booking_uuid', sa.String(36)),
    sa.Column('reservation_id', sa.String(36), nullable=False),
    sa.Column('lease_id', sa.String(36), nullable=False),
    sa.Column('project_id', sa.String(255)),
    # Empty for nodes without one.
    sa.Column('resource_class', sa.String(255), nullable=False),
    sa.Column('kind', sa.String(16), nullable=False),
    sa.Column('starts_at', UTCDateTime, nullable=False),
    # NULL while it lasts.
    sa.Column('ended_at', UTCDateTime),
    sa.Column('hosts', sa.Integer, nullable=False),
    # 1 while it lasts, else NULL: unique constraints ignore NULLs.
    sa.Column('running', sa.SmallInteger),
    sa.UniqueConstraint('booking_uuid', 'running'),
    sa.Index(None, 'running'),
    sa.Index(None, 'ended_at'),
    sa.Index(None, 'project_id', 'ended_at'),
    sa.Index(None, 'lease_id'),
    sqlite_autoincrement=True)

#: Since when unused nodes of leases can be deployed without a break.
usable_bookings = _table(
    'usable_bookings',
    # No foreign key, since the row of a booking that was deleted is
    # found and deleted later.
    sa.Column('booking_uuid', sa.String(36), primary_key=True),
    sa.Column('since', UTCDateTime, nullable=False))

#: Since when a subject has been checked without a break, and the last check.
observations = _table(
    'observations',
    sa.Column('name', sa.String(32), primary_key=True),
    sa.Column('since', UTCDateTime, nullable=False),
    sa.Column('looked_at', UTCDateTime, nullable=False))

#: One row: the history of the timeline that this database has.
histories = _table(
    'histories',
    sa.Column('id', sa.Integer, primary_key=True, autoincrement=False),
    # Random, and raised when another history begins.
    sa.Column('generation', sa.BigInteger, nullable=False),
    # The server that wrote it; empty if servers cannot be distinguished.
    sa.Column('server', sa.String(80), nullable=False),
    # Requests that a lost history let through may reach Ironic until then.
    sa.Column('uncertain_until', UTCDateTime))

#: Requests in flight to Ironic.
in_flight_requests = _table(
    'in_flight_requests',
    sa.Column('id', sa.Integer, primary_key=True),
    sa.Column('node_uuid', sa.String(36),
              sa.ForeignKey('nodes.uuid', ondelete='CASCADE'),
              nullable=False, index=True),
    sa.Column('reservation_uuid', sa.String(36)),
    sa.Column('instance_uuid', sa.String(36)),
    # The latest time for its answer. The node is kept for the request until
    # the row is deleted, even if that is much later.
    sa.Column('expires_at', UTCDateTime, nullable=False),
    # Identifies the request, and is never reused.
    sa.Column('token', sa.String(36), nullable=False, unique=True),
    sa.Column('state', sa.String(16), nullable=False),
    # The act and the lease of a ticket of the reconciler; or "change",
    # if the request does not use the node.
    sa.Column('act', sa.String(32)),
    sa.Column('lease_id', sa.String(36)),
    # The state that Ironic showed first, and when.
    sa.Column('seen', sa.String(64)),
    sa.Column('seen_at', UTCDateTime),
    sa.Index(None, 'lease_id'),
    sqlite_autoincrement=True)

#: The acts of holders on nodes, and the nodes before them.
handovers = _table(
    'handovers',
    sa.Column('node_uuid', sa.String(36),
              sa.ForeignKey('nodes.uuid', ondelete='CASCADE'),
              primary_key=True),
    # The uuid of the booking, whose row is deleted with this one.
    sa.Column('holder', sa.String(36), nullable=False),
    # The fields of a node alone may have 64 KiB each.
    sa.Column('document', sa.Text().with_variant(
        mysql.MEDIUMTEXT(), 'mysql', 'mariadb')),
    sa.Column('acts', sa.Text, nullable=False),
    # The requests whose answers are not known.
    sa.Column('unanswered', sa.Text().with_variant(
        mysql.MEDIUMTEXT(), 'mysql', 'mariadb'), nullable=False),
    sa.Column('dirty', sa.Boolean, nullable=False),
    sa.Column('settles_at', UTCDateTime, nullable=False),
    sa.Column('settled', sa.Boolean, nullable=False),
    sa.Column('phase', sa.String(16), nullable=False))

#: Tasks that one process at a time does for all.
claims = _table(
    'claims',
    sa.Column('name', sa.String(64), primary_key=True),
    sa.Column('owner', sa.String(255), nullable=False),
    sa.Column('expires_at', UTCDateTime, nullable=False),
    sa.Index(None, 'expires_at'))

#: Allocations in Placement that keep other users off promised nodes.
holds = _table(
    'holds',
    sa.Column('id', sa.Integer, primary_key=True),
    sa.Column('generation', sa.Integer, nullable=False),
    sa.Column('consumer_uuid', sa.String(36), nullable=False, unique=True),
    # No foreign keys, since a hold outlives the node and the promise
    # until it has been released.
    sa.Column('node_uuid', sa.String(36), nullable=False),
    sa.Column('owner', sa.String(36), nullable=False),
    # Amounts by class, and whether the hold excludes all other users of the
    # host.
    sa.Column('resources', sa.Text, nullable=False),
    sa.Column('exclusive', sa.Boolean, nullable=False),
    sa.Column('project_id', sa.String(255), nullable=False),
    sa.Column('user_id', sa.String(255), nullable=False),
    sa.Column('instance_uuid', sa.String(36)),
    sa.Column('state', sa.String(16), nullable=False),
    sa.Column('confirmed', sa.Boolean, nullable=False),
    sa.Column('created_at', UTCDateTime, nullable=False),
    sa.Column('updated_at', UTCDateTime),
    sa.Column('deadline', UTCDateTime, nullable=False),
    # "node" for an exclusive hold, else the owner; NULL while it is
    # being released: unique constraints ignore NULLs.
    sa.Column('live', sa.String(36)),
    sa.UniqueConstraint('node_uuid', 'live'),
    sa.Index(None, 'owner'),
    sa.Index(None, 'state', 'deadline'),
    sqlite_autoincrement=True)

#: The states of providers when an audit found them in order.
providers_seen = _table(
    'providers_seen',
    sa.Column('provider_uuid', sa.String(36), primary_key=True),
    sa.Column('generation', sa.Integer, nullable=False),
    sa.Column('kind', sa.String(32), nullable=False),
    # Of all values that an audit compares it with; NULL: unknown.
    sa.Column('fingerprint', sa.String(36)),
    sa.Column('seen_at', UTCDateTime, nullable=False))

#: The results of the last audit of Placement, by kind of difference.
placement_drift = _table(
    'placement_drift',
    sa.Column('kind', sa.String(32), primary_key=True),
    sa.Column('found', sa.Integer, nullable=False),
    sa.Column('remaining', sa.Integer, nullable=False),
    sa.Column('audited_at', UTCDateTime, nullable=False))

#: Tokens with which the leases of a project are read as a calendar.
calendar_tokens = _table(
    'calendar_tokens',
    # SHA-256 in hexadecimal; the token itself is not stored.
    sa.Column('digest', sa.String(64), primary_key=True),
    # A hash of the next two, since MariaDB ignores trailing spaces when
    # it compares names.
    sa.Column('owner', sa.String(64), nullable=False, unique=True),
    # Empty if users are not distinguished, or have no projects.
    sa.Column('user_id', sa.String(255), nullable=False),
    sa.Column('project_id', sa.String(255), nullable=False),
    sa.Column('roles', sa.Text, nullable=False),
    sa.Column('created_at', UTCDateTime, nullable=False),
    # Of the user's password; NULL if another service checks it.
    sa.Column('fingerprint', sa.String(64)))

#: Notices that are to be sent, or have been sent.
outbox = _table(
    'outbox',
    # Derived from the notice and its receiver, so that no notice is
    # written twice.
    sa.Column('id', sa.String(36), primary_key=True),
    sa.Column('notice_id', sa.String(36), nullable=False),
    sa.Column('channel', sa.String(16), nullable=False),
    # SHA-256 in hexadecimal of the receiver: the URL of a webhook, which
    # may be a secret, or the user that mail is for.
    sa.Column('target', sa.String(64), nullable=False),
    sa.Column('kind', sa.String(32), nullable=False),
    # No foreign key, since a lease may be deleted before the notice of
    # its end is sent.
    sa.Column('lease_id', sa.String(36), nullable=False),
    sa.Column('project_id', sa.String(255)),
    sa.Column('user_id', sa.String(255)),
    sa.Column('payload', sa.Text, nullable=False),
    sa.Column('created_at', UTCDateTime, nullable=False),
    # When it is to be sent; NULL: it was sent or given up.
    sa.Column('due_at', UTCDateTime),
    sa.Column('attempts', sa.Integer, nullable=False),
    sa.Column('claimed_by', sa.String(36)),
    sa.Column('claimed_until', UTCDateTime),
    sa.Column('done_at', UTCDateTime),
    sa.Column('outcome', sa.String(16)),
    # The error of the last attempt to send it.
    sa.Column('complaint', sa.Text),
    # If set, the notice waits for the notices with lower numbers about
    # the same lease over the same channel.
    sa.Column('sequence', sa.Integer),
    sa.Index(None, 'channel', 'target', 'due_at'),
    sa.Index(None, 'due_at', 'created_at'),
    sa.Index(None, 'done_at'),
    sa.Index(None, 'lease_id', 'sequence'),
    sa.Index(None, 'notice_id'),
    # Few notices are given up, compared with delivered ones.
    sa.Index(None, 'outcome', 'channel', 'target', 'done_at'))

#: The terms of live leases that the enforcement service knows, once it has
#: received the entries in the outbox.
enforcement_terms = _table(
    'enforcement_terms',
    # No foreign key, since the service is notified when a lease is gone.
    sa.Column('lease_id', sa.String(36), primary_key=True),
    sa.Column('project_id', sa.String(255)),
    sa.Column('user_id', sa.String(255)),
    # The number of the last entry in the outbox.
    sa.Column('sequence', sa.Integer, nullable=False),
    sa.Column('terms', sa.Text, nullable=False))

#: Maintenance windows; their nodes are rows of reservations until they are
#: over.
maintenance_windows = _table(
    'maintenance_windows',
    sa.Column('id', sa.String(36), primary_key=True),
    sa.Column('name', sa.String(80), nullable=False),
    sa.Column('reason', sa.Text, nullable=False),
    sa.Column('starts_at', UTCDateTime, nullable=False),
    sa.Column('ends_at', UTCDateTime, nullable=False),
    sa.Column('drain', sa.Boolean, nullable=False),
    sa.Column('project_id', sa.String(255)),
    sa.Column('user_id', sa.String(255)),
    sa.Column('created_at', UTCDateTime, nullable=False),
    sa.Column('updated_at', UTCDateTime),
    sa.Index(None, 'ends_at'),
    sa.Index(None, 'updated_at'))

#: The nodes whose maintenance is over.
maintenance_nodes = _table(
    'maintenance_nodes',
    sa.Column('window_id', sa.String(36),
              sa.ForeignKey('maintenance_windows.id', ondelete='CASCADE'),
              primary_key=True),
    sa.Column('node_uuid', sa.String(36),
              sa.ForeignKey('nodes.uuid', ondelete='CASCADE'),
              primary_key=True),
    sa.Column('place', sa.Integer, nullable=False),
    sa.Column('starts_at', UTCDateTime, nullable=False),
    sa.Column('ends_at', UTCDateTime, nullable=False),
    sa.Index(None, 'node_uuid'))
