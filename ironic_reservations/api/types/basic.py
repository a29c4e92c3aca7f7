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
accept one spelling each, and name it in refusals.
"""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Mapping
import datetime
import re
import types
from typing import Any
from typing import TypeVar
import uuid

from wsme import exc as wsme_exc
from wsme import types as wtypes
from wsme.rest import json as wsme_json

from ironic_reservations import errors
from ironic_reservations.api import versions
from ironic_reservations.engine.reservations import find
from ironic_reservations.model import flavors
from ironic_reservations.model import instants
from ironic_reservations.model import node_flavors

_R = TypeVar('_R')

_UUID = re.compile('[0-9a-fA-F]{32}|[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-'
                   '[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}')
_INSTANT = re.compile(
    r'[0-9]{4}-[0-9]{2}-[0-9]{2}[Tt ][0-9]{2}:[0-9]{2}:[0-9]{2}'
    r'([.][0-9]{1,9})?([Zz]|[+-][0-9]{2}:[0-9]{2})')
_DIGITS = re.compile('[0-9]{1,1000}')
_DAY = re.compile('[0-9]{4}-[0-9]{2}-[0-9]{2}')
_TRAIT = re.compile('[A-Z0-9_]{1,255}')
_MAX_TRAITS = 50
_MAX_SECONDS = 2 ** 31 - 1


def to_uuid(value: Any) -> str:
    """Return the canonical form of a UUID in any case, hyphens or not."""
    if not isinstance(value, str) or not _UUID.fullmatch(value):
        raise ValueError(f'{shown(value)} is not a UUID')
    return str(uuid.UUID(value))


def uuid_of(ident: str, kind: str,
            unknown: type[errors.ReservationError]) -> str:
    """Return the canonical form of the UUID in a path.

    :param kind: the kind of the resource, in words.
    :param unknown: raised for any other text.
    """
    try:
        return to_uuid(ident)
    except ValueError as exc:
        raise unknown(f'There is no {kind} {ascii(ident)[:80]}: that is not a '
                      'UUID.') from exc


def to_uuids(value: Any) -> tuple[str, ...]:
    """Return a list of UUIDs without duplicates."""
    if isinstance(value, str):
        raise ValueError('a list of UUIDs is expected, not a single '
                         'string: put it in brackets')
    if not isinstance(value, list):
        raise ValueError(f'a list of UUIDs is expected, not '
                         f'{shown(value)}')
    if not value:
        raise ValueError('the list is empty; send at least one UUID')
    return tuple(dict.fromkeys(to_uuid(item) for item in value))


def to_instant(value: Any) -> datetime.datetime:
    """Return an instant in ISO 8601 with a zone, in UTC."""
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


def to_number(value: Any, least: int, most: int, what: str = '') -> int:
    """Return a whole number in a range.

    :param what: the words for the counted things in refusals.
    """
    # bool is a subclass of int.
    if (not isinstance(value, int) or isinstance(value, bool)
            or not least <= value <= most):
        raise ValueError(f'a whole number{what} from {least} to {most} is '
                         f'expected, not {shown(value)}')
    return value


def to_seconds(value: Any, least: int = 1) -> int:
    """Return a whole number of seconds.

    :param least: the smallest number.
    """
    return to_number(value, least, _MAX_SECONDS, ' of seconds')


def text_of(most: int, what: str = 'a name') -> Callable[[Any], str]:
    """Return a function that reads a text that people can see.

    :param most: the maximum number of characters.
    :param what: the word for the text in refusals.
    """
    def to_text(value: Any) -> str:
        if (not isinstance(value, str) or not value.isprintable()
                or not 1 <= len(value.strip()) <= len(value) <= most):
            raise ValueError(f'{what} of 1 to {most} printable characters is '
                             f'expected, not {shown(value)}')
        return value
    return to_text


#: As in Ironic.
to_resource_class = text_of(80)
to_project = text_of(255, 'the id of a project')


def to_traits(value: Any) -> frozenset[str]:
    """Return a list of traits."""
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


def to_flavor(value: Any) -> node_flavors.FlavorRequest:
    """Return the requirements on nodes of a flavor as Nova shows it."""
    return of_flavor(value, node_flavors.requested)


def of_flavor(value: Any, read: Callable[[Mapping[str, Any]], _R]) -> _R:
    """Parse a flavor as Nova shows it.

    :param read: the parser of the flavor.
    :raises ValueError: the value is no flavor, or the flavor is refused.
    """
    if not isinstance(value, dict):
        raise ValueError('a flavor as Nova shows it is expected, not '
                         f'{shown(value)}')
    try:
        return read(value)
    except flavors.FlavorRefused as exc:
        raise ValueError(str(exc).removesuffix('.')) from exc


def digits_of(most: int | None = None) -> Callable[[Any], int]:
    """Return a function that reads a whole number above zero, in a query.

    :param most: the largest number; ``None``: there is none.
    """
    def to_digits(value: Any) -> int:
        number = int(value) if _DIGITS.fullmatch(value) else 0
        if number < 1 or most is not None and number > most:
            raise ValueError(
                'a whole number ' + ('above 0' if most is None
                                     else f'from 1 to {most}')
                + f' is expected, not {shown(value)}')
        return number
    return to_digits


#: The size of a page; the service has a maximum of its own.
to_limit = digits_of()
to_whole = digits_of(_MAX_SECONDS)


def to_text(value: Any) -> str:
    """Return any string."""
    if not isinstance(value, str):
        raise ValueError('a string is expected, not '
                         f'{shown(value)}')
    return value


def to_properties(value: Any) -> str:
    """Return requirements on hosts, without invisible characters."""
    text = to_text(value)
    # Characters that move the cursor or reverse the direction of writing would
    # show readers another text than the used one. JSON can escape them.
    if not text.isprintable() and not _printable(text):
        raise ValueError('printable characters and white space are '
                         f'expected, not {shown(text)}')
    return text


def _printable(text: str) -> bool:
    return all(each.isprintable() or each in '\t\r\n\u3000\u00a0'
               for each in text)


def to_boolean(value: Any) -> bool:
    """Return true or false."""
    if not isinstance(value, bool):
        raise ValueError('true or false is expected, not '
                         f'{shown(value)}')
    return value


def to_truth(value: Any) -> bool:
    """Return true or false; Blazar's commands send it as text."""
    return to_flag(value) if isinstance(value, str) else to_boolean(value)


