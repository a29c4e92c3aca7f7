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

"""The features, in the order in which they take part in a change."""

from __future__ import annotations

from ironic_reservations.engine import feature
from ironic_reservations.features.announcements import feature as announcements
from ironic_reservations.features.audit import feature as audit
from ironic_reservations.features.calendar import feature as calendar
from ironic_reservations.features.enforcement import feature as enforcement
from ironic_reservations.features.history import feature as history
from ironic_reservations.features.keys import feature as keys
from ironic_reservations.features.limits import feature as limits
from ironic_reservations.features.maintenance import feature as maintenance
from ironic_reservations.features.no_show import feature as no_show
from ironic_reservations.features.notices import feature as notices
from ironic_reservations.features.open_dates import feature as open_dates
from ironic_reservations.features.owners import feature as owners
from ironic_reservations.features.placement import feature as placement
from ironic_reservations.features.queue import feature as queue
from ironic_reservations.features.usage import feature as usage

#: All features.
FEATURES: tuple[type[feature.Feature], ...] = (
    open_dates.OpenDates, queue.Queue, maintenance.Maintenance,
    limits.Limits, keys.Keys, notices.Notices, owners.Owners, usage.Usage,
    no_show.NoShow, audit.Audit, history.History, calendar.Calendar,
    # Before Placement and the enforcement service, which may answer late.
    announcements.Announcements, announcements.Unrequested,
    placement.Placement, enforcement.Enforcement)


def new() -> tuple[feature.Feature, ...]:
    """Return the features of one engine."""
    return tuple(each() for each in FEATURES)
