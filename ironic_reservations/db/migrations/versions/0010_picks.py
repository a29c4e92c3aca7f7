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

"""Picks of a node do not look at all that it is promised to

Revision ID: 0010
Revises: 0009
"""

from ironic_reservations.db.migrations import steps

revision = '0010'
down_revision = '0009'

_PROMISED = 'ix_reservations_node_uuid_immediate_state_starts_at'
_LESSEE = 'ix_reservations_lessee'


def upgrade():
    with steps.alter_table('reservations') as reservations:
        reservations.index(_PROMISED, ['node_uuid', 'immediate', 'state',
                                       'starts_at'])
        reservations.index(_LESSEE, ['lessee'])


def downgrade():
    with steps.alter_table('reservations') as reservations:
        reservations.drop_index(_LESSEE)
        reservations.drop_index(_PROMISED)
