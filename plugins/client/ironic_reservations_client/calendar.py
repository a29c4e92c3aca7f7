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
from typing import cast
from urllib import parse

from ironic_reservations_client import resource
from ironic_reservations_client import times

SINCE = '1.7'


class Calendar(resource.Resource):
    """The number of free hosts over time, and the holders of each host.

    Its attributes are those of the API: ``origin``, ``end``, ``now``,
    ``classes``, and ``hosts`` and ``leases`` where rows were asked for.

    :ivar tag: the service says that nothing has changed since, if it is asked
        with it.
    """

    tag: str | None = None

    envelope = 'calendar'


class CalendarManager(resource.Manager[Calendar]):
    """Asks for the calendar."""

    resource_class: type[Calendar] = Calendar
    _resource_name: str = 'calendar'

    def look(self, start: times.Instant | str | None = None,
             end: times.Instant | str | None = None,
             resource_classes: Iterable[str] = (), rows: bool = False,
             tag: str | None = None) -> Calendar | None:
        """Return a window of the calendar, with all of its hosts.

        :param start: of the window; by default the hour that it is.
        :param end: of the window; by default 30 days after its start.
        :param resource_classes: only these; by default all.
        :param rows: whether the hosts are wanted, with what each is promised
            to.
        :param tag: that of the calendar which is known already.
        :returns: ``None`` where nothing has changed since the known one.
        :raises NotServed: the service is older than that.
        """
        query = query_of(start, end, resource_classes, rows)
        response, found = self._page(
            f'{self._path()}?{parse.urlencode(query)}' if query
            else self._path(), {} if tag is None else {'If-None-Match': tag})
        if response.status_code == 304:
            return None
        whole = cast(dict[str, Any], found)['calendar']
        following = next_page(whole)
        while following:
            _response, more = self._page(following, {})
            page = cast(dict[str, Any], more)['calendar']
            add_page(whole, page)
            following = next_page(page)
        made = Calendar(self, whole, loaded=True)
        made.tag = response.headers.get('ETag')
        return made

    def _page(self, path: str, headers: dict[str, str]) -> tuple[Any, Any]:
        with resource.served_since(SINCE, 'has no calendar: that'):
            return self.api.json_request('GET', path, headers=headers)


def query_of(start: times.Instant | str | None = None,
             end: times.Instant | str | None = None,
             resource_classes: Iterable[str] = (),
             rows: bool = False) -> list[tuple[str, str]]:
    """Return the query that asks for a window."""
    return [
        *((name, times.written(when)) for name, when in (
            ('from', start), ('to', end)) if when is not None),
        *(('resource_class', name) for name in resource_classes),
        *([('rows', 'true')] if rows else [])]


def next_page(page: Mapping[str, Any]) -> str | None:
    """Return the path and the query of the page after one."""
    for link in page.get('links', ()):
        if link['rel'] == 'next':
            parts = parse.urlsplit(link['href'])
            return f'/v1/calendar?{parts.query}'
    return None


def add_page(whole: dict[str, Any], page: Mapping[str, Any]) -> None:
    """Add the hosts of a page, whose numbers of leases are its own."""
    known = {lease['id']: place for place, lease
             in enumerate(whole['leases']) if lease['id'] is not None}
    places, windows = {-1: -1}, {-1: -1}
    for place, lease in enumerate(page['leases']):
        if lease['id'] not in known:
            # NOTE: those that the caller may not see have no id, so each of
            # them is another one as far as can be told.
            whole['leases'].append(lease)
            places[place] = len(whole['leases']) - 1
        else:
            places[place] = known[lease['id']]
    there = {each['uuid']: place for place, each
             in enumerate(whole.get('maintenances', ()))}
    for place, window in enumerate(page.get('maintenances', ())):
        if window['uuid'] not in there:
            there[window['uuid']] = len(whole['maintenances'])
            whole['maintenances'].append(window)
        windows[place] = there[window['uuid']]
    whole['hosts'].extend(
        {**host, 'bookings': [
            [start, end, had, places[lease], amount]
            for start, end, had, lease, amount in host['bookings']],
         **({} if 'maintenances' not in host else {'maintenances': [
             [start, end, under_way, windows[window]]
             for start, end, under_way, window in host['maintenances']]})}
        for host in page['hosts'])
    whole['links'] = []


def moment(found: Mapping[str, Any], second: int) -> datetime.datetime:
    """Return the instant of a second of a calendar."""
    return times.parsed(found['origin']) + datetime.timedelta(seconds=second)
