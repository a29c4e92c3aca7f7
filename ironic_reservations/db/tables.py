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
    sa.Column('generation', sa.Integer, nullable=False),
    sa.Column('name', sa.String(255)),
    sa.Column('resource_class', sa.String(80)),
    sa.Column('provision_state', sa.String(15)),
    sa.Column('instance_uuid', sa.String(36)),
    sa.Column('maintenance', sa.Boolean, nullable=False),
    sa.Column('retired', sa.Boolean, nullable=False),
    sa.Column('reservable', sa.Boolean, nullable=False),
    sa.Column('owner', sa.String(255)),
    sa.Column('lessee', sa.String(255)),
    sa.Column('observed_at', UTCDateTime, nullable=False),
    sa.Index(None, 'resource_class', 'provision_state'),
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
    sa.Column('instance_uuid', sa.String(36), nullable=False),
    sa.Column('created_at', UTCDateTime, nullable=False),
    sa.Column('updated_at', UTCDateTime),
    sa.Column('expires_at', UTCDateTime, nullable=False),
    sa.Column('state', sa.String(16), nullable=False),
    sa.Column('project_id', sa.String(255)),
    sa.Column('user_id', sa.String(255)),
    # NOTE: one for a reservation that binds from now on, NULL for what may
    # share the node with others at other times: NULLs never collide.
    sa.Column('immediate', sa.SmallInteger),
    sa.UniqueConstraint('node_uuid', 'immediate'),
    sa.UniqueConstraint('instance_uuid', 'immediate'),
    sa.Index(None, 'project_id'),
    sa.Index(None, 'expires_at'),
    **_MYSQL)

#: Guarded requests that are on their way to Ironic right now.
passages = sa.Table(
    'passages', metadata,
    sa.Column('id', sa.Integer, primary_key=True),
    sa.Column('node_uuid', sa.String(36),
              sa.ForeignKey('nodes.uuid', ondelete='CASCADE'),
              nullable=False, index=True),
    sa.Column('reservation_uuid', sa.String(36)),
    sa.Column('instance_uuid', sa.String(36)),
    sa.Column('expires_at', UTCDateTime, nullable=False),
    **_MYSQL)

#: Which process does the work that one must do for all.
claims = sa.Table(
    'claims', metadata,
    sa.Column('name', sa.String(64), primary_key=True),
    sa.Column('owner', sa.String(255), nullable=False),
    sa.Column('expires_at', UTCDateTime, nullable=False),
    **_MYSQL)
