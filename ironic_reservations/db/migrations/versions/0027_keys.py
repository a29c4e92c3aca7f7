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

"""Keys of requests that are kept are not looked at by the sweep

Revision ID: 0027
Revises: 0026
"""

from ironic_reservations.db.migrations import steps

revision = '0027'
down_revision = '0026'

_END = 'ix_claims_expires_at'


def upgrade():
    with steps.alter_table('claims') as claims:
        claims.index(_END, ['expires_at'])


def downgrade():
    with steps.alter_table('claims') as claims:
        claims.drop_index(_END)
