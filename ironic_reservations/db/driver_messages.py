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

"""Removes secrets from the error messages of database drivers.

Databases repeat a duplicate or malformed value in their messages, and the
value may be a proof.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import sqlalchemy as sa

from ironic_reservations.model import proofs


def shorten(engine: sa.Engine) -> None:
    """Have exceptions of the driver contain only the beginnings of uuids.

    NOTE: the message is changed where the driver raises it, since oslo.db logs
    some exceptions before anybody else sees them.
    """
    for event in ('do_execute', 'do_executemany'):
        sa.event.listen(engine, event,
                        _executing(getattr(engine.dialect, event)))


def _executing(execute: Callable[..., None]) -> Callable[..., bool]:
    def executed(cursor: Any, statement: str, parameters: Any,
                 context: Any) -> bool:
        try:
            execute(cursor, statement, parameters, context)
        except Exception as exc:
            exc.args = tuple(proofs.shortened(each) if isinstance(each, str)
                             else each for each in exc.args)
            raise
        return True
    return executed
