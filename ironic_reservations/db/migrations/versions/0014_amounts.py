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

"""A hold is amounts of a host, and says what is confirmed

Revision ID: 0014
Revises: 0013
"""

import sqlalchemy as sa

from ironic_reservations.db.migrations import steps

revision = '0014'
down_revision = '0013'

_HOLDS = sa.table(
    'holds', sa.column('resource_class', sa.String),
    sa.column('amounts', sa.Text), sa.column('landed', sa.Boolean),
    sa.column('resources', sa.Text), sa.column('exclusive', sa.Boolean),
    sa.column('confirmed', sa.Boolean))
_SEEN = sa.table('providers_seen', sa.column('resource_class', sa.String),
                 sa.column('kind', sa.String))

_KINDS = {'COMPUTE_HOST': 'compute_host',
          'CUSTOM_RESERVATION': 'lease_provider'}


def upgrade():
    with steps.alter_table('holds') as holds:
        holds.add_column(sa.Column('resources', sa.Text))
        holds.add_column(sa.Column('exclusive', sa.Boolean))
        holds.add_column(sa.Column('confirmed', sa.Boolean))
    # NOTE: the release before may go on writing rows that lack these columns,
    # and may confirm rows of this one; whoever reads looks at both. All rows
    # are to be filled once more before the old columns are dropped.
    row = _HOLDS.c
    steps.execute(_HOLDS.update().where(
        row.resources.is_(None), row.amounts.is_not(None)).values(
            resources=row.amounts, exclusive=sa.false(),
            confirmed=row.landed))
    steps.execute(_HOLDS.update().where(
        row.resources.is_(None), row.amounts.is_(None)).values(
            resources='{"' + row.resource_class + '": 1}',
            exclusive=sa.true(), confirmed=row.landed))
    with steps.alter_table('providers_seen') as seen:
        seen.add_column(sa.Column('kind', sa.String(32)))
        seen.add_column(sa.Column('fingerprint', sa.String(36)))
    # NOTE: no fingerprints: the next audit looks at each provider once.
    steps.execute(_SEEN.update().where(_SEEN.c.kind.is_(None)).values(
        kind=sa.case(_KINDS, value=_SEEN.c.resource_class, else_='node')))


def downgrade():
    with steps.alter_table('providers_seen') as seen:
        seen.drop_column('fingerprint')
        seen.drop_column('kind')
    with steps.alter_table('holds') as holds:
        holds.drop_column('confirmed')
        holds.drop_column('exclusive')
        holds.drop_column('resources')
