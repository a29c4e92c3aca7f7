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

"""Requests that put values of a node back, and values that are not known."""

from __future__ import annotations

import dataclasses
from typing import Any

from ironic_reservations.model import handovers
from ironic_reservations.model import in_flight


@dataclasses.dataclass(frozen=True)
class Correction:
    """A request to Ironic that puts a value back.

    :ivar what: the name of the value that is put back, for people.
    :ivar path: a path below the node; with a leading slash, a path of the API.
    :ivar cleared: the act of the holder that is completely undone by this
        request.
    :ivar cleans: whether the node has to be cleaned after this request, even
        if it was cleaned before.
    :ivar needless_if_refused: whether a refusal shows that there is nothing
        to put back, unless the reason is a lock of the node.
    :ivar in_use: whether Ironic fulfils the request completely only on a node
        that is available or deployed.
    :ivar later: whether Ironic answers before it fulfils the request.
    """

    what: str
    method: str
    path: str
    body: Any = None
    cleared: str | None = None
    cleans: bool = False
    needless_if_refused: bool = False
    in_use: bool = False
    later: bool = False

    @property
    def act(self) -> in_flight.Act:
        """The act of its ticket.

        An object below a node keeps its uuid when the node gets its next
        holder, so that a late request for it would change what that one made
        of it.
        """
        return (in_flight.Act.CLEAR_MAINTENANCE
                if self.path == handovers.MAINTENANCE
                else in_flight.Act.PUT_BACK)


@dataclasses.dataclass(frozen=True)
class Unknown:
    """A value from before the lease that is not known.

    :ivar why: the reason in words.
    """

    why: str


#: A value that has to be put back, or cannot be.
Found = Correction | Unknown
