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

"""WSME types of requests, each part with its version.

WSME's own types are lenient (``"5"`` is a number, a week is a date); these
accept one spelling each, and say which.
"""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Mapping
import datetime
import re
from typing import Any
from typing import TypeVar

from wsme import exc as wsme_exc
from wsme import types as wtypes
from wsme.rest import json as wsme_json

from ironic_reservations import errors
from ironic_reservations.api import versions
from ironic_reservations.engine.reservations import find
from ironic_reservations.lifecycle.placement import node_flavors
from ironic_reservations.model import flavors
from ironic_reservations.model import instants
from ironic_reservations.model import usage

_T = TypeVar('_T', bound=wtypes.Base)
_R = TypeVar('_R')

_UUID = re.compile('[0-9a-fA-F]{32}|[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-'
                   '[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}')
_INSTANT = re.compile(
    r'[0-9]{4}-[0-9]{2}-[0-9]{2}[Tt ][0-9]{2}:[0-9]{2}:[0-9]{2}'
    r'([.][0-9]{1,9})?([Zz]|[+-][0-9]{2}:[0-9]{2})')
_INTEGER = re.compile('-?[0-9]{1,1000}')
_DAY = re.compile('[0-9]{4}-[0-9]{2}-[0-9]{2}')
#: The limits leave room for computations around a day.
_FIRST_YEAR, _LAST_YEAR = 1970, instants.LAST_YEAR
_TRAIT = re.compile('[A-Z0-9_]{1,255}')
_MAX_TRAITS = 50
_MAX_CLASS = 80
_MAX_PROJECT = 255
_MAX_SECONDS = 2 ** 31 - 1


class Uuid(wtypes.UserType):
    """A UUID in any case, with or without hyphens; returned as canonical."""

    name = 'uuid'

    @staticmethod
    def validate(value: Any) -> str:
        if not isinstance(value, str) or not _UUID.fullmatch(value):
            raise ValueError(f'{shown(value)} is not a UUID')
        plain = value.replace('-', '').lower()
        return '-'.join((plain[:8], plain[8:12], plain[12:16], plain[16:20],
                         plain[20:]))


class Uuids(wtypes.UserType):
    """A list of UUIDs; duplicates are removed."""

    name = 'uuids'

    @staticmethod
    def validate(value: Any) -> tuple[str, ...]:
        if isinstance(value, str):
            raise ValueError('a list of UUIDs is expected, not a single '
                             'string: put it in brackets')
        if not isinstance(value, list):
            raise ValueError(f'a list of UUIDs is expected, not '
                             f'{shown(value)}')
        if not value:
            raise ValueError('the list is empty; send at least one UUID')
        return tuple(dict.fromkeys(Uuid.validate(item) for item in value))


class Instant(wtypes.UserType):
    """An instant in ISO 8601 with a zone; returned in UTC."""

    name = 'instant'

    @staticmethod
    def validate(value: Any) -> datetime.datetime:
        expected = ('an instant in ISO 8601 with a zone is expected, such as '
                    '2026-11-21T10:00:00+00:00')
        if not isinstance(value, str) or not _INSTANT.fullmatch(value):
            raise ValueError(f'{expected}, not {shown(value)}')
        try:
            return datetime.datetime.fromisoformat(
                value.upper()).astimezone(datetime.UTC)
        except (ValueError, OverflowError) as exc:
            raise ValueError(f'{expected}; {shown(value)} is not a valid '
                             'date') from exc


class Seconds(wtypes.UserType):
    """A whole number of seconds, at least one."""

    name = 'seconds'

    @staticmethod
    def validate(value: Any) -> int:
        # NOTE: bool is a subclass of int.
        if (not isinstance(value, int) or isinstance(value, bool)
                or not 1 <= value <= _MAX_SECONDS):
            raise ValueError('a whole number of seconds above 0 is expected, '
                             f'not {shown(value)}')
        return value


