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

"""Checking that a statement wrote what it was to write, no more, no less."""

from __future__ import annotations

from typing import Any

import sqlalchemy as sa

from ironic_reservations.db import connection


def check(result: sa.CursorResult[Any], count: int, what: str) -> None:
    """Check that every row was there, and as it had been read.

    :param count: how many rows there were to be written.
    :param what: one of them is, in words.
    :raises Conflict: somebody has changed one of them meanwhile.
    """
    if result.rowcount != count:
        raise connection.Conflict(f'{what} has changed meanwhile')
