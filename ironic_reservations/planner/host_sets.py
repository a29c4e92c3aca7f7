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

Nodes are numbered; a set of nodes is an integer in which bit *n* is node *n*.
Set operations then take one machine operation for each 64 nodes.
"""

from __future__ import annotations

from collections.abc import Iterable
from collections.abc import Iterator
import dataclasses
import functools
import itertools

#: The digits of a binary number as false and true.
_TRUTH = bytes.maketrans(b'01', b'\0\1')


@dataclasses.dataclass(frozen=True)
class HostSet:
    """The nodes that a planner may use; a node's number is its index here.

    :ivar uuids: the uuids of the nodes; their order does not affect whether a
        request is admitted.
    """

    uuids: tuple[str, ...]

    @functools.cached_property
    def _numbers(self) -> dict[str, int]:
        return {uuid: number for number, uuid in enumerate(self.uuids)}

    def number(self, uuid: str) -> int:
        """Return the number of a node.

        :raises KeyError: the node is not in the set.
        """
        return self._numbers[uuid]

    def mask(self, uuids: Iterable[str]) -> int:
        """Return a set of nodes, without the unknown ones."""
        numbers = self._numbers
        return mask(numbers[uuid] for uuid in uuids if uuid in numbers)


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


# Cached, since the same few sets are used again and again, and splitting
# a set of 10,000 nodes costs as much as finding a free one in it.
@functools.lru_cache(maxsize=512)
def members(nodes: int) -> tuple[int, ...]:
    """Return the numbers of the nodes of a set, in order."""
    digits = bin(nodes)[:1:-1].encode().translate(_TRUTH)
    return tuple(itertools.compress(_numbers(len(digits).bit_length()),
                                    digits))


# The sets share their numbers: those of 512 sets of 10,000 nodes would take
# 140 MB.
@functools.cache
def _numbers(octaves: int) -> tuple[int, ...]:
    return tuple(range(1 << octaves))


class Walk:
    """A walk over all nodes that moves can reach from a set.

    The caller reports for each movable booking where else it may go, and these
    nodes are walked over, too. Each node is visited once.

    :ivar nodes: the set of nodes reached so far.
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
        """Add the eligible nodes of a booking to the walk."""
        # Compared by identity, since comparing large sets is slow, and
        # adjacent bookings mostly share one object.
        if eligible is not self._last:
            self._last = eligible
            self._more |= eligible