class ResourceClass(wtypes.UserType):
    """The name of a resource class, as in Ironic."""

    name = 'resource class'

    @staticmethod
    def validate(value: Any) -> str:
        if (not isinstance(value, str) or not value.isprintable()
                or not 1 <= len(value.strip()) <= len(value) <= _MAX_CLASS):
            raise ValueError('a name of 1 to '
                             f'{_MAX_CLASS} characters is expected, not '
                             f'{shown(value)}')
        return value


class Traits(wtypes.UserType):
    """A list of traits."""

    name = 'traits'

    @staticmethod
    def validate(value: Any) -> frozenset[str]:
        if not isinstance(value, list):
            raise ValueError(f'a list of traits is expected, not '
                             f'{shown(value)}')
        if len(value) > _MAX_TRAITS:
            raise ValueError(f'at most {_MAX_TRAITS} traits are accepted, not '
                             f'{len(value)}')
        for item in value:
            if not isinstance(item, str) or not _TRAIT.fullmatch(item):
                raise ValueError(
                    f'{shown(item)} is not a trait; traits are upper case '
                    'letters, digits and underscores, such as CUSTOM_GOLD')
        return frozenset(value)


class Flavor(wtypes.UserType):
    """A flavor as Nova shows it; returned as its requirements on nodes."""

    name = 'flavor'

    @staticmethod
    def validate(value: Any) -> node_flavors.Wish:
        return of_flavor(value, node_flavors.wish)


def of_flavor(value: Any, read: Callable[[Mapping[str, Any]], _R]) -> _R:
    """Parse a flavor as Nova shows it.

    :param read: parses it.
    :raises ValueError: it is no flavor, or is refused.
    """
    if not isinstance(value, dict):
        raise ValueError('a flavor as Nova shows it is expected, not '
                         f'{shown(value)}')
    try:
        return read(value)
    except flavors.FlavorRefused as exc:
        raise ValueError(str(exc).removesuffix('.')) from exc


class Limit(wtypes.UserType):
    """The size of a page, in a query."""

    name = 'limit'

    @staticmethod
    def validate(value: Any) -> int:
        if not _INTEGER.fullmatch(value) or int(value) <= 0:
            raise ValueError('a whole number above 0 is expected, not '
                             f'{shown(value)}')
        return int(value)


class Name(wtypes.UserType):
    """The id of a project."""

    name = 'name'

    @staticmethod
    def validate(value: Any) -> str:
        if not value.isprintable() or not 1 <= len(value) <= _MAX_PROJECT:
            raise ValueError(f'{shown(value)} is not the id of a project')
        return str(value)


class Whole(wtypes.UserType):
    """A whole number above zero, in a query."""

    name = 'number'

    @staticmethod
    def validate(value: Any) -> int:
        if (not _INTEGER.fullmatch(value)
                or not 1 <= int(value) <= _MAX_SECONDS):
            raise ValueError('a whole number above 0 is expected, not '
                             f'{shown(value)}')
        return int(value)


class Text(wtypes.UserType):
    """Any string."""

    name = 'text'

    @staticmethod
    def validate(value: Any) -> str:
        if not isinstance(value, str):
            raise ValueError('a string is expected, not '
                             f'{shown(value)}')
        return value


class Properties(Text):
    """Requirements on hosts, without invisible characters."""

    name = 'properties'

    @staticmethod
    def validate(value: Any) -> str:
        text = Text.validate(value)
        # NOTE: characters that move the cursor or reverse the direction of
        # writing would show readers another text than the one that is used.
        # JSON can escape them.
        if not text.isprintable() and not _printable(text):
            raise ValueError('printable characters and white space are '
                             f'expected, not {shown(text)}')
        return text


def _printable(text: str) -> bool:
    return all(each.isprintable() or each in '\t\r\n\u3000\u00a0'
               for each in text)


class Boolean(wtypes.UserType):
    """True or false."""

    name = 'boolean'

    @staticmethod
    def validate(value: Any) -> bool:
        if not isinstance(value, bool):
            raise ValueError('true or false is expected, not '
                             f'{shown(value)}')
        return value


