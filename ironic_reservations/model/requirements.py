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

"""What a lease asks of its hosts: Blazar's properties, compiled once.

A text is empty, which asks for nothing, or JSON: ``["==", "$vcpus", "4"]``,
``["and", X, Y]`` and what the user guide adds to it. Two numbers compare as
numbers, all else as text. A property that a host does not have matches no
comparison, not even ``!=``.
"""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Iterable
from collections.abc import Iterator
from collections.abc import Mapping
import dataclasses
import decimal
import functools
import json
import operator
import re
from typing import Any
from typing import NoReturn

from ironic_reservations.model import flavors
from ironic_reservations.model import host_inventories
from ironic_reservations.model import instance_reservations
from ironic_reservations.model import inventories
from ironic_reservations.model import leases
from ironic_reservations.model import nesting
from ironic_reservations.model import node_condition

MAX_LENGTH = 10_000
MAX_DEPTH = 32
MAX_TERMS = 500

#: What every host may have. A capability of such a name is not seen.
BUILTIN = frozenset({
    'id', 'hypervisor_hostname', 'hypervisor_type', 'vcpus', 'memory_mb',
    'local_gb', 'cpu_info', 'status', 'reservable', 'cpus', 'memory', 'disk',
    'arch', 'cpu_arch', 'resource_class', 'traits', 'node_uuid', 'name',
    'owner'})

#: What the names of Ironic's properties are called here.
_OF_PROPERTIES = {
    'cpus': ('vcpus', 'cpus'),
    'memory_mb': ('memory_mb', 'memory'),
    'local_gb': ('local_gb', 'disk'),
    'cpu_arch': ('arch', 'cpu_arch'),
}

#: What the properties of a compute host are in Placement.
_OF_INVENTORIES = {flavors.VCPU: 'cpus', flavors.MEMORY_MB: 'memory_mb',
                   flavors.DISK_GB: 'local_gb'}

_OWNER = 'owner'
_REFERENCE = '$'
_LIKE_THIS = 'Write it like ["==", "$vcpus", "4"]'
#: Each comparison of order, and the one that means it with its sides swapped.
_ORDERS: dict[str, tuple[Callable[[Any, Any], bool],
                         Callable[[Any, Any], bool]]] = {
    '>=': (operator.ge, operator.le),
    '<=': (operator.le, operator.ge),
    '>': (operator.gt, operator.lt),
    '<': (operator.lt, operator.gt),
}
# NOTE: "=" is not documented by Blazar, yet taken by it.
_EQUALITIES = {'==': True, '=': True, '!=': False}
_OPERATORS = '==, !=, >=, <=, >, <, in, and, or, not'

_NUMBER = re.compile(
    r'[+-]?([0-9]+(\.[0-9]*)?|\.[0-9]+)([eE][+-]?[0-9]{1,3})?')
_MAX_DIGITS = 64
_WHITE_SPACE = ' \t\r\n'

Value = str | float | frozenset[str]
Known = Mapping[str, Value]
#: Whether a condition can hold, and whether it can fail, where only some of
#: the properties are known.
_Outcomes = tuple[bool, bool]


def _number(text: str) -> decimal.Decimal | None:
    # NOTE: a float would take two serial numbers of 17 digits for the same.
    if len(text) > _MAX_DIGITS or not _NUMBER.fullmatch(text):
        return None
    return decimal.Decimal(text)


#: Of what the hosts have, which comes again and again; what requests say is
#: unbounded and stays out.
_number_of_host = functools.lru_cache(maxsize=16_384)(_number)


@dataclasses.dataclass(frozen=True)
class _Among:
    """Whether a property is (``within``) one of some literals, or none."""

    name: str
    literals: frozenset[str]
    numbers: frozenset[decimal.Decimal]
    within: bool = True

    def matches(self, known: Known) -> bool:
        value = known.get(self.name)
        if value is None:
            return False
        if isinstance(value, frozenset):
            # NOTE: traits are words, never numbers.
            return self.literals.isdisjoint(value) is not self.within
        text = value if isinstance(value, str) else str(value)
        held = text in self.literals or (
            bool(self.numbers) and _number_of_host(text) in self.numbers)
        return held is self.within

    def terms(self) -> Iterator[_Among | _Ordered]:
        yield self

    def outcomes(self, known: Known) -> _Outcomes:
        return _of_term(self, known)


@dataclasses.dataclass(frozen=True)
class _Ordered:
    """Whether a property comes before or after a literal."""

    name: str
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

    def terms(self) -> Iterator[_Among | _Ordered]:
        yield self

    def outcomes(self, known: Known) -> _Outcomes:
        return _of_term(self, known)


