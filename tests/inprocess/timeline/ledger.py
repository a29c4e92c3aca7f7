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

"""From the journals of many clients to who held a node, and when."""

from __future__ import annotations

from collections.abc import Iterable
import dataclasses
import json
import pathlib
from typing import Any

FOREVER = float('inf')


@dataclasses.dataclass
class Hold:
    """A node that was somebody's for certain, from an instant to another.

    Begins when the answer was there; ends when its end was known, or asked
    for, or could have come.  A call that works later proves that it did not
    end in between: what has ended never comes back.

    :ivar stranger: a request on a free node, which keeps off reservations
        and no other strangers.
    """

    uuid: str
    node: str
    begins: float
    ends: float
    used: bool = False
    stranger: bool = False


class Ledger:
    """What the clients wrote.

    :ivar asked: the uuids that were asked for, got or not.
    :ivar failures: what should never have happened.
    """

    def __init__(self, journals: Iterable[pathlib.Path]) -> None:
        self.asked: set[str] = set()
        self.failures: list[str] = []
        self.holds: dict[str, Hold] = {}
        self.finished = 0
        self.events: dict[str, int] = {}
        for journal in journals:
            for line in journal.read_text().splitlines():
                try:
                    self._take(json.loads(line))
                except ValueError:
                    # The last line of one that was killed.
                    continue

    def _take(self, entry: dict[str, Any]) -> None:
        event, at = entry['event'], entry['at']
        self.events[event] = self.events.get(event, 0) + 1
        if event == 'asking':
            self.asked.add(entry['uuid'])
        elif event == 'failed':
            self.failures.append(f"{entry['uuid']}: {entry['what']}")
        elif event == 'finished':
            self.finished += 1
        elif event == 'given':
            self.holds[entry['uuid']] = Hold(
                entry['uuid'], entry['node'], at,
                FOREVER if entry['ends'] is None else entry['ends'],
                stranger=entry['ends'] is None)
        hold = self.holds.get(entry['uuid'])
        if hold is None:
            return
        if event == 'releasing' or (event == 'losing' and not hold.used) or (
                event == 'renewing' and not hold.used):
            # NOTE: nobody knows how it ended, if this is the last line.
            hold.ends = min(hold.ends, at)
        elif event == 'renewed' and not hold.used:
            hold.ends = entry['ends']
        elif event in ('proven', 'used'):
            # From here on it does not expire.
            hold.ends = FOREVER
            hold.used = hold.used or event == 'used'

    def host_state(self, at: float) -> dict[str, Hold]:
        """Return the reservations that have to be there at an instant."""
        return {uuid: hold for uuid, hold in self.holds.items()
                if hold.ends > at and not hold.stranger}

    def overlaps(self) -> list[tuple[Hold, Hold]]:
        """Return the pairs that held one node at one time."""
        found = []
        by_node: dict[str, list[Hold]] = {}
        for hold in self.holds.values():
            if hold.ends > hold.begins:
                by_node.setdefault(hold.node, []).append(hold)
        for holds in by_node.values():
            holds.sort(key=lambda hold: hold.begins)
            active: list[Hold] = []
            for hold in holds:
                found += [(earlier, hold) for earlier in active
                          if hold.begins < earlier.ends
                          and not (hold.stranger and earlier.stranger)]
                active = [earlier for earlier in active
                          if earlier.ends > hold.begins] + [hold]
        return found
