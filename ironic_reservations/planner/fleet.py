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

"""Sets of nodes as the bits of an integer.

Nodes are numbered; a set of them is an integer whose bit *n* stands for the
node *n*.  Whether one set lies within another, and what two have in common,
is then one machine operation for each 64 nodes.
"""

from __future__ import annotations

from collections.abc import Iterable
from collections.abc import Iterator
import dataclasses
import functools


@dataclasses.dataclass(frozen=True)
class Fleet:
    """The nodes that a planner may use; a node's number is its place here.

    :ivar uuids: in any order; what is admitted does not depend on it.
    """

    uuids: tuple[str, ...]

    @functools.cached_property
    def _numbers(self) -> dict[str, int]:
        return {uuid: number for number, uuid in enumerate(self.uuids)}

    def number(self, uuid: str) -> int:
        """Return the number of a node.

        :raises KeyError: for a node that is not of the fleet.
        """
        return self._numbers[uuid]

    def mask(self, uuids: Iterable[str]) -> int:
        """Return a set of nodes; those that are not of the fleet are left out.
        """
        numbers = self._numbers
        return mask(numbers[uuid] for uuid in uuids if uuid in numbers)

    def names(self, numbers: Iterable[int]) -> tuple[str, ...]:
        """Return the uuids of nodes."""
        return tuple(self.uuids[number] for number in numbers)


def everything(count: int) -> int:
    """Return the set of the first ``count`` nodes."""
    return (1 << count) - 1


def mask(numbers: Iterable[int]) -> int:
    """Return the set of some nodes."""
    numbers = list(numbers)
    if not numbers:
        return 0
    octets = bytearray(max(numbers) // 8 + 1)
    for number in numbers:
        octets[number >> 3] |= 1 << (number & 7)
    return int.from_bytes(octets, 'little')


# NOTE: the same few sets are asked for again and again, and taking a set of
# 10,000 apart costs as much as looking for a free node in it.
@functools.lru_cache(maxsize=512)
def members(nodes: int) -> tuple[int, ...]:
    """Return the numbers of the nodes of a set, in order."""
    return tuple(number for number, bit in enumerate(bin(nodes)[:1:-1])
                 if bit == '1')


class Walk:
    """A walk over all nodes to which moves can lead from some.

    Whoever walks tells of each booking met that may move where else it may
    go; that is walked over, too.  Each node is come to once.

    :ivar nodes: the set of those reached so far; all, at the end.
    """

    def __init__(self, nodes: int) -> None:
        """Begin with a set of nodes."""
        self.nodes = nodes
        self._last = self._more = 0

    def __iter__(self) -> Iterator[int]:
        """Yield the numbers of the nodes."""
        pending = self.nodes
        while pending:
            self._more = 0
            yield from members(pending)
            pending = self._more & ~self.nodes
            self.nodes |= pending

    def leads_to(self, eligible: int) -> None:
        """Walk over a set of nodes as well."""
        # NOTE: by identity, since comparing sets of thousands takes its time
        # and neighbours mostly share theirs.
        if eligible is not self._last:
            self._last = eligible
            self._more |= eligible