def to_flag(value: Any) -> bool:
    """Return true or false in a query, case-insensitive."""
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
        if not isinstance(value, str) or value not in self.since:
            raise ValueError(f'{shown(value)} is not one of '
                             f'{", ".join(self.since)}')
        return str(value)

    def check(self, name: str, value: str, minor: int) -> None:
        """Check that a word exists in the version.

        :raises InvalidValue: the word is from a later version.
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


class _Parsed(wtypes.UserType):
    """A type with a function that parses a value, or raises ValueError."""

    def __init__(self, read: Callable[[Any], Any]) -> None:
        self.name = read.__name__
        self.validate = read


class attribute(wtypes.wsattr):
    """A part of a request; ``None`` if the request does not have it.

    :param datatype: a type of WSME, or a function that returns the value, and
        raises ValueError with a description of valid values.
    :param since: the version that added the part.
    :param null: the value that null means in :class:`BlazarParts`; by default,
        the part is then missing.
    """

    def __init__(self, datatype: Any, since: int = versions.SEED,
                 null: str | None = None, **kwargs: Any) -> None:
        if isinstance(datatype, types.FunctionType):
            datatype = _Parsed(datatype)
        super().__init__(datatype, default=None, **kwargs)
        # WSME resolves the type on first use, and fails if two threads, which
        # serve the first requests of a process, do that at the same time.
        self.datatype = wtypes.registry.resolve_type(datatype)
        self.since = since
        self.null = null


class Parts(wtypes.Base):
    """The possible parts of a body or of a query."""

    def __init_subclass__(cls) -> None:
        # Otherwise WSME parses the source of the class for the order of its
        # attributes, which took a quarter of the time to import the API.
        cls._wsme_attr_order = list(dict.fromkeys(
            name for base in cls.__mro__ for name, part in vars(base).items()
            if isinstance(part, attribute)))


class BlazarParts(Parts):
    """The parts of a body in the format of Blazar.

    Null means that a part is missing, or the value that the part defines.
    """


class BlazarQuery(Parts):
    """The query of a request in Blazar's format that only reads.

    Unknown parameters are ignored, as by Blazar, and so are those of a later
    version of ours. Requests that write refuse them, since a misspelt
    ``dry_run`` would be carried out.
    """


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


class NewReservation(Parts):
    """The body of ``POST /v1/reservations``."""

    instance_uuid = attribute(to_uuid, mandatory=True)
    node_uuid = attribute(to_uuids)
    uuid = attribute(to_uuid, since=versions.TIMES)
    expires_at = attribute(to_instant, since=versions.TIMES)
    ttl = attribute(to_seconds, since=versions.TIMES)
    resource_class = attribute(to_resource_class, since=versions.PICK)
    traits = attribute(to_traits, since=versions.PICK)
    flavor = attribute(to_flavor, since=versions.FLAVORS)


class NoQuery(Parts):
    """The query of a request without parameters."""


class ShowQuery(Parts):
    """The query of ``GET /v1/reservations/<uuid>``."""

    fields = attribute(Some(**FIELDS), since=versions.PAGES)


class ListQuery(ShowQuery):
    """The query of ``GET /v1/reservations``."""

    node = attribute(to_uuid, since=versions.PAGES)
    instance = attribute(to_uuid, since=versions.PAGES)
    project = attribute(to_project, since=versions.PAGES)
    limit = attribute(to_limit, since=versions.PAGES)
    marker = attribute(to_uuid, since=versions.PAGES)
    sort_key = attribute(
        OneOf(**{key: FIELDS[key] for key in find.SORT_KEYS}),
        since=versions.PAGES)
    sort_dir = attribute(OneOf(asc=versions.SEED, desc=versions.SEED),
                         since=versions.PAGES)


def to_day(value: Any) -> datetime.date:
    """Return a day in UTC, in a query."""
    try:
        if not _DAY.fullmatch(value):
            raise ValueError
        day = datetime.date.fromisoformat(value)
    except ValueError:
        raise ValueError('a day such as 2026-03-31 is expected, not '
                         f'{shown(value)}') from None
    if not instants.FIRST_YEAR <= day.year <= instants.LAST_YEAR:
        raise ValueError(f'a year from {instants.FIRST_YEAR} to '
                         f'{instants.LAST_YEAR} is expected, not {day.year}')
    return day


class Renewal(Parts):
    """The keys that a JSON patch may replace."""

    expires_at = attribute(to_instant, since=versions.TIMES)
    ttl = attribute(to_seconds, since=versions.TIMES)


def read(datatype: type[wtypes.Base], document: Any, minor: int,
         what: str) -> Any:
    """Parse a body or a query at a version.

    :param what: the word for a part in refusals.
    :raises InvalidValue: a value has the wrong type or is out of range.
    :raises UnknownKey: a part does not exist in this version.
    """
    if not isinstance(document, dict):
        raise errors.InvalidValue(
            f'The body is {shown(document)}, and an object is expected.')
    known = {part.name: part for part in wtypes.list_attributes(datatype)}
    if issubclass(datatype, BlazarParts):
        document = _without_nulls(known, document)
    if issubclass(datatype, BlazarQuery):
        document = {name: value for name, value in document.items()
                    if name in known and known[name].since <= minor}
    for name, value in document.items():
        _check_part(known, name, value, minor, what,
                    issubclass(datatype, BlazarParts))
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


def values(read_parts: wtypes.Base) -> dict[str, Any]:
    """Return all parts of a body or a query by their names."""
    return {part.name: getattr(read_parts, part.key)
            for part in wtypes.list_attributes(type(read_parts))}


def _without_nulls(known: Mapping[str, attribute],
                   document: Mapping[str, Any]) -> dict[str, Any]:
    """Return a document with each null replaced by its meaning."""
    meant = {name: known[name].null if value is None and name in known
             else value for name, value in document.items()}
    return {name: value for name, value in meant.items()
            if value is not None or name not in known}


def _check_part(known: Mapping[str, attribute], name: str, value: Any,
                minor: int, what: str, of_blazar: bool) -> None:
    part = known.get(name)
    if part is None:
        taken = [each.name for each in known.values() if each.since <= minor]
        raise errors.UnknownKey(
            f'There is no {what} {shown(name)}'
            + (f'. Possible here: {", ".join(taken)}.' if taken
               else ': this request takes none.'))
    if part.since > minor:
        # A request in the format of Blazar names our version beside Blazar's.
        raise errors.UnknownKey(
            f'The {what} {name} came with version {versions.text(part.since)}'
            + (f' of {versions.SERVICE_TYPE}. Ask for it in the header '
               f'{versions.HEADER}.' if of_blazar else
               f', but this request uses version {versions.text(minor)}. Ask '
               f'for the later version in the header {versions.HEADER}.'))
    if value is None:
        raise errors.InvalidValue(
            f'{name} must not be null. ' + (
                'Send a value.' if part.mandatory else
                f'Send a value, or leave the {what} out.'))


def shown_list(value: Any) -> str:
    """Return a client's value for a message about a short list."""
    return (f'one of {len(value)}' if isinstance(value, list)
            else shown(value))


def shown(value: Any) -> str:
    """Return a client's value for a message, shortened."""
    if value is None:
        return 'null'
    if isinstance(value, (dict, list)):
        return 'an object' if isinstance(value, dict) else 'a list'
    if isinstance(value, int) and abs(value) > _MAX_SECONDS:
        # Python does not convert integers of thousands of digits.
        return 'a huge number'
    text = ascii(value)
    return text if len(text) <= 80 else f'{text[:80]}...'