class Flag(wtypes.UserType):
    """True or false in a query, case-insensitive."""

    name = 'flag'

    @staticmethod
    def validate(value: Any) -> bool:
        word = value.lower()
        if word not in ('true', 'false'):
            raise ValueError('true or false is expected, not '
                             f'{shown(value)}')
        return bool(word == 'true')


class OneOf(wtypes.UserType):
    """One of some words, each with the version that added it."""

    name = 'word'

    def __init__(self, **since: int) -> None:
        self.since = since

    def validate(self, value: Any) -> str:
        if value not in self.since:
            raise ValueError(f'{shown(value)} is not one of '
                             f'{", ".join(self.since)}')
        return str(value)

    def check(self, name: str, value: str, minor: int) -> None:
        """Raise if a word is from a later version.

        :raises InvalidValue: it is.
        """
        since = self.since[value]
        if since > minor:
            raise errors.InvalidValue(
                f'{name}: {value} came with version {versions.text(since)}, '
                f'but this request uses version {versions.text(minor)}. Ask '
                f'for the later version in the header {versions.HEADER}.')


class Some(OneOf):
    """Several words, separated by commas."""

    def validate(self, value: Any) -> tuple[str, ...]:  # type: ignore
        return tuple(dict.fromkeys(OneOf.validate(self, word.strip())
                                   for word in value.split(',')))

    def check(self, name: str, value: Any, minor: int) -> None:
        for word in value:
            OneOf.check(self, name, word, minor)


class attribute(wtypes.wsattr):
    """A part of a request.

    :param since: the version that added it.
    """

    def __init__(self, datatype: Any, since: int = versions.SEED,
                 **kwargs: Any) -> None:
        super().__init__(datatype, **kwargs)
        self.since = since


#: The keys of a reservation in answers, with the version that added each.
FIELDS = {
    'uuid': versions.SEED, 'node_uuid': versions.SEED,
    'instance_uuid': versions.SEED, 'created_at': versions.SEED,
    'updated_at': versions.SEED,
    'expires_at': versions.TIMES, 'state': versions.TIMES,
    'links': versions.PAGES,
    'project_id': versions.REASONS, 'user_id': versions.REASONS,
    'suspended': versions.SUSPENDED,
    'suspended_reason': versions.SUSPENDED,
}


class NewReservation(wtypes.Base):
    """The body of ``POST /v1/reservations``."""

    instance_uuid = attribute(Uuid(), mandatory=True)
    node_uuid = attribute(Uuids())
    uuid = attribute(Uuid(), since=versions.TIMES)
    expires_at = attribute(Instant(), since=versions.TIMES)
    ttl = attribute(Seconds(), since=versions.TIMES)
    resource_class = attribute(ResourceClass(), since=versions.PICK)
    traits = attribute(Traits(), since=versions.PICK)
    flavor = attribute(Flavor(), since=versions.FLAVORS)


class NoQuery(wtypes.Base):
    """The query of a request that takes none."""


class ShowQuery(wtypes.Base):
    """The query of ``GET /v1/reservations/<uuid>``."""

    fields = attribute(Some(**FIELDS), since=versions.PAGES)


class ListQuery(ShowQuery):
    """The query of ``GET /v1/reservations``."""

    node = attribute(Uuid(), since=versions.PAGES)
    instance = attribute(Uuid(), since=versions.PAGES)
    project = attribute(Name(), since=versions.PAGES)
    limit = attribute(Limit(), since=versions.PAGES)
    marker = attribute(Uuid(), since=versions.PAGES)
    sort_key = attribute(
        OneOf(**{key: FIELDS[key] for key in find.SORT_KEYS}),
        since=versions.PAGES)
    sort_dir = attribute(OneOf(asc=versions.SEED, desc=versions.SEED),
                         since=versions.PAGES)


