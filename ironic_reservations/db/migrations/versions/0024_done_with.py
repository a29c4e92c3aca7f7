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

"""Nobody looks at all notices that are done with

Revision ID: 0024
Revises: 0023
"""

from ironic_reservations.db.migrations import steps

revision = '0024'
down_revision = '0023'

_OUTCOME = 'ix_outbox_outcome_channel_target_done_at'
_NOTICE = 'ix_outbox_notice_id'


def upgrade():
    with steps.alter_table('outbox') as outbox:
        outbox.index(_OUTCOME, ['outcome', 'channel', 'target', 'done_at'])
        outbox.index(_NOTICE, ['notice_id'])


def downgrade():
    with steps.alter_table('outbox') as outbox:
        outbox.drop_index(_NOTICE)
        outbox.drop_index(_OUTCOME)
