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


"""Statements of the product, changed on their way to the database.

What is broken this way stays broken however the code that writes the
statements is moved about.
"""

from __future__ import annotations

import os
import re
from typing import Any

import sqlalchemy as sa

#: The name of the database of the reservations; Ironic's is left alone.
VARIABLE = 'STORM_DATABASE'


def change(pattern: str, replacement: str, within: str = '') -> None:
    """Change all statements of this process that match.

    :param pattern: what is replaced, each time that it occurs.
    :param within: what a statement begins with, where not all are meant.
    """
    wanted = re.compile(pattern, re.DOTALL)
    ours = os.environ[VARIABLE]

    def changed(connection: sa.Connection, cursor: Any, statement: str,
                parameters: Any, context: Any, many: bool) -> Any:
        if (str(connection.engine.url.database).endswith(ours)
                and statement.startswith(within)):
            statement = wanted.sub(replacement, statement)
        return statement, parameters
    sa.event.listen(sa.Engine, 'before_cursor_execute', changed, retval=True)