@dataclasses.dataclass(frozen=True)
class _Not:
    """Whether a condition does not hold."""

    part: _Condition

    def matches(self, known: Known) -> bool:
        return not self.part.matches(known)

    def terms(self) -> Iterator[_Among | _Ordered]:
        return self.part.terms()

    def outcomes(self, known: Known) -> _Outcomes:
        holds, fails = self.part.outcomes(known)
        return fails, holds


@dataclasses.dataclass(frozen=True)
class _And:
    """Whether all of some conditions hold; of none, they do."""

    parts: tuple[_Condition, ...]

    def matches(self, known: Known) -> bool:
        # NOTE: a loop, for all() with a generator takes twice as long.
        for part in self.parts:
            if not part.matches(known):
                return False
        return True

    def terms(self) -> Iterator[_Among | _Ordered]:
        for part in self.parts:
            yield from part.terms()

    def outcomes(self, known: Known) -> _Outcomes:
        found = [part.outcomes(known) for part in self.parts]
        return (all(holds for holds, _ in found),
                any(fails for _, fails in found))


@dataclasses.dataclass(frozen=True)
class _Or:
    """Whether any of some conditions holds."""

    parts: tuple[_Condition, ...]

    def matches(self, known: Known) -> bool:
        for part in self.parts:
            if part.matches(known):
                return True
        return False

    def terms(self) -> Iterator[_Among | _Ordered]:
        for part in self.parts:
            yield from part.terms()

    def outcomes(self, known: Known) -> _Outcomes:
        found = [part.outcomes(known) for part in self.parts]
        return (any(holds for holds, _ in found),
                all(fails for _, fails in found))


_Condition = _Among | _Ordered | _Not | _And | _Or


def _of_term(term: _Among | _Ordered, known: Known) -> _Outcomes:
    if term.name not in known:
        return True, True
    holds = term.matches(known)
    return holds, not holds


@dataclasses.dataclass(frozen=True)
class Requirement:
    """What a host must be like, read from text by :func:`parse`.

    :ivar names: the properties that it asks about, without their ``$``.
    :ivar terms: of how many comparisons it is.
    :ivar need: of the instance that a host has to have room for when it is
        empty; ``None``: it is had whole.
    """

    condition: _Condition
    names: frozenset[str] = dataclasses.field(compare=False)
    need: instance_reservations.Need | None = None
    terms: int = dataclasses.field(default=0, compare=False)

    def __hash__(self) -> int:
        return self._hash

    # NOTE: sets of hosts are looked up by it, once for each booking.
    @functools.cached_property
    def _hash(self) -> int:
        return hash((self.condition, self.need))

    def names_beside_own(self, project_id: str | None) -> frozenset[str]:
        """Return the names, without those that ask for own hosts only.

        NOTE: which hosts are its own, a project knows; words that are numbers
        are compared as such, and could be another project's.  "!=" is met by
        hosts that have an owner and by no others, so it tells which these
        are.

        :param project_id: which project asks.
        """
        own = all(isinstance(term, _Among) and term.within
                  and not term.numbers and term.literals == {project_id}
                  for term in self.condition.terms() if term.name == _OWNER)
        return self.names - {_OWNER} if own else self.names

    def matches(self, known: Known) -> bool:
        """Return whether a host is as the texts say.

        :param known: its properties, as of :func:`of_host`.
        """
        return self.condition.matches(known)

    def met_by(self, host: Described) -> bool:
        """Return whether a host will do, when it is empty.

        NOTE: a compute host is had in shares only.
        """
        if self.need is None:
            return not host.compute and self.matches(host.known)
        return self.matches(host.known) and self.need.met_by(
            host.inventories, host.traits)


@dataclasses.dataclass(frozen=True)
class Described:
    """A host, as far as requirements ask about it.

    :ivar known: its properties.
    :ivar inventories: what it has.
    :ivar compute: whether instances share it.
    """

    known: Known
    inventories: inventories.Inventories
    traits: frozenset[str]
    compute: bool


# NOTE: few, since each may be as large as a request is allowed to be; all
# the leases that ask for the same share one.
@functools.lru_cache(maxsize=128)
def parse(hypervisor_properties: str, resource_properties: str,
          need: instance_reservations.Need | None = None) -> Requirement:
    """Read what a lease asks of its hosts; a host must do for both texts.

    Texts that differ only in the white space of their JSON give equal values.

    :param need: of the instance that a host has to have room for, when it
        is empty.
    :raises ValueError: a text is not of the grammar, or too large.
    """
    parts = [condition for source, text in (
        ('hypervisor_properties', hypervisor_properties),
        ('resource_properties', resource_properties))
        if (condition := _text(source, text)) is not None]
    condition = _joined(_And, parts)
    terms = list(condition.terms())
    if len(terms) > MAX_TERMS:
        raise ValueError(
            f'The hypervisor_properties and resource_properties make '
            f'{len(terms)} comparisons. Write at most {MAX_TERMS}; '
            '["in", "$rack", ["r1", "r2"]] counts as one.')
    return Requirement(condition, frozenset(term.name for term in terms),
                       need, len(terms))


