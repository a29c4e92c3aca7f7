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

"""Within which a lease may be planned, and when it is fixed

Revision ID: 0016
Revises: 0015
"""

import sqlalchemy as sa

from ironic_reservations.db.migrations import steps

revision = '0016'
down_revision = '0015'

_COLUMNS = ('between_from', 'between_until', 'fix_before', 'fix_at')


def upgrade():
    with steps.alter_table('leases') as leases:
        for name in _COLUMNS:
            leases.add_column(sa.Column(
                name, sa.Integer if name == 'fix_before' else steps.INSTANT))
        leases.index('ix_leases_fix_at', ['fix_at'])


def downgrade():
    with steps.alter_table('leases') as leases:
        leases.drop_index('ix_leases_fix_at')
        for name in reversed(_COLUMNS):
            leases.drop_column(name)
