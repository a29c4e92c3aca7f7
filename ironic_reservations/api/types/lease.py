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
"""The types of requests about leases."""

from __future__ import annotations

from collections.abc import Mapping
import dataclasses
import datetime
import re
from typing import Any
from typing import Literal

from wsme import types as wtypes

from ironic_reservations.api.types import basic
from ironic_reservations.api.types import dates
from ironic_reservations.lifecycle.placement import node_flavors
from ironic_reservations.model import flavors
from ironic_reservations.model import instance_flavors

_MAX_NAME = 80
_MAX_FLAVOR = 255
_MAX_HOSTS = 1_000_000
_MAX_ITEMS = 1000
_MAX_PRIORITY = 100
#: The maximum number of reservations of a lease.
_MAX_RESERVATIONS = 50
_BEFORE_END = ('', 'default', 'snapshot')
_NUMBER = re.compile('[0-9]{1,9}')
_WHOLE = re.compile('0|[1-9][0-9]{0,8}')


class Date(wtypes.UserType):
    """A date in UTC, or "now"."""

    name = 'date'

    @staticmethod
    def validate(value: Any) -> datetime.datetime | Literal['now']:
        return dates.read(value)


class Dates(wtypes.UserType):
    """Two dates, the second of which is not "now"."""

    name = 'dates'

    @staticmethod
    def validate(value: Any) -> tuple[Any, Any]:
        if not isinstance(value, list) or len(value) != 2:
            raise ValueError('a list of two dates is expected, not '
                             f'{basic.shown(value)}')
        first, last = (dates.read(each) for each in value)
        if last == dates.NOW:
            raise ValueError('the second date must not be "now"')
        return first, last


class Name(wtypes.UserType):
    """The name of a lease."""

    name = 'name'

    @staticmethod
    def validate(value: Any) -> str:
        if (not isinstance(value, str) or not value.isprintable()
                or not 1 <= len(value) <= _MAX_NAME):
            raise ValueError(f'a name of 1 to {_MAX_NAME} characters is '
                             f'expected, not {basic.shown(value)}')
        return value


class Count(wtypes.UserType):
    """A number of hosts or instances.

    :param what: the name of these, for refusals.
    """

    def __init__(self, what: str) -> None:
        self.name = f'number of {what}'
        self._what = what

    def validate(self, value: Any) -> int:
        number = _whole(value)
        if number is None or not 1 <= number <= _MAX_HOSTS:
            raise ValueError(
                f'a whole number of {self._what}, from 1 to {_MAX_HOSTS}, is '
                f'expected, not {basic.shown(value)}')
        return number


class Size(wtypes.UserType):
    """A size of an instance."""

    name = 'size'

    @staticmethod
    def validate(value: Any) -> int:
        number = _whole(value)
        if number is None or not 0 <= number <= flavors.MAX_AMOUNT:
            raise ValueError(f'a whole number from 0 to {flavors.MAX_AMOUNT} '
                             f'is expected, not {basic.shown(value)}')
        return number


def _whole(value: Any) -> int | None:
    """Return a whole number, which may be text as in Blazar: ``"4"``.

    :returns: ``None`` for everything else, such as ``"04"``.
    """
    if isinstance(value, str) and _WHOLE.fullmatch(value):
        return int(value)
    # NOTE: bool is a subclass of int.
    return (value if isinstance(value, int) and not isinstance(value, bool)
            else None)


class Affinity(wtypes.UserType):
    """Whether instances have to be on one host, or on different ones."""

    name = 'affinity'
    _WORDS: Mapping[str, bool | None] = {
        'true': True, 'True': True, 'false': False, 'False': False,
        'none': None, 'None': None}

    @classmethod
    def validate(cls, value: Any) -> tuple[bool | None]:
        # NOTE: Blazar's clients send words. The tuple distinguishes "None",
        # which is neither, from a missing value.
        word = str(value) if isinstance(value, bool | str) else ''
        if word not in cls._WORDS:
            raise ValueError('true, false or "None" is expected, not '
                             f'{basic.shown(value)}')
        return (cls._WORDS[word],)


