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

"""Parses conditions: Blazar's grammar, with the extensions in the user guide.

A text is either empty, which means no condition, or JSON, such as ``["==",
"$vcpus", "4"]`` or ``["and", X, Y]``.
"""

from __future__ import annotations

from collections.abc import Callable
import json
import operator
from typing import Any
from typing import NoReturn

from ironic_reservations.model import host_conditions as conditions
from ironic_reservations.model import nesting

MAX_LENGTH = 10_000
MAX_DEPTH = 32

_REFERENCE = '$'
_EXAMPLE = 'Write it like ["==", "$vcpus", "4"]'
#: Each ordering, and the equivalent one with swapped sides.
_ORDERS: dict[str, tuple[Callable[[Any, Any], bool],
                         Callable[[Any, Any], bool]]] = {
    '>=': (operator.ge, operator.le),
    '<=': (operator.le, operator.ge),
    '>': (operator.gt, operator.lt),
    '<': (operator.lt, operator.gt),
}
# Blazar accepts "=", too, although it is not documented.
_EQUALITIES = {'==': True, '=': True, '!=': False}
_OPERATORS = '==, !=, >=, <=, >, <, in, and, or, not'
_WHITE_SPACE = ' \t\r\n'


def read(source: str, text: str) -> conditions.Condition | None:
    """Parse a text; return ``None`` if it contains no condition.

    :param source: the name of its field, for error messages.
    :raises ValueError: the text does not match the grammar, or is too large.
    """
    if len(text) > MAX_LENGTH:
        raise ValueError(
            f'The {source} have {len(text)} characters. Write at most '
            f'{MAX_LENGTH}.')
    if not text.strip(_WHITE_SPACE):
        return None
    try:
        # The innermost condition may contain a list of literals.
        nesting.check(text.encode('utf-8', 'surrogatepass'), MAX_DEPTH + 1)
        # Numbers stay text, so that 4 and "4" are the same.
        value = json.loads(text, parse_int=_literal_number,
                           parse_float=_literal_number,
                           parse_constant=_no_number)
    except json.JSONDecodeError as e:
        raise ValueError(
            f'The {source} are not JSON: {e.msg} at character {e.pos + 1}. '
            f'{_EXAMPLE}, or leave them empty.') from e
    except nesting.TooDeep as e:
        raise ValueError(_too_deep(source)) from e
    except ValueError as e:
        raise ValueError(f'In the {source}, {e}') from e
    # Blazar treats "[]" as empty, but only as the whole text.
    return None if value == [] else _condition(source, value, 1)


def _literal_number(text: str) -> str:
    if conditions.number(text) is None:
        raise ValueError(
            f'the number {text[:20]}... is too long. Write at most '
            f'{conditions.MAX_DIGITS} characters, and an exponent of at most '
            '3 digits.')
    return text


def _no_number(text: str) -> NoReturn:
    raise ValueError(f'{text} is not a number of JSON. Write a finite number, '
                     'or quote it to compare with the word.')


def _condition(where: str, value: object, depth: int) -> conditions.Condition:
    """Parse one condition."""
    if depth > MAX_DEPTH:
        raise ValueError(_too_deep(where.partition('[')[0]))
    if not isinstance(value, list) or not value:
        raise ValueError(
            f'{where} is {_shown(value)}, not a condition. {_EXAMPLE}.')
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
            return conditions.Not(parts[0])
        return conditions.joined(
            conditions.And if word == 'and' else conditions.Or, parts)
    if not isinstance(word, str) or not (
            word == 'in' or word in _ORDERS or word in _EQUALITIES):
        raise ValueError(
            f'{where}[0] is {_shown(word)}, not an operator. Write one of '
            f'{_OPERATORS}, like ["==", "$vcpus", "4"].')
    if len(sides) != 2:
        raise ValueError(
            f'{where} gives "{word}" {len(sides)} sides, not 2. '
            f'{_EXAMPLE}.')
    if word == 'in':
        return _membership(where, *sides)
    return _comparison(where, word, *sides)


def _comparison(where: str, word: str, left: object,
                right: object) -> conditions.Condition:
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
        return conditions.among(name, (literal,), _EQUALITIES[word])
    return conditions.Ordered(name, _ORDERS[word][mirrored], literal,
                              conditions.number(literal))


def _membership(where: str, left: object,
                right: object) -> conditions.Condition:
    if _refers(left) and isinstance(right, list) and right:
        return conditions.among(_name(f'{where}[1]', left), tuple(
            _literal(f'{where}[2][{place}]', value)
            for place, value in enumerate(right)))
    if _refers(right) and not _refers(left):
        return conditions.among(_name(f'{where}[2]', right),
                      (_literal(f'{where}[1]', left),))
    raise ValueError(
        f'{where} looks for {_shown(left)} in {_shown(right)}. Write it like '
        '["in", "$rack", ["r1", "r2"]] or ["in", "CUSTOM_GPU", "$traits"].')


def _refers(value: object) -> bool:
    return isinstance(value, str) and value.startswith(_REFERENCE)


def _name(where: str, value: object) -> str:
    assert isinstance(value, str)
    if value == _REFERENCE:
        raise ValueError(f'{where} is a $ without a name. {_EXAMPLE}.')
    return value.removeprefix(_REFERENCE)


def _literal(where: str, value: object) -> str:
    if not isinstance(value, str):
        raise ValueError(
            f'{where} is {_shown(value)}, not a value to compare with. Write '
            'a string or a number, like "4".')
    if _refers(value):
        raise ValueError(
            f'{where} is {_shown(value)}, the name of a property where a '
            f'value belongs. {_EXAMPLE}.')
    return value


def _too_deep(source: str) -> str:
    return (f'The conditions in the {source} are nested too deep. Write at '
            f'most {MAX_DEPTH} within each other.')


def _shown(value: object) -> str:
    # Printed in ASCII, since a lone surrogate could not be sent.
    text = json.dumps(value)
    return text if len(text) <= 60 else text[:57] + '...'
