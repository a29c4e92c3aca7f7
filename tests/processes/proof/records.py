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

"""What was asked and answered, in a form that outlives a process."""

from __future__ import annotations

import dataclasses
import json
from typing import Any

RESERVE, AGAIN, RENEW = 'reserve', 'again', 'renew'
SHOW, DELETE, LIST, PAGE = 'show', 'delete', 'list', 'page'


@dataclasses.dataclass(frozen=True)
class Record:
    """One request and the answer that it got in the end.

    Times are those of the machine's clock, in seconds.

    :ivar sent: before the first byte of the first attempt was sent.
    :ivar got: after the last byte of the answer was read.
    :ivar broken: how many attempts before the last one got no answer.
    :ivar status: of the answer; 0 where there never was one.
    :ivar instance: for whom the reservation is, or was to be.
    :ivar uuid: the reservation that was asked about, or the uuid that the
        client chose for a new one.
    :ivar nodes: those that the reservation was to be one of.
    :ivar ttl: what was asked for.
    :ivar given: the reservation in the answer.
    :ivar found: the nodes of the reservations in the answer, of a list.
    :ivar reasons: node and code, of a refusal.
    """

    client: str
    op: str
    sent: float
    got: float
    status: int
    code: str | None = None
    broken: int = 0
    instance: str | None = None
    uuid: str | None = None
    nodes: tuple[str, ...] = ()
    ttl: float = 0
    given: dict[str, Any] | None = None
    found: tuple[str, ...] = ()
    reasons: tuple[tuple[str, str], ...] = ()

    def dump(self) -> str:
        """Return one line of JSON."""
        return json.dumps(dataclasses.asdict(self))

    @classmethod
    def load(cls, line: str) -> Record:
        """Read what :meth:`dump` gave."""
        read = json.loads(line)
        read['nodes'] = tuple(read['nodes'])
        read['found'] = tuple(read['found'])
        read['reasons'] = tuple((node, code) for node, code
                                in read['reasons'])
        return cls(**read)
