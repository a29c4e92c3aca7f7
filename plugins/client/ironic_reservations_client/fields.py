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

"""Classes for the descriptions of resources.

The payloads, the resources of openstacksdk and the commands are made from the
descriptions in :mod:`resources`.
"""

from __future__ import annotations

from collections.abc import Iterator
from collections.abc import Mapping
import dataclasses
import datetime
import enum
from typing import Any

from ironic_reservations_client import flavors
from ironic_reservations_client import times


class Kind(enum.Enum):
    """The content of a field."""

    TEXT = enum.auto()
    FLAG = enum.auto()
    NUMBER = enum.auto()
    #: A duration in seconds.
    SECONDS = enum.auto()
    #: The same; commands also take a number without a unit.
    PLAIN_SECONDS = enum.auto()
    INSTANT = enum.auto()
    #: Two instants.
    WINDOW = enum.auto()
    TEXTS = enum.auto()
    #: Several texts in a request, and one in the answer.
    CHOICE = enum.auto()
    OBJECT = enum.auto()
    OBJECTS = enum.auto()
    FLAVOR = enum.auto()


class Shown(enum.IntEnum):
    """The outputs of commands in which a field has a column."""

    NEVER = 0
    #: One resource, alone.
    ALONE = 1
    #: A list with ``--long``, too.
    LONG = 2
    #: Each list, too.
    ALWAYS = 3


def several(value: Any) -> list[Any]:
    """Return the values of a list; a text or a mapping is one value."""
    return [value] if isinstance(value, str | Mapping) else list(value)


@dataclasses.dataclass(frozen=True)
class Field:
    """A field of a resource.

    :ivar name: the name in JSON.
    :ivar python: the name in Python; by default the same.
    :ivar sdk: the attribute in openstacksdk; by default the name.
    :ivar title: the title of its column; by default the name.
    :ivar option: the option of the commands; by default derived from the name.
    :ivar metavar: the metavar of the option; by default derived from the
        option.
    :ivar create: the help of the option that sets it in a new resource.
    :ivar change: the help of the option that changes it.
    :ivar opposite: the option that sets a flag to false, and its help.
    :ivar parts: the fields of the objects in it, if a command converts some.
    :ivar answered: whether answers of the service have the field.
    """

    name: str
    kind: Kind = Kind.TEXT
    shown: Shown = Shown.NEVER
    _: dataclasses.KW_ONLY
    python: str = ''
    sdk: str = ''
    title: str = ''
    option: str = ''
    metavar: str = ''
    create: str = ''
    change: str = ''
    opposite: tuple[str, str] | None = None
    parts: tuple[Field, ...] = ()
    answered: bool = True

    def __post_init__(self) -> None:
        for name, default in (
                ('python', self.name), ('sdk', self.name),
                ('title', self.name),
                ('option', f'--{self.name.replace("_", "-")}')):
            object.__setattr__(self, name, getattr(self, name) or default)

    def written(self, value: Any) -> Any:
        """Return a value of Python in the form in which it is sent."""
        if self.kind is Kind.INSTANT:
            return times.written(value)
        if self.kind is Kind.WINDOW:
            return [times.written(each) for each in value]
        if self.kind is Kind.FLAVOR:
            return flavors.shown(value)
        if self.kind in (Kind.CHOICE, Kind.TEXTS):
            return several(value)
        if self.kind is Kind.OBJECTS:
            return [dict(each) for each in several(value)]
        return (value.isoformat() if isinstance(value, datetime.datetime)
                else value)


@dataclasses.dataclass(frozen=True)
class Resource:
    """A kind of resource.

    :ivar name: the name of the kind, and the key of one resource in an answer.
    :ivar plural: the key of a list of resources in an answer.
    :ivar path: the path of the list of resources, below ``/v1``.
    :ivar fields: the fields; the first one identifies a resource.
    :ivar of_leases: whether requests name the version of leases as well.
    """

    name: str
    plural: str
    path: str
    fields: tuple[Field, ...]
    _: dataclasses.KW_ONLY
    of_leases: bool = False

    def field(self, python: str) -> Field:
        """Return the field with a name in Python.

        :raises TypeError: the resource has none.
        """
        for field in self.fields:
            if field.python == python:
                return field
        raise TypeError(f'A {self.name} has no {python!r}.')

    def body(self, **given: Any) -> dict[str, Any]:
        """Return the body of a request, without fields that are ``None``.

        :param given: the fields by their names in Python.
        """
        return {field.name: field.written(value)
                for field, value in ((self.field(name), value)
                                     for name, value in given.items())
                if value is not None}

    def content(self, answer: Mapping[str, Any]) -> dict[str, Any]:
        """Return the fields in an answer, and those beside the resource."""
        beside = {**answer}
        return {**beside.pop(self.name, {}), **beside}

    def columns(self, shown: Shown) -> tuple[str, ...]:
        """Return the names of the fields that have a column in an output."""
        return tuple(field.name for field in self.fields
                     if field.shown >= shown)

    def sortable(self) -> tuple[str, ...]:
        """Return the names of the fields that can order a list."""
        return tuple(
            field.name for field in self.fields if field.shown >= Shown.LONG
            and field.kind not in (Kind.OBJECT, Kind.OBJECTS, Kind.TEXTS))

    def read(self, parsed: Mapping[str, Any], use: str) -> dict[str, Any]:
        """Return the values of the fields in a command line, by Python names.

        :param parsed: the parsed options, by the Python names of their fields.
        :param use: ``create`` or ``change``.
        """
        return {field.python: parsed[field.python] for field in self.fields
                if getattr(field, use) and field.python in parsed}

    def every(self) -> Iterator[Field]:
        """Yield all fields, and the fields of the objects in them."""
        for field in self.fields:
            yield field
            yield from field.parts
