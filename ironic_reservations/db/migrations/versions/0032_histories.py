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

"""What is observed of a node rises by numbers that no other history has

Revision ID: 0032
Revises: 0030
"""

import sqlalchemy as sa

from ironic_reservations.db.migrations import steps

revision = '0032'
down_revision = '0030'


def upgrade():
    with steps.alter_table('nodes') as nodes:
        nodes.alter_column('revision', type_=sa.BigInteger())


def downgrade():
    # NOTE: a process of the release before that still knows the number reads
    # the node again, as for any other change.
    steps.execute('UPDATE nodes SET revision = revision % 1073741824 '
                  'WHERE revision >= 1073741824')
    with steps.alter_table('nodes') as nodes:
        nodes.alter_column('revision', type_=sa.Integer(),
                           postgresql_using='revision::integer')
