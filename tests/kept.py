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

"""Connections to SQLite that are kept, not made for each transaction.

oslo.db makes one for each transaction. To make it, to read the schema again
and to write back the log of the file, as whoever leaves last does, was half of
what a test on SQLite cost.
"""

from __future__ import annotations

from oslo_config import cfg
import sqlalchemy as sa
from sqlalchemy import pool

from ironic_reservations.db import connection


class Database(connection.Database):
    """The database of the product, whose connections to SQLite are kept.

    :param keep: or else not, for what other processes are killed beside.
    """

    def __init__(self, conf: cfg.ConfigOpts, keep: bool = True) -> None:
        super().__init__(conf)
        self._keep = keep

    def _make(self) -> sa.Engine:
        engine = super()._make()
        made = engine.pool
        if self._keep and isinstance(made, pool.NullPool):
            # NOTE: what listens to the pool, the product's PRAGMAs among it,
            # goes on listening.
            engine.pool = pool.QueuePool(
                made._creator, max_overflow=-1, _dispatch=made.dispatch,
                dialect=engine.dialect)
        return engine
