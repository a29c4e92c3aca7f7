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

"""The types of requests about the calendar."""

from __future__ import annotations

from typing import Any

from wsme import types as wtypes

from ironic_reservations.api import versions
from ironic_reservations.api.types import basic
from ironic_reservations.api.types import dates

#: The maximum length of a capability.
_MAX_RACK = 1000


def to_resource_classes(value: Any) -> frozenset[str | None]:
    """Return resource classes; an empty name: hosts without a class."""
    return frozenset(
        basic.to_resource_class(each) if each else None
        for each in value)


def to_rack(value: Any) -> str:
    """Return the name of a rack; an empty one is for hosts without a rack."""
    if not isinstance(value, str) or len(value) > _MAX_RACK:
        raise ValueError(f'at most {_MAX_RACK} characters are expected')
    return value


class CalendarQuery(basic.Parts):
    """The query of ``GET /v1/calendar``."""

    # "from" is a keyword of Python.
    from_ = basic.attribute(dates.read, name='from')
    to = basic.attribute(dates.read)
    resource_class = basic.attribute(to_resource_classes)
    rows = basic.attribute(basic.to_flag)
    racks = basic.attribute(basic.to_flag, since=versions.RACKS)
    rack = basic.attribute(to_rack, since=versions.RACKS)
    node = basic.attribute(basic.to_uuids)
    marker = basic.attribute(basic.to_whole)
    limit = basic.attribute(basic.to_limit)


class FeedQuery(basic.Parts):
    """The query of ``GET /v1/leases.ics``."""

    token = basic.attribute(wtypes.text)
