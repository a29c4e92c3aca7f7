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

"""What is seen of a schema, for two of them to be compared."""

from typing import Any

import sqlalchemy as sa


def seen(connection: sa.Connection) -> dict[str, Any]:
    """Return tables, columns, constraints and indexes, ready to compare."""
    inspector = sa.inspect(connection)
    return {name: _table(inspector, connection, name)
            for name in sorted(inspector.get_table_names())}


def _table(inspector: sa.Inspector, connection: sa.Connection,
           name: str) -> dict[str, Any]:
    # NOTE: in the order of names: where a column stands is of no account.
    return {
        'columns': sorted(
            (column['name'], column['type'].compile(connection.dialect),
             column['nullable'], column['default'])
            for column in inspector.get_columns(name)),
        'primary key': inspector.get_pk_constraint(name)[
            'constrained_columns'],
        'unique': sorted((unique['name'], unique['column_names'])
                         for unique in inspector.get_unique_constraints(name)),
        'indexes': sorted((index['name'], index['column_names'])
                          for index in inspector.get_indexes(name)),
        'foreign keys': sorted(
            (key['name'], key['constrained_columns'], key['referred_table'],
             key['referred_columns'], sorted(key['options'].items()))
            for key in inspector.get_foreign_keys(name)),
        'counts on': _counts_on(connection, name),
    }


def _counts_on(connection: sa.Connection, name: str) -> bool:
    """Return whether the number of a deleted row is never given again."""
    if connection.dialect.name != 'sqlite':
        return True
    made = connection.scalar(
        sa.text('SELECT sql FROM sqlite_master WHERE name = :name'),
        {'name': name})
    return 'AUTOINCREMENT' in made
