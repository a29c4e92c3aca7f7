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

"""A Galera cluster of three nodes, each of which is written to."""

from __future__ import annotations

from collections.abc import Sequence
import random
import time

from tests.processes.database_servers import base
from tools import own_cluster

SIZE = 3
#: For how long a node is away that was killed, in seconds.
_AWAY = (0.0, 4.0)
#: For how long one is stopped or cut off: the cluster goes on without it
#: after eight seconds.
_APART = (1.0, 13.0)
#: How often each fault is, in parts of the whole.
_OFTEN = {'kill-node': 4, 'stop-node': 4, 'cut-off-node': 4,
          'replace-node': 2, 'crash-cluster': 1}


class Galera(base.Servers):
    """Three nodes, one of which fails at a time, or all at once.
    """

    dialect = 'mysql'
    pause = (0.5, 3.0)

    def _setUp(self) -> None:
        self._cluster = self.useFixture(own_cluster.OwnCluster(
            SIZE, self.folder))
        #: The node that something is wrong with.
        self._failed: int | None = None

    @classmethod
    def check_installed(cls) -> None:
        """Check that all programs of the nodes are there."""
        own_cluster.check_installed()

    def url(self, database: str = base.NAME) -> str:
        """Return the URL of a database on a node that has not failed."""
        number = 0 if self._failed != 0 else 1
        return self._cluster.url(number, database)

    def session_url(self, choice: random.Random) -> str:
        """Return the URL of any node."""
        return self._cluster.url(choice.randrange(SIZE), base.NAME)

    def addresses(self, number: int) -> Sequence[base.Address]:
        """Return where the nodes are, each process's own first."""
        return [base.address(self._cluster.url((number + more) % SIZE))
                for more in range(SIZE)]

    def disturb(self, choice: random.Random, tell: base.Tell) -> None:
        """Let a node fail, and join the others again."""
        number = choice.randrange(SIZE)
        how, = choice.choices(list(_OFTEN), list(_OFTEN.values()))
        self._failed = number
        if how == 'crash-cluster':
            tell(how)
            self._cluster.crash()
        elif how in ('kill-node', 'replace-node'):
            seconds = choice.uniform(*_AWAY)
            tell(how, node=number, seconds=seconds)
            self._cluster.kill(number)
            time.sleep(seconds)
            if how == 'replace-node':
                self._cluster.empty(number)
            self._cluster.start(number)
        elif how == 'stop-node':
            seconds = choice.uniform(*_APART)
            tell(how, node=number, seconds=seconds)
            self._cluster.stop(number)
            time.sleep(seconds)
            self._cluster.go_on(number)
        else:
            seconds = choice.uniform(*_APART)
            tell(how, node=number, seconds=seconds)
            self._cluster.isolate(number, True)
            time.sleep(seconds)
            self._cluster.isolate(number, False)
        self._cluster.wait()
        self._failed = None
