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

"""The only thing that the core knows of features.

A feature is stateless.  An engine has a list of them, in the order in which
they are asked.
"""

from __future__ import annotations

from collections.abc import Hashable
from collections.abc import Iterable
from collections.abc import MutableMapping
from typing import Any
from typing import TYPE_CHECKING

import sqlalchemy as sa

if TYPE_CHECKING:
    from ironic_reservations.engine import change as change_module
    from ironic_reservations.engine import Engine

#: What features remember from one attempt of a request to the next.
Memory = MutableMapping[Hashable, object]


class Part:
    """The share of one feature in one attempt of a change."""

    def write(self, connection: sa.Connection) -> None:
        """Write rows and check again, after the rows of the change.

        Whatever must not be lost if the process dies after the COMMIT is
        written here.

        :raises Conflict: the change has to be planned again.
        """

    def committed(self) -> None:
        """Send messages after the commit, once for each request."""


class Feature:
    """A feature: its share of the changes of the timeline, and its routes."""

    def before(self, engine: Engine, change: change_module.Change,
               memory: Memory) -> None:
        """Ask others before the transaction; also on a dry run.

        :param memory: of the request, empty at its first attempt.
        :raises ReservationError: the change is refused.
        """

    def join(self, engine: Engine,
             change: change_module.Change) -> Part | None:
        """Return the share of the feature in a change; ``None`` if none.

        It may read, and may add locks, and instants at which the change
        becomes wrong.
        """
        return None

    def routes(self, api: Any) -> Iterable[Any]:
        """Return the paths that the feature serves below ``/v1``.

        It imports its controllers here: only a process with an API needs
        them.

        :param api: an ``api.controllers.rest.Api``.
        :returns: an ``api.controllers.rest.Route`` for each path.
        """
        return ()
