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

"""The kinds of databases that a storm can go over."""

from __future__ import annotations

from collections.abc import Mapping
import pathlib

from tests.processes.database_servers import balanced
from tests.processes.database_servers import base
from tests.processes.database_servers import galera
from tests.processes.database_servers import pooled
from tests.processes.database_servers import promoted
from tests.processes.database_servers import restarted
from tests.processes.database_servers import restored

#: Those of several servers, or that go back, by what they are called.
CLUSTERS: Mapping[str, type[base.Servers]] = {
    'galera': galera.Galera,
    'haproxy': balanced.Balanced,
    'promoted': promoted.Promoted,
    'promoted-async': promoted.PromotedAsync,
    'pooler': pooled.Pooled,
    'restored': restored.Restored,
    'restored-mariadb': restored.RestoredMariadb}


def dialect(kind: str) -> str:
    """Return what SQLAlchemy calls a kind of databases."""
    return CLUSTERS[kind].dialect if kind in CLUSTERS else kind


def servers(kind: str, folder: pathlib.Path,
            restarts: bool) -> base.Servers | None:
    """Return the storm's own servers, which fail, if there are some.

    :param folder: where their logs are written.
    :param restarts: whether a single server is one.
    """
    if kind in CLUSTERS:
        return CLUSTERS[kind](folder)
    if restarts and kind != 'sqlite':
        return restarted.Restarted(kind, folder)
    return None