class FlavorId(wtypes.UserType):
    """The id of a flavor; Blazar's clients send it as a number."""

    name = 'flavor id'

    @staticmethod
    def validate(value: Any) -> str:
        if isinstance(value, int) and not isinstance(value, bool):
            value = str(value) if 0 <= value <= flavors.MAX_AMOUNT else ''
        if (not isinstance(value, str) or not value.isprintable()
                or not 1 <= len(value) <= _MAX_FLAVOR):
            raise ValueError(f'the id of a flavor, of 1 to {_MAX_FLAVOR} '
                             f'characters, is expected, not '
                             f'{basic.shown(value)}')
        return value


@dataclasses.dataclass(frozen=True)
class NamedFlavor:
    """A flavor with its id and its names.

    :ivar id: ``None`` if the client has not sent it.
    """

    flavor: flavors.Flavor
    id: str | None
    names: frozenset[str]


class Flavor(wtypes.UserType):
    """A flavor as Nova shows it, for a reservation of instances."""

    name = 'flavor'

    @classmethod
    def validate(cls, value: Any) -> NamedFlavor:
        return basic.of_flavor(value, cls._read)

    @staticmethod
    def _read(document: Mapping[str, Any]) -> NamedFlavor:
        flavor = node_flavors.read(document)
        instance_flavors.request(flavor)
        ident = document.get('id')
        names = {str(name) for name in (ident, document.get('name'))
                 if name is not None}
        return NamedFlavor(
            flavor, None if ident is None else FlavorId.validate(ident),
            frozenset(names))


class BeforeEnd(wtypes.UserType):
    """The action that Blazar takes before the end of a lease."""

    name = 'before_end'

    @staticmethod
    def validate(value: Any) -> str:
        if value not in list(_BEFORE_END):
            raise ValueError(f'{basic.shown(value)} is not one of "", '
                             'default, snapshot')
        # NOTE: Blazar also treats an empty one as the default.
        return value or 'default'


class Objects(wtypes.UserType):
    """A list of objects, which are parsed later."""

    name = 'objects'

    @staticmethod
    def validate(value: Any) -> list[dict[str, Any]]:
        if not isinstance(value, list) or len(value) > _MAX_RESERVATIONS:
            raise ValueError(f'a list of at most {_MAX_RESERVATIONS} objects '
                             f'is expected, not {basic.shown(value)}')
        for item in value:
            if not isinstance(item, dict):
                raise ValueError('a list of objects is expected, not one '
                                 f'with {basic.shown(item)}')
        return value


class Hosts(wtypes.UserType):
    """Hosts by their ids, or by the uuids of their nodes."""

    name = 'hosts'

    @staticmethod
    def validate(value: Any) -> tuple[int | str, ...]:
        if not isinstance(value, list) or len(value) > _MAX_ITEMS:
            raise ValueError(f'a list of at most {_MAX_ITEMS} hosts is '
                             f'expected, not {basic.shown(value)}')
        return tuple(dict.fromkeys(Hosts._one(item) for item in value))

    @staticmethod
    def _one(item: Any) -> int | str:
        if isinstance(item, str) and _NUMBER.fullmatch(item):
            return int(item)
        try:
            return basic.Uuid.validate(item)
        except ValueError as exc:
            raise ValueError(f'{basic.shown(item)} is neither the id of a '
                             'host nor the UUID of a node') from exc


class FixBefore(wtypes.UserType):
    """A whole number of seconds; 0: the dates stay open until the start."""

    name = 'fix_before'

    @staticmethod
    def validate(value: Any) -> int:
        if value == 0 and not isinstance(value, bool):
            return 0
        return basic.Seconds.validate(value)


