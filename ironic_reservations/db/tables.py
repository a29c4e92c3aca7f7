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

"""The tables.  A migration exists for each difference from release to release.

NOTE: ``nodes`` mirrors what Ironic says; ``generation`` is ours alone and
counts the changes to the node's bookings, so that of two racers that planned
on the same snapshot exactly one commits.
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
    """An instant: zone-aware in Python, UTC to the microsecond in the row."""

    impl = sa.DateTime
    cache_ok = True

    def load_dialect_impl(self, dialect: sa.Dialect) -> Any:
        """Keep microseconds on MariaDB, which cuts them off by default."""
        if dialect.name in ('mysql', 'mariadb'):
            return dialect.type_descriptor(mysql.DATETIME(fsp=6))
        return dialect.type_descriptor(sa.DateTime())

    def process_bind_param(self, value: datetime.datetime | None,
                           dialect: sa.Dialect) -> datetime.datetime | None:
        """Refuse a time without a zone: it could mean any instant."""
        if value is None:
            return None
        if value.tzinfo is None:
            raise ValueError(f'{value} has no time zone')
        return value.astimezone(datetime.UTC).replace(tzinfo=None)

    def process_result_value(self, value: datetime.datetime | None,
                             dialect: sa.Dialect) -> datetime.datetime | None:
        """Give the zone back."""
        if value is None:
            return None
        return value.replace(tzinfo=datetime.UTC)


# NOTE: without the collation "gold" and "GOLD" are the same there, and on
# the other databases they are not.
_MYSQL = {'mysql_engine': 'InnoDB', 'mysql_charset': 'utf8mb4',
          'mysql_collate': 'utf8mb4_bin'}

nodes = sa.Table(
    'nodes', metadata,
    sa.Column('id', sa.Integer, primary_key=True),
    sa.Column('uuid', sa.String(36), nullable=False, unique=True),
    # NOTE: begins anew for no uuid, see nodes.insert_node.
    sa.Column('generation', sa.BigInteger, nullable=False),
    sa.Column('name', sa.String(255)),
    sa.Column('resource_class', sa.String(80)),
    sa.Column('provision_state', sa.String(15)),
    sa.Column('instance_uuid', sa.String(36)),
    sa.Column('maintenance', sa.Boolean, nullable=False),
    sa.Column('retired', sa.Boolean, nullable=False),
    sa.Column('reservable', sa.Boolean, nullable=False),
    sa.Column('owner', sa.String(255)),
    sa.Column('lessee', sa.String(255)),
    sa.Column('properties', sa.Text),
    # NOTE: of a compute host, NULL for a node of Ironic.
    sa.Column('inventories', sa.Text),
    # NOTE: what Ironic says, and compared with nothing else.
    sa.Column('enrolled_at', sa.String(64)),
    sa.Column('observed_at', UTCDateTime, nullable=False),
    # NOTE: counts the changes to what Ironic says, so that a process knows
    # from one sum what it has to read again.
    sa.Column('revision', sa.Integer, nullable=False, server_default='0'),
    # NOTE: the token of the request that was let through last.
    sa.Column('let_through', sa.String(36)),
    sa.Index(None, 'resource_class', 'provision_state'),
    sqlite_autoincrement=True,
    **_MYSQL)

#: Which nodes have changed, for whoever keeps what is promised of them.
changes = sa.Table(
    'changes', metadata,
    sa.Column('seq', sa.BigInteger().with_variant(sa.Integer(), 'sqlite'),
              primary_key=True),
    sa.Column('node_uuid', sa.String(36), nullable=False),
    # NOTE: NULL where it is not the bookings of the node that have changed.
    sa.Column('generation', sa.BigInteger),
    sqlite_autoincrement=True,
    **_MYSQL)

node_traits = sa.Table(
    'node_traits', metadata,
    sa.Column('node_uuid', sa.String(36),
              sa.ForeignKey('nodes.uuid', ondelete='CASCADE'),
              primary_key=True),
    sa.Column('trait', sa.String(255), primary_key=True),
    **_MYSQL)

reservations = sa.Table(
    'reservations', metadata,
    sa.Column('id', sa.Integer, primary_key=True),
    sa.Column('uuid', sa.String(36), nullable=False, unique=True),
    sa.Column('node_uuid', sa.String(36), sa.ForeignKey('nodes.uuid'),
              nullable=False),
    # NOTE: NULL for a node that is promised to a lease.
    sa.Column('instance_uuid', sa.String(36)),
    sa.Column('created_at', UTCDateTime, nullable=False),
    sa.Column('updated_at', UTCDateTime),
    # NOTE: NULL for a promise that binds from the moment it is made.
    sa.Column('starts_at', UTCDateTime),
    sa.Column('expires_at', UTCDateTime, nullable=False),
    sa.Column('state', sa.String(16), nullable=False),
    sa.Column('project_id', sa.String(255)),
    sa.Column('user_id', sa.String(255)),
    sa.Column('lease_reservation_id', sa.String(36),
              sa.ForeignKey('lease_reservations.id')),
    sa.Column('place', sa.Integer),
    sa.Column('lessee', sa.String(255)),
    sa.Column('lessee_before', sa.String(255)),
    # NOTE: when the lease was given the node, and when it was told that the
    # node is released if nobody deploys it. NULL where that has not happened,
    # or where the release before has done it.
    sa.Column('bound_at', UTCDateTime),
    sa.Column('warned_at', UTCDateTime),
    # NOTE: one for a reservation that binds from now on, NULL for what may
    # share the node with others at other times: NULLs never collide.
    sa.Column('immediate', sa.SmallInteger),
    sa.UniqueConstraint('node_uuid', 'immediate'),
    sa.UniqueConstraint('instance_uuid', 'immediate'),
    sa.UniqueConstraint('lease_reservation_id', 'place'),
    sa.Index(None, 'project_id'),
    sa.Index(None, 'expires_at'),
    # NOTE: what has a node now is little beside what is promised for later.
    sa.Index(None, 'state', 'starts_at'),
    # NOTE: without these MariaDB looks, for each node that might be picked,
    # at all that it is promised to.
    sa.Index(None, 'node_uuid', 'immediate', 'state', 'starts_at'),
    sa.Index(None, 'lessee'),
    sqlite_autoincrement=True,
    **_MYSQL)

#: Nodes that an operator has opened to leases.
hosts = sa.Table(
    'hosts', metadata,
    sa.Column('id', sa.Integer, primary_key=True),
    sa.Column('node_uuid', sa.String(36), sa.ForeignKey('nodes.uuid'),
              nullable=False, unique=True),
    sa.Column('reservable', sa.Boolean, nullable=False),
    sa.Column('created_at', UTCDateTime, nullable=False),
    sa.Column('updated_at', UTCDateTime),
    # NOTE: what the configuration says, apart from what the operator does.
    sa.Column('excluded', sa.Boolean, nullable=False,
              server_default=sa.false()),
    sqlite_autoincrement=True,
    **_MYSQL)

#: What an operator says of a host besides what Ironic does.
host_capabilities = sa.Table(
    'host_capabilities', metadata,
    sa.Column('host_id', sa.Integer,
              sa.ForeignKey('hosts.id', ondelete='CASCADE'),
              primary_key=True),
    sa.Column('name', sa.String(64), primary_key=True),
    sa.Column('value', sa.Text, nullable=False),
    **_MYSQL)

#: The names of such capabilities, and whether all may read them.
capabilities = sa.Table(
    'capabilities', metadata,
    sa.Column('name', sa.String(64), primary_key=True),
    sa.Column('id', sa.String(36), nullable=False, unique=True),
    sa.Column('private', sa.Boolean, nullable=False),
    sa.Column('created_at', UTCDateTime, nullable=False),
    sa.Column('updated_at', UTCDateTime),
    **_MYSQL)

leases = sa.Table(
    'leases', metadata,
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
    # NOTE: digests of a client's own name for its request (with the
    # project) and of the request: asked twice, it is served once.
    sa.Column('request_key', sa.String(64), unique=True),
    sa.Column('request_digest', sa.String(64)),
    # NOTE: when the reconciler has to look at the lease, NULL for never;
    # and which process does, until when.
    sa.Column('due_at', UTCDateTime),
    sa.Column('attempts', sa.Integer, nullable=False),
    sa.Column('claimed_by', sa.String(255)),
    sa.Column('claimed_until', UTCDateTime),
    # NOTE: within which it may be planned, and when it is fixed; NULL once it
    # is, or where its owner set its dates.
    sa.Column('between_from', UTCDateTime),
    sa.Column('between_until', UTCDateTime),
    sa.Column('fix_before', sa.Integer),
    sa.Column('fix_at', UTCDateTime),
    # NOTE: of one that waits for an earlier start.
    sa.Column('wanted_start', UTCDateTime),
    sa.Column('promised_start', UTCDateTime),
    sa.Column('priority', sa.Integer),
    # NOTE: how often it was extended since its start; NULL for never.
    sa.Column('extensions', sa.Integer),
    sa.Index(None, 'created_at', 'id'),
    sa.Index(None, 'status', 'promised_start'),
    sa.Index(None, 'project_id', 'created_at'),
    sa.Index(None, 'fix_at'),
    sa.Index(None, 'due_at'),
    # NOTE: live leases are few beside those that are over.
    sa.Index(None, 'status', 'updated_at'),
    sa.Index(None, 'project_id', 'status'),
    **_MYSQL)

lease_reservations = sa.Table(
    'lease_reservations', metadata,
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
    sa.Column('updated_at', UTCDateTime),
    **_MYSQL)

lease_events = sa.Table(
    'lease_events', metadata,
    sa.Column('id', sa.String(36), primary_key=True),
    sa.Column('lease_id', sa.String(36),
              sa.ForeignKey('leases.id', ondelete='CASCADE'),
              nullable=False),
    sa.Column('event_type', sa.String(32), nullable=False),
    sa.Column('time', UTCDateTime, nullable=False),
    sa.Column('status', sa.String(16), nullable=False),
    sa.Column('created_at', UTCDateTime, nullable=False),
    sa.Column('updated_at', UTCDateTime),
    sa.UniqueConstraint('lease_id', 'event_type'),
    **_MYSQL)

#: What reservations of instances ask for, besides being reservations.
instance_reservations = sa.Table(
    'instance_reservations', metadata,
    sa.Column('id', sa.String(36), primary_key=True),
    sa.Column('reservation_id', sa.String(36),
              sa.ForeignKey('lease_reservations.id', ondelete='CASCADE'),
              nullable=False, unique=True),
    sa.Column('vcpus', sa.Integer, nullable=False),
    sa.Column('memory_mb', sa.Integer, nullable=False),
    sa.Column('disk_gb', sa.Integer, nullable=False),
    sa.Column('amount', sa.Integer, nullable=False),
    # NOTE: NULL where the instances may be together or not.
    sa.Column('affinity', sa.Boolean),
    # NOTE: of the private flavor of the reservation.
    sa.Column('flavor_id', sa.String(36)),
    sa.Column('aggregate_id', sa.Integer),
    sa.Column('server_group_id', sa.String(36)),
    # NOTE: which flavor was named, and what it asked for then: it may be
    # changed or deleted while the lease lasts.
    sa.Column('source_flavor_id', sa.String(255)),
    sa.Column('request', sa.Text),
    **_MYSQL)

#: What leases have had, kept for good when they are forgotten.
lease_usage = sa.Table(
    'lease_usage', metadata,
    sa.Column('reservation_id', sa.String(36), primary_key=True),
    # NOTE: of Placement for instances; empty for nodes without one.
    sa.Column('resource_class', sa.String(255), primary_key=True),
    sa.Column('lease_id', sa.String(36), nullable=False),
    sa.Column('project_id', sa.String(255)),
    sa.Column('user_id', sa.String(255)),
    sa.Column('resource_type', sa.String(32), nullable=False),
    # NOTE: of the class, for each booking; 1 for a node.
    sa.Column('amount', sa.BigInteger, nullable=False),
    # NOTE: of the first booking that began, and of the last that ended.
    sa.Column('starts_at', UTCDateTime, nullable=False),
    sa.Column('ended_at', UTCDateTime, nullable=False),
    # NOTE: hosts, or instances, that there were at any time; and the seconds
    # of all of them together: from the start until the promise ended, and
    # those of them in which the host was bound.
    sa.Column('bookings', sa.Integer, nullable=False),
    sa.Column('promised_seconds', sa.BigInteger, nullable=False),
    sa.Column('bound_seconds', sa.BigInteger, nullable=False),
    sa.Index(None, 'ended_at'),
    sa.Index(None, 'project_id', 'ended_at'),
    **_MYSQL)

#: From when until when nodes were promised, and deployed: day by day.
usage_periods = sa.Table(
    'usage_periods', metadata,
    sa.Column('id', sa.Integer, primary_key=True),
    # NOTE: whose node was deployed; NULL for what many had at the same time.
    sa.Column('booking_uuid', sa.String(36)),
    sa.Column('reservation_id', sa.String(36), nullable=False),
    sa.Column('lease_id', sa.String(36), nullable=False),
    sa.Column('project_id', sa.String(255)),
    # NOTE: empty for nodes without one.
    sa.Column('resource_class', sa.String(255), nullable=False),
    sa.Column('kind', sa.String(16), nullable=False),
    sa.Column('starts_at', UTCDateTime, nullable=False),
    # NOTE: NULL while it lasts.
    sa.Column('ended_at', UTCDateTime),
    sa.Column('hosts', sa.Integer, nullable=False),
    # NOTE: 1 while it lasts, else NULL: NULLs never collide.
    sa.Column('running', sa.SmallInteger),
    sa.UniqueConstraint('booking_uuid', 'running'),
    sa.Index(None, 'running'),
    sa.Index(None, 'ended_at'),
    sa.Index(None, 'project_id', 'ended_at'),
    sa.Index(None, 'lease_id'),
    sqlite_autoincrement=True,
    **_MYSQL)

#: Since when the nodes that leases have, and that nobody has deployed, can be
#: deployed without a break.
usable_bookings = sa.Table(
    'usable_bookings', metadata,
    # NOTE: no foreign key: the release before deletes bookings, too.
    sa.Column('booking_uuid', sa.String(36), primary_key=True),
    sa.Column('since', UTCDateTime, nullable=False),
    **_MYSQL)

#: Since when something is looked at without a break, and the last time.
looks = sa.Table(
    'looks', metadata,
    sa.Column('name', sa.String(32), primary_key=True),
    sa.Column('since', UTCDateTime, nullable=False),
    sa.Column('looked_at', UTCDateTime, nullable=False),
    **_MYSQL)

#: Requests that are on their way to Ironic right now.
passages = sa.Table(
    'passages', metadata,
    sa.Column('id', sa.Integer, primary_key=True),
    sa.Column('node_uuid', sa.String(36),
              sa.ForeignKey('nodes.uuid', ondelete='CASCADE'),
              nullable=False, index=True),
    sa.Column('reservation_uuid', sa.String(36)),
    sa.Column('instance_uuid', sa.String(36)),
    # NOTE: until when its sender has an answer.  The node is kept for it
    # until its row is gone, however long that takes.
    sa.Column('expires_at', UTCDateTime, nullable=False),
    # NOTE: what it is known by, which nobody else ever is; NULL for one of
    # the release before.
    sa.Column('token', sa.String(36), unique=True),
    sa.Column('state', sa.String(16)),
    # NOTE: what a ticket of the reconciler is good for, and for which lease;
    # or that the request does not use the node.
    sa.Column('act', sa.String(32)),
    sa.Column('lease_id', sa.String(36)),
    # NOTE: what Ironic showed when it was looked at for the first time.
    sa.Column('seen', sa.String(64)),
    sa.Column('seen_at', UTCDateTime),
    sa.Index(None, 'lease_id'),
    sqlite_autoincrement=True,
    **_MYSQL)

#: Which process does the work that one must do for all.
claims = sa.Table(
    'claims', metadata,
    sa.Column('name', sa.String(64), primary_key=True),
    sa.Column('owner', sa.String(255), nullable=False),
    sa.Column('expires_at', UTCDateTime, nullable=False),
    **_MYSQL)

#: What keeps promised nodes from everybody else in Placement.
holds = sa.Table(
    'holds', metadata,
    sa.Column('id', sa.Integer, primary_key=True),
    sa.Column('generation', sa.Integer, nullable=False),
    sa.Column('consumer_uuid', sa.String(36), nullable=False, unique=True),
    # NOTE: no foreign keys: a hold outlives the node and the promise, until
    # it has been taken back.
    sa.Column('node_uuid', sa.String(36), nullable=False),
    sa.Column('owner', sa.String(36), nullable=False),
    # NOTE: amounts by class, and whether nobody else may hold anything of the
    # host; NULL in rows that the release before has written.
    sa.Column('resources', sa.Text),
    sa.Column('exclusive', sa.Boolean),
    sa.Column('project_id', sa.String(255), nullable=False),
    sa.Column('user_id', sa.String(255), nullable=False),
    sa.Column('instance_uuid', sa.String(36)),
    sa.Column('state', sa.String(16), nullable=False),
    sa.Column('confirmed', sa.Boolean),
    sa.Column('created_at', UTCDateTime, nullable=False),
    sa.Column('updated_at', UTCDateTime),
    sa.Column('deadline', UTCDateTime, nullable=False),
    # NOTE: "node" where nobody else may hold anything of the host, else the
    # owner; NULL while it is being taken back: NULLs never collide.
    sa.Column('live', sa.String(36)),
    # NOTE: for the release before, which knows the three columns above by
    # these: the class of a whole node, or the amounts of a share of a compute
    # host; and "confirmed". A later release drops them.
    sa.Column('resource_class', sa.String(255)),
    sa.Column('amounts', sa.Text),
    sa.Column('landed', sa.Boolean, nullable=False),
    sa.UniqueConstraint('node_uuid', 'live'),
    sa.Index(None, 'owner'),
    sa.Index(None, 'state', 'deadline'),
    # NOTE: what code from before 0006 writes; on SQLite there is none beside.
    sa.CheckConstraint("live <> '1'", name='ck_holds_live').ddl_if(
        dialect=('mysql', 'mariadb', 'postgresql')),
    sqlite_autoincrement=True,
    **_MYSQL)

#: How providers were when an audit found nothing wrong.
providers_seen = sa.Table(
    'providers_seen', metadata,
    sa.Column('provider_uuid', sa.String(36), primary_key=True),
    sa.Column('generation', sa.Integer, nullable=False),
    # NOTE: NULL in rows that the release before has written.
    sa.Column('kind', sa.String(32)),
    # NOTE: of all that an audit compares it with; NULL: nobody knows.
    sa.Column('fingerprint', sa.String(36)),
    sa.Column('seen_at', UTCDateTime, nullable=False),
    # NOTE: by which the release before knows the two columns above. A later
    # release drops them.
    sa.Column('resource_class', sa.String(255), nullable=False),
    sa.Column('expected', sa.String(36)),
    **_MYSQL)

#: What the last audit of Placement has found, by kind.
placement_drift = sa.Table(
    'placement_drift', metadata,
    sa.Column('kind', sa.String(32), primary_key=True),
    sa.Column('found', sa.Integer, nullable=False),
    sa.Column('remaining', sa.Integer, nullable=False),
    sa.Column('audited_at', UTCDateTime, nullable=False),
    **_MYSQL)

#: By which token whose leases are read as a calendar.
calendar_tokens = sa.Table(
    'calendar_tokens', metadata,
    # NOTE: SHA-256, in hexadecimal; the token itself is nowhere.
    sa.Column('digest', sa.String(64), primary_key=True),
    # NOTE: a hash of the next two: to MariaDB, a name is the same with spaces
    # after it.
    sa.Column('owner', sa.String(64), nullable=False, unique=True),
    # NOTE: empty where users are not told apart, or have no projects.
    sa.Column('user_id', sa.String(255), nullable=False),
    sa.Column('project_id', sa.String(255), nullable=False),
    sa.Column('roles', sa.Text, nullable=False),
    sa.Column('created_at', UTCDateTime, nullable=False),
    # NOTE: of the user's password, where we know it; the release before has
    # written NULL.
    sa.Column('fingerprint', sa.String(64)),
    **_MYSQL)

#: Notices that have been written and are to be sent, or have been.
outbox = sa.Table(
    'outbox', metadata,
    # NOTE: made of the notice and its receiver, so that nothing is written
    # twice.
    sa.Column('id', sa.String(36), primary_key=True),
    sa.Column('notice_id', sa.String(36), nullable=False),
    sa.Column('channel', sa.String(16), nullable=False),
    # NOTE: SHA-256, in hexadecimal, of what tells the receivers of a channel
    # apart: the address of a webhook, which may be a secret; the user whom
    # mail is for.
    sa.Column('target', sa.String(64), nullable=False),
    sa.Column('kind', sa.String(32), nullable=False),
    # NOTE: no foreign key: a lease may be deleted before its end is told.
    sa.Column('lease_id', sa.String(36), nullable=False),
    sa.Column('project_id', sa.String(255)),
    sa.Column('user_id', sa.String(255)),
    sa.Column('payload', sa.Text, nullable=False),
    sa.Column('created_at', UTCDateTime, nullable=False),
    # NOTE: when it is to be sent; NULL: not any more.
    sa.Column('due_at', UTCDateTime),
    sa.Column('attempts', sa.Integer, nullable=False),
    sa.Column('claimed_by', sa.String(36)),
    sa.Column('claimed_until', UTCDateTime),
    sa.Column('done_at', UTCDateTime),
    sa.Column('outcome', sa.String(16)),
    # NOTE: why it could not be sent the last time, in words.
    sa.Column('complaint', sa.Text),
    # NOTE: where there is an order: one waits for those before it that are
    # about the same lease, and go over the same channel.
    sa.Column('sequence', sa.Integer),
    sa.Index(None, 'channel', 'target', 'due_at'),
    sa.Index(None, 'due_at', 'created_at'),
    sa.Index(None, 'done_at'),
    sa.Index(None, 'lease_id', 'sequence'),
    sa.Index(None, 'notice_id'),
    # NOTE: what was given up is little beside what was delivered.
    sa.Index(None, 'outcome', 'channel', 'target', 'done_at'),
    **_MYSQL)

#: What the enforcement service knows of leases that are not over, once it has
#: taken what is in the outbox.
enforcement_terms = sa.Table(
    'enforcement_terms', metadata,
    # NOTE: no foreign key: that a lease is gone is still to be told.
    sa.Column('lease_id', sa.String(36), primary_key=True),
    sa.Column('project_id', sa.String(255)),
    sa.Column('user_id', sa.String(255)),
    # NOTE: of the last entry in the outbox.
    sa.Column('sequence', sa.Integer, nullable=False),
    sa.Column('terms', sa.Text, nullable=False),
    **_MYSQL)

#: When operators have nodes for maintenance.
maintenance_windows = sa.Table(
    'maintenance_windows', metadata,
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
    **_MYSQL)

#: The nodes of such windows, each with a time of its own.
maintenance_nodes = sa.Table(
    'maintenance_nodes', metadata,
    sa.Column('id', sa.Integer, primary_key=True),
    sa.Column('window_id', sa.String(36),
              sa.ForeignKey('maintenance_windows.id', ondelete='CASCADE'),
              nullable=False),
    sa.Column('node_uuid', sa.String(36),
              sa.ForeignKey('nodes.uuid', ondelete='CASCADE'),
              nullable=False),
    sa.Column('starts_at', UTCDateTime, nullable=False),
    sa.Column('ends_at', UTCDateTime, nullable=False),
    sa.Column('state', sa.String(16), nullable=False),
    sa.UniqueConstraint('window_id', 'node_uuid'),
    sa.Index(None, 'node_uuid', 'state'),
    sa.Index(None, 'state', 'starts_at'),
    sqlite_autoincrement=True,
    **_MYSQL)