class LimitsQuery(wtypes.Base):
    """The query of ``GET /v1/limits``."""

    project = attribute(Name(), since=versions.LIMITS)


class Day(wtypes.UserType):
    """A day in UTC, in a query."""

    name = 'day'

    @staticmethod
    def validate(value: Any) -> datetime.date:
        try:
            if not _DAY.fullmatch(value):
                raise ValueError
            day = datetime.date.fromisoformat(value)
        except ValueError:
            raise ValueError('a day such as 2026-03-31 is expected, not '
                             f'{shown(value)}') from None
        if not _FIRST_YEAR <= day.year <= _LAST_YEAR:
            raise ValueError(f'a year from {_FIRST_YEAR} to {_LAST_YEAR} is '
                             f'expected, not {day.year}')
        return day


class UsageQuery(wtypes.Base):
    """The query of ``GET /v1/usage``."""

    first_day = attribute(Day(), since=versions.USAGE)
    last_day = attribute(Day(), since=versions.USAGE)
    by = attribute(Some(**{each.value: versions.USAGE
                             for each in usage.Group}),
                   since=versions.USAGE)
    project = attribute(Name(), since=versions.USAGE)
    all_projects = attribute(Flag(), since=versions.USAGE)


class Renewal(wtypes.Base):
    """The keys that a JSON patch may replace."""

    expires_at = attribute(Instant(), since=versions.TIMES)
    ttl = attribute(Seconds(), since=versions.TIMES)


def read(datatype: type[_T], document: Any, minor: int, what: str) -> _T:
    """Parse a body or a query at a version.

    :param what: the name for one of its parts in refusals.
    :raises InvalidValue: a value has the wrong type or is out of range.
    :raises UnknownKey: a part does not exist in this version.
    """
    if not isinstance(document, dict):
        raise errors.InvalidValue(
            f'The body is {shown(document)}, and an object is expected.')
    known = {part.name: part for part in wtypes.list_attributes(datatype)}
    for name, value in document.items():
        _check_part(known, name, value, minor, what)
    for name, part in known.items():
        if part.mandatory and name not in document:
            raise errors.InvalidValue(f'The {what} {name} is missing. Send '
                                      'it.')
    try:
        out = wsme_json.fromjson(datatype, document)
    except wsme_exc.InvalidInput as exc:
        raise errors.InvalidValue(f'{exc.fieldname}: {exc.msg}.') from exc
    for name, part in known.items():
        if name in document and isinstance(part.datatype, OneOf):
            part.datatype.check(name, getattr(out, name), minor)
    return out


def _check_part(known: Mapping[str, attribute], name: str, value: Any,
                minor: int, what: str) -> None:
    part = known.get(name)
    if part is None:
        taken = [each.name for each in known.values() if each.since <= minor]
        raise errors.UnknownKey(
            f'There is no {what} {shown(name)}'
            + (f'. Possible here: {", ".join(taken)}.' if taken
               else ': this request takes none.'))
    if part.since > minor:
        raise errors.UnknownKey(
            f'The {what} {name} came with version '
            f'{versions.text(part.since)}, but this request uses version '
            f'{versions.text(minor)}. Ask for the later version in the header '
            f'{versions.HEADER}.')
    if value is None:
        raise errors.InvalidValue(
            f'{name} must not be null. ' + (
                'Send a value.' if part.mandatory else
                f'Send a value, or leave the {what} out.'))


def given(value: Any) -> Any:
    """Return a value, or ``None`` if it is WSME's Unset."""
    return None if value is wtypes.Unset else value


def shown(value: Any) -> str:
    """Return a client's value for a message, shortened."""
    if value is None:
        return 'null'
    if isinstance(value, (dict, list)):
        return 'an object' if isinstance(value, dict) else 'a list'
    if isinstance(value, int) and abs(value) > _MAX_SECONDS:
        # NOTE: Python does not convert integers of thousands of digits.
        return 'a huge number'
    text = ascii(value)
    return text if len(text) <= 80 else f'{text[:80]}...'