def admitted_classes(hypervisor_properties: str, resource_properties: str,
                     classes: Iterable[str]) -> frozenset[str]:
    """Return which resource classes hosts can be of that do for both texts.

    All other properties are taken for unknown: only comparisons with
    ``resource_class`` rule a class out.

    :param classes: those that matter.
    :raises ValueError: a text is not of the grammar, or too large.
    """
    # NOTE: of all that a project has; what is asked for now stays in there.
    condition = parse.__wrapped__(hypervisor_properties,
                                  resource_properties).condition
    return frozenset(name for name in classes if condition.outcomes(
        {'resource_class': name})[0])


def describe(host: leases.Host) -> Described:
    """Return a host as requirements see it."""
    return Described(of_host(host), host_inventories.of(host.node),
                     host.node.traits, host.node.compute)


def suits(wanted: Requirement, host: leases.Host) -> bool:
    """Check whether a host will do, or will once it is empty and available.

    NOTE: a lease may ask for hosts in a state, and whoever has a host until
    then puts it into others.
    """
    described = describe(host)
    return wanted.met_by(described) or not described.compute and (
        wanted.met_by(dataclasses.replace(described, known={
            **described.known, 'status': node_condition.AVAILABLE})))


def of_host(host: leases.Host) -> dict[str, Value]:
    """Return what a host can be asked for, by name.

    What Ironic does not say of the node is absent, not empty; ``traits`` are
    always there.
    """
    node = host.node
    known: dict[str, Value] = {
        name: value for name, value in host.capabilities.items()
        if name not in BUILTIN}
    known.update(
        id=str(host.id), hypervisor_hostname=node.name or node.uuid,
        hypervisor_type='compute' if node.compute else 'ironic',
        reservable=str(host.reservable), node_uuid=node.uuid,
        traits=node.traits)
    for name, value in (('name', node.name), ('owner', node.owner),
                        ('resource_class', node.resource_class),
                        ('status', node.provision_state)):
        if value:
            known[name] = value
    for key, there in node.inventories or ():
        for name in _OF_PROPERTIES.get(_OF_INVENTORIES.get(key, ''), ()):
            known[name] = str(there.total)
    for key, value in node.properties:
        if value:
            for name in _OF_PROPERTIES.get(key, ()):
                known[name] = value
            if key == 'cpu_arch':
                known['cpu_info'] = json.dumps({'arch': value})
    return known


def _text(source: str, text: str) -> _Condition | None:
    if len(text) > MAX_LENGTH:
        raise ValueError(
            f'The {source} have {len(text)} characters. Write at most '
            f'{MAX_LENGTH}.')
    if not text.strip(_WHITE_SPACE):
        return None
    try:
        # NOTE: a list of literals may be within the innermost condition.
        nesting.check(text.encode('utf-8', 'surrogatepass'), MAX_DEPTH + 1)
        # NOTE: numbers stay text, so that 4 and "4" are the same.
        value = json.loads(text, parse_int=_literal_number,
                           parse_float=_literal_number,
                           parse_constant=_no_number)
    except json.JSONDecodeError as e:
        raise ValueError(
            f'The {source} are not JSON: {e.msg} at character {e.pos + 1}. '
            f'{_LIKE_THIS}, or leave them empty.') from e
    except nesting.TooDeep as e:
        raise ValueError(_too_deep(source)) from e
    except ValueError as e:
        raise ValueError(f'In the {source}, {e}') from e
    # NOTE: Blazar takes "[]" for "", though only as the whole text.
    return None if value == [] else _condition(source, value, 1)


def _literal_number(text: str) -> str:
    if _number(text) is None:
        raise ValueError(
            f'the number {text[:20]}... is too long. Write at most '
            f'{_MAX_DIGITS} characters, and an exponent of at most 3 digits.')
    return text


def _no_number(text: str) -> NoReturn:
    raise ValueError(f'{text} is not a number of JSON. Write a finite number, '
                     'or quote it to compare with the word.')


