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

"""Serves the calendar."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from ironic_reservations.engine import feature


class Calendar(feature.Feature):
    """The calendar, and the leases of a project for calendar programs."""

    def routes(self, api: Any) -> Iterable[Any]:
        """Return the paths below ``/v1``."""
        from ironic_reservations.api.controllers import rest
        from ironic_reservations.features.calendar import controller
        from ironic_reservations.features.calendar import token_controller
        from ironic_reservations.features.calendar.page import strategies
        fingerprint = strategies.make(api.sign_in).fingerprint
        calendar = controller.CalendarController(
            api.engine, api.enforcer, fingerprint)
        feed = token_controller.FeedController(
            api.engine, api.enforcer, fingerprint)
        return [rest.Route(('calendar',), calendar, rest.single(calendar)),
                rest.Route(('calendar', 'token'), calendar.token,
                           rest.sole(calendar.token)),
                rest.Route(('leases.ics',), feed, rest.single(feed))]

    def pages(self, sign_in: Any, api: Any, inside: bool) -> Iterable[Any]:
        """Return the page of the calendar."""
        from ironic_reservations.api import pages
        from ironic_reservations.api import url
        from ironic_reservations.features.calendar.page import calendar_app
        from ironic_reservations.features.calendar.page import strategies
        return [pages.Page(url.CALENDAR, calendar_app.make(
            sign_in.conf, strategies.make(sign_in), api, inside=inside))]
