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

"""Generations, which no two histories of a database have in common.

A fail-over to a replica that lacks the last commits, or a restored backup,
makes another history of the same rows. A count would reach the same numbers
in both histories; the number of a change is therefore random.
"""

from __future__ import annotations

import secrets

# After 2 ** 25 changes of each node, the sum of 64 generations still has
# less than 63 bits.
_FIRST = 1 << 48
_LONGEST_STEP = 1 << 32
#: The columns of some tables have 31 bits.
_FRESH = 1 << 30


def first() -> int:
    """Return the generation of a new node, whose uuid may have been used."""
    return 1 + secrets.randbelow(_FIRST)


def step() -> int:
    """Return the amount by which a change raises a number that never falls."""
    return 1 + secrets.randbelow(_LONGEST_STEP)


def fresh() -> int:
    """Return a number for a change whose order does not matter."""
    return 1 + secrets.randbelow(_FRESH)
