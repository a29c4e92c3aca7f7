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

"""The calendar, through python-ironicclient."""

from __future__ import annotations

from collections.abc import Iterable
from collections.abc import Mapping
import datetime
from typing import Any

from ironic_reservations_client import resource
from ironic_reservations_client import resources
from ironic_reservations_client import times


class Calendar(resource.Resource):
    """The number of free hosts over time, and the bookings of each host.

    Its attributes are those of the API: ``origin``, ``end``, ``now``,
    ``classes``, and ``hosts`` and ``leases`` if rows were requested.

    :ivar tag: the tag of its contents; a request with this tag gets no
        contents if they have not changed.
    """

    tag: str | None = None

    describes = resources.CALENDAR


class CalendarManager(resource.Manager[Calendar]):
    """Requests for the calendar."""

    resource_class = Calendar

    def get(self, start: times.Instant | str | None = None,
            end: times.Instant | str | None = None,
            resource_classes: Iterable[str] = (), rows: bool = False,
            tag: str | None = None) -> Any:
        """Return a window of the calendar, with all of its hosts.

        :param start: the start of the window; by default the present hour.
        :param end: the end of the window; by default 30 days after its start.
        :param resource_classes: the resource classes to return; by default
            all.
        :param rows: whether to return the hosts, with the bookings of each.
        :param tag: the tag of the calendar that the caller has already.
        :returns: ``None`` if nothing has changed since.
        """
        query = resources.CALENDAR.body(
            start=start, end=end, resource_classes=resource_classes,
            rows='true' if rows else None)
        response, found = self._transport.send(
            'GET', self._path(), 'calendar', params=query,
            headers={} if tag is None else {'If-None-Match': tag})
        if response.status_code == 304:
            return None
        whole = found['calendar']
        following = next_query(whole)
        while following is not None:
            _response, found = self._transport.send(
                'GET', self._path(), 'calendar', params=following)
            add_page(whole, found['calendar'])
            following = next_query(found['calendar'])
        made = self._transport.made(self, whole)
        if isinstance(made, Calendar):
            made.tag = response.headers.get('ETag')
        return made


def next_query(page: Mapping[str, Any]) -> list[tuple[str, str]] | None:
    """Return the query for the page that follows a page."""
    for link in page.get('links', ()):
        if link['rel'] == 'next':
            return resource.query_of(link['href'])
    return None


def add_page(whole: dict[str, Any], page: Mapping[str, Any]) -> None:
    """Add the hosts of a page; the indexes of leases differ between pages."""
    leases = _joined(whole['leases'], page['leases'], 'id')
    windows = _joined(whole['maintenances'], page['maintenances'], 'uuid')
    whole['hosts'].extend(
        {**host, 'bookings': [
            [start, end, had, leases[lease], amount]
            for start, end, had, lease, amount in host['bookings']],
         'maintenances': [
             [start, end, under_way, windows[window]]
             for start, end, under_way, window in host['maintenances']]}
        for host in page['hosts'])
    whole['links'] = []


def _joined(whole: list[dict[str, Any]], page: Iterable[dict[str, Any]],
            key: str) -> dict[int, int]:
    """Add the objects of a page; return their indexes by those in the page."""
    known = {each[key]: place for place, each in enumerate(whole)}
    places = {-1: -1}
    for place, each in enumerate(page):
        # Leases that the caller may not see have no id, so each of them
        # counts as another lease.
        if each[key] is None or each[key] not in known:
            known[each[key]] = len(whole)
            whole.append(each)
        places[place] = known[each[key]]
    return places


def moment(found: Mapping[str, Any], second: int) -> datetime.datetime:
    """Return the instant of a second, counted from the calendar's origin."""
    return times.parsed(found['origin']) + datetime.timedelta(seconds=second)
