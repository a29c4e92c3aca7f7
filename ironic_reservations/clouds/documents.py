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

"""Check the documents in the answers of other services.

A proxy in front of a service may answer in its place. Such an answer must be
taken neither for an error of ours nor for "there is none".
"""

from __future__ import annotations

import numbers
from typing import Any
from typing import TypeVar

_T = TypeVar('_T')
_MISSING = object()
_NAMES: dict[type[Any], str] = {
    dict: 'an object', list: 'a list', str: 'a string', int: 'a whole number',
    float: 'a number', numbers.Real: 'a number', bool: 'a boolean',
    type(None): 'null'}


class Malformed(Exception):
    """A document has another shape; the message is a clause that says how."""


def of_kind(value: Any, kind: type[_T], name: str) -> _T:
    """Return a value if it is of a kind.

    :param name: the value, in the message.
    :raises Malformed: it is not.
    """
    # bool is a subclass of int.
    if isinstance(value, kind) and (kind is bool
                                    or not isinstance(value, bool)):
        return value
    raise Malformed(f'{name} is {_NAMES.get(type(value), "a value")}, not '
                    f'{_NAMES[kind]}')


def value_of(body: Any, key: str) -> Any:
    """Return the value of a key, whatever it is.

    :raises Malformed: the key is missing.
    """
    # A client has no document where the answer is not JSON.
    value = of_kind(body, dict, 'its answer').get(key, _MISSING)
    if value is _MISSING:
        raise Malformed(f'its answer has no "{key}"')
    return value


def field(body: Any, key: str, kind: type[_T]) -> _T:
    """Return the value of a key.

    :raises Malformed: it is missing, or not of that kind.
    """
    return of_kind(value_of(body, key), kind, f'"{key}" in its answer')


def optional(body: Any, key: str, kind: type[_T]) -> _T | None:
    """Return the value of a key; ``None`` if it is missing or null.

    :raises Malformed: it is not of that kind.
    """
    value = of_kind(body, dict, 'its answer').get(key)
    return None if value is None else of_kind(value, kind,
                                              f'"{key}" in its answer')


def each_of(body: Any, key: str, kind: type[_T]) -> list[_T]:
    """Return a list of values of one kind.

    :raises Malformed: it is missing, or anything in it is not of that kind.
    """
    return [of_kind(each, kind, f'a value in "{key}" of its answer')
            for each in field(body, key, list)]


def mapping(body: Any, key: str, kind: type[_T]) -> dict[str, _T]:
    """Return an object whose values are of one kind.

    :raises Malformed: it is missing, or a value is not of that kind.
    """
    return {name: of_kind(each, kind, f'"{name}" in its answer')
            for name, each in field(body, key, dict).items()}