class OnRefusal(wtypes.UserType):
    """What to do with a lease that does not fit."""

    name = 'on_refusal'

    @staticmethod
    def validate(value: Any) -> str:
        if value not in ('refuse', 'queue'):
            raise ValueError(f'{basic.shown(value)} is not one of refuse, '
                             'queue')
        return str(value)


class Priority(wtypes.UserType):
    """The priority of a queued lease."""

    name = 'priority'

    @staticmethod
    def validate(value: Any) -> int:
        if not isinstance(value, int) or isinstance(value, bool) or (
                not 0 <= value <= _MAX_PRIORITY):
            raise ValueError(f'a whole number from 0 to {_MAX_PRIORITY} is '
                             f'expected, not {basic.shown(value)}')
        return value


class Window(wtypes.Base):
    """A start and an end, in both spellings."""

    start_date = basic.attribute(Date())
    end_date = basic.attribute(Date())
    start = basic.attribute(Date())
    end = basic.attribute(Date())


class NewLease(Window):
    """The body of ``POST /v1/leases``."""

    before_end_date = basic.attribute(Date())
    name = basic.attribute(Name())
    reservations = basic.attribute(Objects())
    events = basic.attribute(Objects())
    between = basic.attribute(Dates())
    duration = basic.attribute(basic.Seconds())
    fix_before = basic.attribute(FixBefore())
    on_refusal = basic.attribute(OnRefusal())
    priority = basic.attribute(Priority())


class NewReservation(wtypes.Base):
    """A reservation of hosts in a new lease."""

    resource_type = basic.attribute(basic.Text())
    min = basic.attribute(Count('hosts'))
    max = basic.attribute(Count('hosts'))
    hypervisor_properties = basic.attribute(basic.Properties())
    resource_properties = basic.attribute(basic.Properties())
    before_end = basic.attribute(BeforeEnd())


class NewInstances(wtypes.Base):
    """A reservation of instances in a new lease."""

    resource_type = basic.attribute(basic.Text())
    vcpus = basic.attribute(Size())
    memory_mb = basic.attribute(Size())
    disk_gb = basic.attribute(Size())
    amount = basic.attribute(Count('instances'))
    affinity = basic.attribute(Affinity())
    resource_properties = basic.attribute(basic.Properties())


class NewFlavored(NewInstances):
    """A reservation of instances of a flavor in a new lease."""

    flavor_id = basic.attribute(FlavorId())
    flavor = basic.attribute(Flavor())


class NewEvent(wtypes.Base):
    """An event that a client of Blazar may add."""

    event_type = basic.attribute(basic.Text())
    event_date = basic.attribute(Date())


class LeaseUpdate(Window):
    """The body of ``PUT /v1/leases/<id>``."""

    before_end_date = basic.attribute(Date())
    name = basic.attribute(Name())
    reservations = basic.attribute(Objects())
    heal = basic.attribute(basic.Boolean())
    between = basic.attribute(Dates())
    duration = basic.attribute(basic.Seconds())
    fix_before = basic.attribute(FixBefore())


class ReservationUpdate(wtypes.Base):
    """A change of one reservation of a lease."""

    id = basic.attribute(basic.Uuid())
    min = basic.attribute(Count('hosts'))
    max = basic.attribute(Count('hosts'))
    hypervisor_properties = basic.attribute(basic.Properties())
    resource_properties = basic.attribute(basic.Properties())
    give_back = basic.attribute(Hosts())
    vcpus = basic.attribute(Size())
    memory_mb = basic.attribute(Size())
    disk_gb = basic.attribute(Size())
    amount = basic.attribute(Count('instances'))
    affinity = basic.attribute(Affinity())


class ChangeQuery(wtypes.Base):
    """The query of a request that has a dry run."""

    dry_run = basic.attribute(basic.Flag())


class LeaseQuery(wtypes.Base):
    """The query of ``GET /v1/leases``."""

    limit = basic.attribute(basic.Limit())
    marker = basic.attribute(basic.Uuid())
    project = basic.attribute(basic.Name())