def _condition(where: str, value: object, depth: int) -> _Condition:
    """Read one condition.

    :param where: it stands, for the message of an error.
    :raises ValueError: it is not of the grammar.
    """
    if depth > MAX_DEPTH:
        raise ValueError(_too_deep(where.partition('[')[0]))
    if not isinstance(value, list) or not value:
        raise ValueError(
            f'{where} is {_shown(value)}, not a condition. {_LIKE_THIS}.')
    word, *sides = value
    if word in ('and', 'or', 'not'):
        if not sides or (word == 'not' and len(sides) > 1):
            raise ValueError(
                f'{where} gives "{word}" {len(sides)} conditions. Write '
                + ('exactly one, like ["not", ["==", "$vcpus", "4"]].'
                   if word == 'not' else
                   f'one or more, like ["{word}", ["==", "$vcpus", "4"]].'))
        parts = [_condition(f'{where}[{place}]', side, depth + 1)
                 for place, side in enumerate(sides, 1)]
        if word == 'not':
            return _Not(parts[0])
        return _joined(_And if word == 'and' else _Or, parts)
    if not isinstance(word, str) or not (
            word == 'in' or word in _ORDERS or word in _EQUALITIES):
        raise ValueError(
            f'{where}[0] is {_shown(word)}, not an operator. Write one of '
            f'{_OPERATORS}, like ["==", "$vcpus", "4"].')
    if len(sides) != 2:
        raise ValueError(
            f'{where} gives "{word}" {len(sides)} sides, not 2. '
            f'{_LIKE_THIS}.')
    if word == 'in':
        return _membership(where, *sides)
    return _comparison(where, word, *sides)


def _comparison(where: str, word: str, left: object,
                right: object) -> _Condition:
    mirrored = _refers(right)
    if _refers(left) is mirrored:
        raise ValueError(
            f'{where} compares {_shown(left)} with {_shown(right)}. Write '
            'exactly one of them as the name of a property, which begins '
            'with $, like ["==", "$vcpus", "4"].')
    if mirrored:
        name = _name(f'{where}[2]', right)
        literal = _literal(f'{where}[1]', left)
    else:
        name = _name(f'{where}[1]', left)
        literal = _literal(f'{where}[2]', right)
    if word in _EQUALITIES:
        return _among(name, (literal,), _EQUALITIES[word])
    return _Ordered(name, _ORDERS[word][mirrored], literal, _number(literal))


def _membership(where: str, left: object, right: object) -> _Condition:
    if _refers(left) and isinstance(right, list) and right:
        return _among(_name(f'{where}[1]', left), tuple(
            _literal(f'{where}[2][{place}]', value)
            for place, value in enumerate(right)))
    if _refers(right) and not _refers(left):
        return _among(_name(f'{where}[2]', right),
                      (_literal(f'{where}[1]', left),))
    raise ValueError(
        f'{where} looks for {_shown(left)} in {_shown(right)}. Write it like '
        '["in", "$rack", ["r1", "r2"]] or ["in", "CUSTOM_GPU", "$traits"].')


def _among(name: str, literals: tuple[str, ...],
           within: bool = True) -> _Among:
    numbers = (_number(literal) for literal in literals)
    return _Among(name, frozenset(literals), frozenset(
        number for number in numbers if number is not None), within)


def _joined(kind: type[_And] | type[_Or],
            parts: list[_Condition]) -> _Condition:
    """Put conditions together, those within a condition of that kind too."""
    flat: list[_Condition] = []
    for part in parts:
        if isinstance(part, kind):
            flat.extend(part.parts)
        else:
            flat.append(part)
    return flat[0] if len(flat) == 1 else kind(tuple(flat))


def _refers(value: object) -> bool:
    return isinstance(value, str) and value.startswith(_REFERENCE)


def _name(where: str, value: object) -> str:
    assert isinstance(value, str)
    if value == _REFERENCE:
        raise ValueError(f'{where} is a $ without a name. {_LIKE_THIS}.')
    return value.removeprefix(_REFERENCE)


def _literal(where: str, value: object) -> str:
    if not isinstance(value, str):
        raise ValueError(
            f'{where} is {_shown(value)}, not a value to compare with. Write '
            'a string or a number, like "4".')
    if _refers(value):
        raise ValueError(
            f'{where} is {_shown(value)}, the name of a property where a '
            f'value belongs. {_LIKE_THIS}.')
    return value


def _too_deep(source: str) -> str:
    return (f'The conditions in the {source} are nested too deep. Write at '
            f'most {MAX_DEPTH} within each other.')


def _shown(value: object) -> str:
    # NOTE: ASCII, so that a message with half a surrogate pair can be sent.
    text = json.dumps(value)
    return text if len(text) <= 60 else text[:57] + '...'
