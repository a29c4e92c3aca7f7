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
from ironic_reservations.api.types import lease as lease_types

#: The maximum length of a capability.
_MAX_RACK = 1000


class ResourceClasses(wtypes.UserType):
    """Names of resource classes; an empty one is for hosts without one."""

    name = 'resource classes'

    @staticmethod
    def validate(value: Any) -> frozenset[str | None]:
        return frozenset(
            basic.ResourceClass.validate(each) if each else None
            for each in value)


class Rack(wtypes.UserType):
    """The name of a rack; an empty one is for hosts without a rack."""

    name = 'rack'

    @staticmethod
    def validate(value: Any) -> str:
        if not isinstance(value, str) or len(value) > _MAX_RACK:
            raise ValueError(f'at most {_MAX_RACK} characters are expected')
        return value


class CalendarQuery(wtypes.Base):
    """The query of ``GET /v1/calendar``."""

    # NOTE: "from" is a keyword of Python.
    from_ = basic.attribute(lease_types.Date(), name='from')
    to = basic.attribute(lease_types.Date())
    resource_class = basic.attribute(ResourceClasses())
    rows = basic.attribute(basic.Flag())
    racks = basic.attribute(basic.Flag(), since=versions.RACKS)
    rack = basic.attribute(Rack(), since=versions.RACKS)
    node = basic.attribute(basic.Uuids())
    marker = basic.attribute(basic.Whole())
    limit = basic.attribute(basic.Limit())


class FeedQuery(wtypes.Base):
    """The query of ``GET /v1/leases.ics``."""

    token = basic.attribute(wtypes.text)
