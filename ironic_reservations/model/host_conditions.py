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

"""Evaluates conditions on the properties of a host.

Two numbers are compared as numbers, all other values as text. A property that
a host does not have matches no comparison, not even ``!=``.
"""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Iterator
from collections.abc import Mapping
import dataclasses
import decimal
import functools
import re
from typing import Any

_NUMBER = re.compile(
    r'[+-]?([0-9]+(\.[0-9]*)?|\.[0-9]+)([eE][+-]?[0-9]{1,3})?')
MAX_DIGITS = 64

Value = str | float | frozenset[str]
Known = Mapping[str, Value]
#: The first says whether a condition can hold, the second whether it can fail,
#: if only some of the properties are known.
Outcomes = tuple[bool, bool]


def number(text: str) -> decimal.Decimal | None:
    """Parse a number; return ``None`` for any other or too long text."""
    # With floats, different serial numbers of 17 digits could be equal.
    if len(text) > MAX_DIGITS or not _NUMBER.fullmatch(text):
        return None
    return decimal.Decimal(text)


#: Caches values of hosts, which repeat; values of requests are unbounded, and
#: are not cached.
_number_of_host = functools.lru_cache(maxsize=16_384)(number)


@dataclasses.dataclass(frozen=True)
class _Term:
    """A comparison of a property."""

    name: str

    def matches(self, known: Known) -> bool:
        raise NotImplementedError

    def terms(self) -> Iterator[_Term]:
        yield self

    def outcomes(self, known: Known) -> Outcomes:
        if self.name not in known:
            return True, True
        holds = self.matches(known)
        return holds, not holds


@dataclasses.dataclass(frozen=True)
class Among(_Term):
    """The condition that a property is (or is not) among literals."""

    literals: frozenset[str]
    numbers: frozenset[decimal.Decimal]
    within: bool = True

    def matches(self, known: Known) -> bool:
        value = known.get(self.name)
        if value is None:
            return False
        if isinstance(value, frozenset):
            # Traits are never compared as numbers.
            return self.literals.isdisjoint(value) is not self.within
        text = value if isinstance(value, str) else str(value)
        held = text in self.literals or (
            bool(self.numbers) and _number_of_host(text) in self.numbers)
        return held is self.within


@dataclasses.dataclass(frozen=True)
class Ordered(_Term):
    """The condition that a property is less or greater than a literal."""

    compare: Callable[[Any, Any], bool]
    literal: str
    number: decimal.Decimal | None

    def matches(self, known: Known) -> bool:
        value = known.get(self.name)
        if value is None or isinstance(value, frozenset):
            return False
        text = value if isinstance(value, str) else str(value)
        if self.number is not None:
            number = _number_of_host(text)
            if number is not None:
                return self.compare(number, self.number)
        return self.compare(text, self.literal)


@dataclasses.dataclass(frozen=True)
class Not:
    """The condition that another condition is not met."""

    part: Condition

    def matches(self, known: Known) -> bool:
        return not self.part.matches(known)

    def terms(self) -> Iterator[_Term]:
        return self.part.terms()

    def outcomes(self, known: Known) -> Outcomes:
        holds, fails = self.part.outcomes(known)
        return fails, holds


@dataclasses.dataclass(frozen=True)
class _Joined:
    """Several conditions."""

    parts: tuple[Condition, ...]

    def terms(self) -> Iterator[_Term]:
        for part in self.parts:
            yield from part.terms()


class And(_Joined):
    """The condition that all of some conditions are met; true for none."""

    def matches(self, known: Known) -> bool:
        # A loop, since all() with a generator takes twice as long.
        for part in self.parts:
            if not part.matches(known):
                return False
        return True

    def outcomes(self, known: Known) -> Outcomes:
        found = [part.outcomes(known) for part in self.parts]
        return (all(holds for holds, _ in found),
                any(fails for _, fails in found))


class Or(_Joined):
    """The condition that any of some conditions is met."""

    def matches(self, known: Known) -> bool:
        for part in self.parts:
            if part.matches(known):
                return True
        return False

    def outcomes(self, known: Known) -> Outcomes:
        found = [part.outcomes(known) for part in self.parts]
        return (any(holds for holds, _ in found),
                all(fails for _, fails in found))


Condition = Among | Ordered | Not | And | Or


def among(name: str, literals: tuple[str, ...],
          within: bool = True) -> Among:
    """Return the condition that a property is (or is not) among literals."""
    numbers = (number(literal) for literal in literals)
    return Among(name, frozenset(literals), frozenset(
        each for each in numbers if each is not None), within)


def joined(kind: type[And] | type[Or],
           parts: list[Condition]) -> Condition:
    """Join conditions, flattening nested ones of the same kind."""
    flat: list[Condition] = []
    for part in parts:
        if isinstance(part, kind):
            flat.extend(part.parts)
        else:
            flat.append(part)
    return flat[0] if len(flat) == 1 else kind(tuple(flat))
